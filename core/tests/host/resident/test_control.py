"""The control socket of a real host: what it answers, and what it survives."""

from __future__ import annotations

import json
import os
import random
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs Unix sockets")


def types(frames: list[dict]) -> list[str]:
    return [frame["event"]["type"] for frame in frames if "event" in frame]


def test_a_turn_is_answered_with_its_events_in_order(serving) -> None:
    serving.start()
    client, seen = serving.client(), []
    assert client.greeting["protocol"] == 1
    assert client.greeting["pid"] == serving.process.pid
    id = client.send("submit", text="call slow {}", chat="c", follow=True)
    answer = client.until(id, seen)
    assert answer["ok"]["status"] == "done"
    assert types(seen)[0] == "turn_started"
    assert types(seen)[-1] == "turn_finished"
    assert "tool_progress" in types(seen)
    numbers = [frame["number"] for frame in seen if "event" in frame]
    assert numbers == list(range(1, len(numbers) + 1))
    assert {frame["conversation"] for frame in seen if "event" in frame} == {"terminal/c"}
    assert [frame["send"]["text"] for frame in seen if "send" in frame] == [answer["ok"]["text"]]


def test_who_asks_is_the_person_at_this_machine(serving) -> None:
    serving.start()
    client, seen = serving.client(), []
    client.until(client.send("submit", text="hello", chat="c", follow=True), seen)
    assert seen[0]["event"]["trust"] == "operator"
    guest = {"as_guest": True, "admin": True, "trust": "operator", "origin": "job"}
    seen.clear()
    id = client.send("submit", text="hello", chat="d", follow=True, caller=guest)
    client.until(id, seen)
    assert seen[0]["event"]["trust"] == "guest"


def test_nothing_but_messages_of_the_terminal_come_in(serving) -> None:
    serving.start()
    client = serving.client()
    message = {"v": 1, "channel": "mail", "chat": "1", "sender": "me", "text": "hello"}
    answer = client.until(client.send("submit", message=message))
    assert answer["error"]["code"] == "usage"
    own = {"v": 1, "channel": "terminal", "chat": "c", "sender": "x", "text": "hello"}
    marked = {**own, "metadata": {"_folder": "/etc", "_model": "evil"}}
    answer = client.until(client.send("submit", message=marked))
    assert answer["ok"]["text"] == ": hello", "no model was chosen by what came in"


def test_the_model_of_one_turn(serving) -> None:
    serving.start()
    answer = serving.client().call("submit", text="hello", chat="c", model="m2")
    assert answer["text"] == "m2: hello"


def test_garbage_is_refused_and_others_are_served(serving) -> None:
    serving.start()
    other = serving.client()
    path = serving.status()["host"]["socket"]
    dice = random.Random(7)
    for data in (
        b"\n\n\n",
        b"hello\n",
        b"[]\n",
        b"null\n",
        b'{"id": 1}\n',
        b'{"id": "1", "verb": "status"}\n',
        b'{"id": -1, "verb": "status"}\n',
        b'{"id": true, "verb": "status"}\n',
        b'{"verb": "status"}\n',
        b'{"id": 1, "verb": "status", "x": NaN}\n',
        b'{"id": 1, "verb": ["status"]}\n',
        b"[" * 100_000 + b"\n",
        b'{"id": 1, "verb": ' + b'{"a":' * 50_000 + b"\n",
        b"\xff\xfe\x00\n",
        bytes(dice.randrange(256) for _ in range(5_000)),
        b'{"id": 1, "verb": "status"',
    ):
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(10)
            client.connect(path)
            client.sendall(data)
            client.shutdown(socket.SHUT_WR)
            lines = b"".join(iter(lambda: client.recv(65_536), b"")).splitlines()
        assert json.loads(lines[0])["protocol"] == 1
        for line in lines[1:]:
            assert "error" in json.loads(line), data[:40]
    assert other.call("health")["live"] is True
    assert "Traceback" not in serving.errors.read_text()


@pytest.mark.parametrize(
    ("verb", "arguments", "part"),
    [
        ("nonsense", {}, "no verb"),
        ("submit", {"text": "hello", "chat": "c", "effort": "huge"}, "effort"),
        ("statuss", {}, "status"),
        ("submit", {}, "text"),
        ("submit", {"text": 5}, "text"),
        ("submit", {"text": "x", "folder": "relative"}, "absolute"),
        ("submit", {"text": "x", "caller": "me"}, "caller"),
        ("submit", {"text": "x", "caller": {"agent": "nobody"}}, "nobody"),
        ("submit", {"text": "x", "caller": {"tools": ["nothing"]}}, "nothing"),
        ("submit", {"message": {"channel": "terminal"}}, "message"),
        ("submit", {"message": {"v": 1, "channel": "terminal", "surplus": 1}}, "surplus"),
        ("open", {"chat": []}, "chat"),
        ("answer", {"ask": 99, "agreed": True}, "no open question"),
        ("events", {"after": -1}, "after"),
        ("stop", {"conversation": "///"}, "key"),
        ("confirm", {"conversation": "terminal/c", "token": "x", "grain": "ever"}, "grain"),
        ("enqueue", {"conversation": "terminal/c", "text": "x", "source": "spam"}, "source"),
        ("call_tool", {"name": "where"}, "caller"),
        ("tool", {"name": "nothing"}, "nothing"),
        ("fork", {"conversation": "nowhere"}, "nowhere"),
        ("prune", {"retention": {"keep_days": "all"}}, "retention"),
        ("prune", {"retention": {"path": "/"}}, "retention"),
    ],
)
def test_a_wrong_request_is_told_what_is_wrong(serving_once, verb, arguments, part) -> None:
    client = serving_once.client()
    answer = client.until(client.send(verb, **arguments))
    assert part in json.dumps(answer["error"])
    assert answer["error"]["code"] not in ("internal", "error")
    assert client.call("health")["live"] is True


def test_a_number_can_not_be_used_twice_at_a_time(serving) -> None:
    serving.start()
    client = serving.client()
    client.send("events")
    client.socket.sendall(b'{"id": 1, "verb": "status"}\n')
    assert client.read()["error"]["code"] == "protocol"


def test_too_many_requests_at_a_time_are_refused(serving) -> None:
    serving.start()
    client = serving.client()
    for _ in range(33):
        last = client.send("events")
    assert "32" in client.until(last)["error"]["message"]


def test_a_process_of_another_user_is_refused(serving) -> None:
    if os.name != "posix" or os.geteuid() != 0:
        pytest.skip("needs root, to be somebody else")
    serving.start()
    path = Path(serving.status()["host"]["socket"])
    for folder in path.parents:
        if folder.stat().st_uid == os.geteuid() and folder.is_relative_to("/tmp"):
            folder.chmod(folder.stat().st_mode | 0o001)
    path.chmod(0o777)
    code = (
        "import os, socket, sys\n"
        "os.setgid(65534); os.setuid(65534)\n"
        "own = socket.socket(socket.AF_UNIX)\n"
        "own.connect(sys.argv[1])\n"
        "print(own.makefile().read())\n"
    )
    ended = subprocess.run(
        [sys.executable, "-S", "-c", code, str(path)],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert json.loads(ended.stdout.splitlines()[0])["error"]["code"] == "refused", ended.stderr
    assert serving.status()["host"]["state"] == "ready"
    assert "of user 65534 was refused" in serving.command("logs").stdout


def test_a_reader_that_reads_nothing_stalls_nobody_and_learns_what_it_missed(serving) -> None:
    serving.start()
    lazy, client = serving.client(), serving.client()
    lazy.send("events", after=0)
    began = time.monotonic()
    for number in range(6):
        answer = client.call("submit", text=f"chatter {60_000 + number}", chat="c")
        assert answer["status"] == "done"
    assert time.monotonic() - began < 60
    newest = client.call("status")["events"]
    assert newest > 36_000
    lost, seen, last = 0, 0, 0
    while last < newest:
        frame = lazy.read()
        if "lost" in frame:
            lost += frame["lost"]
        else:
            seen, last = seen + 1, frame["seq"]
    assert lost > 0
    assert lost + seen == newest


def test_a_chat_that_is_not_read_loses_events_and_never_its_answer(serving) -> None:
    serving.start()
    client, seen = serving.client(), []
    id = client.send("submit", text="chatter 600000", chat="c", follow=True)
    other = serving.client()
    serving.wait_for(lambda: other.call("status")["events"] > 60_000, 60)
    answer = client.until(id, seen)
    assert len(answer["ok"]["text"]) == 600_000
    assert sum(frame.get("lost", 0) for frame in seen) > 0
    assert [len(frame["send"]["text"]) for frame in seen if "send" in frame] == [600_000]


def test_events_go_on_where_a_reader_stopped(serving) -> None:
    serving.start()
    client = serving.client()
    client.call("submit", text="one", chat="c")
    client.call("submit", text="two", chat="d")
    seen: list[dict] = []
    client.until(client.send("events", conversation="terminal/c", after=0, follow=False), seen)
    assert {frame["conversation"] for frame in seen} == {"terminal/c"}
    after = seen[1]["number"]
    again: list[dict] = []
    id = client.send("events", conversation="terminal/c", after=after, follow=False)
    client.until(id, again)
    assert [frame["number"] for frame in again] == [frame["number"] for frame in seen[2:]]
    everything: list[dict] = []
    client.until(client.send("events", after=0, follow=False), everything)
    assert {frame["conversation"] for frame in everything} == {"terminal/c", "terminal/d"}
    of_another_host: list[dict] = []
    client.until(client.send("events", after=10_000, follow=False), of_another_host)
    assert of_another_host[0]["lost"] is None
    assert len(of_another_host) == 1 + len(everything)


def test_a_follower_is_told_of_what_comes_by_any_way(serving) -> None:
    serving.start()
    follower, client = serving.client(), serving.client()
    follower.send("events")
    serving.wait_for(lambda: client.call("status")["clients"] >= 2)
    client.call("submit", text="hello", chat="c")
    assert follower.read()["event"]["type"] == "turn_started"


def test_ten_questions_at_once_from_two_folders_work_in_their_own(serving) -> None:
    serving.start()
    folders = [serving.folder / name for name in ("one", "two")]
    for folder in folders:
        folder.mkdir()
    answers: dict[int, str] = {}

    def ask(number: int) -> None:
        client = serving.client()
        folder = str(folders[number % 2])
        answer = client.call("submit", text="call where {}", chat=f"c{number}", folder=folder)
        answers[number] = answer["text"]

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(answers) == 10
    for number, text in answers.items():
        assert f"\n{folders[number % 2]}\n" in text


def test_the_folder_of_a_turn_counts_also_after_a_crash(serving) -> None:
    serving.start()
    folder = serving.folder / "elsewhere"
    folder.mkdir()
    client = serving.client()
    client.send("submit", text='call slow {"seconds": 5}', chat="c", folder=str(folder))
    client.send("submit", text="call where {}", chat="c", folder=str(folder))
    serving.wait_for((serving.folder / "log").exists)
    serving.wait_for(lambda: serving.status()["store"]["open_turns"] == 2)
    serving.kill()
    serving.start()
    serving.wait_for(lambda: serving.status()["store"]["open_turns"] == 0)
    assert f"\\n{folder}\\n" in serving.command("sessions", "export", "terminal/c").stdout


def test_a_person_is_asked_through_the_socket(serving) -> None:
    serving.start()
    client, seen = serving.client(), []
    for agreed, part in ((True, "it ran"), (False, "refused")):
        id = client.send(
            "submit", text="call careful {}", chat=f"c{agreed}", follow=True, attended=True
        )
        while "ask" not in (frame := client.read()):
            pass
        assert frame["question"].startswith("Run the careful tool?")
        answered = client.send("answer", ask=frame["ask"], agreed=agreed)
        assert "ok" in client.until(answered, seen)
        answer = client.until(id, seen)
        said = json.dumps([answer, seen])
        assert (part in said) or not agreed
        assert ("it ran" in json.dumps(answer)) is agreed


def test_nobody_else_can_answer_a_question(serving) -> None:
    serving.start()
    client, other = serving.client(), serving.client()
    id = client.send("submit", text="call careful {}", chat="c", follow=True, attended=True)
    while "ask" not in (frame := client.read()):
        pass
    refused = other.until(other.send("answer", ask=frame["ask"], agreed=True))
    assert refused["error"]["code"] == "usage"
    client.send("answer", ask=frame["ask"], agreed=True)
    assert "it ran" in json.dumps(client.until(id))


def test_when_the_person_leaves_another_one_is_asked_and_without_one_it_is_a_no(serving) -> None:
    serving.start()
    client, second = serving.client(), serving.client()
    client.send("submit", text="call careful {}", chat="c", follow=True, attended=True)
    while "ask" not in client.read():
        pass
    second.send("open", chat="c", attended=True)
    serving.wait_for(lambda: second.call("status")["clients"] >= 2)
    client.close()
    while "ask" not in second.read():
        pass
    second.close()
    serving.wait_for(lambda: serving.status()["store"]["open_turns"] == 0)
    assert "it ran" not in serving.command("sessions", "export", "terminal/c").stdout


def test_what_is_cancelled_ends_at_once(serving) -> None:
    serving.start()
    client, seen = serving.client(), []
    id = client.send("submit", text='call slow {"seconds": 30}', chat="c", follow=True)
    serving.wait_for((serving.folder / "log").exists)
    assert client.until(client.send("cancel", of=id), seen)["ok"] == {"found": True}
    answer = client.until(id, seen)
    assert answer["ok"]["status"] == "cancelled"
    assert types(seen)[-1] == "turn_finished"
    assert client.call("cancel", of=id) == {"found": False}


def test_the_turn_of_a_conversation_is_stopped_by_its_key(serving) -> None:
    serving.start()
    client, other = serving.client(), serving.client()
    id = client.send("submit", text='call slow {"seconds": 30}', chat="c")
    serving.wait_for((serving.folder / "log").exists)
    assert other.call("stop", conversation="terminal/c") == {"stopped": True}
    assert client.until(id)["ok"]["status"] == "cancelled"
    assert other.call("stop", conversation="terminal/c") == {"stopped": False}


def test_what_is_queued_is_stopped_with_what_runs(serving) -> None:
    serving.start()
    client, second, other = serving.client(), serving.client(), serving.client()
    running = client.send("submit", text='call slow {"seconds": 30}', chat="c")
    serving.wait_for((serving.folder / "log").exists)
    queued = second.send("submit", text="hello", chat="c")
    serving.wait_for(lambda: serving.status()["store"]["open_turns"] == 2)
    assert other.call("stop", conversation="terminal/c") == {"stopped": True}
    assert client.until(running)["ok"]["status"] == "cancelled"
    assert second.until(queued)["ok"]["status"] == "cancelled"
    said = serving.command("sessions", "export", "terminal/c").stdout
    assert said.index("slow") < said.index("hello")
    assert said.count("was stopped before it was finished") == 2


def test_a_wrong_token_is_told_so(serving) -> None:
    serving.start()
    answer = serving.client().call("confirm", conversation="terminal/c", token="abcd")
    assert "no open question" in answer["text"]
    answer = serving.client().call("deny", conversation="terminal/c", token="abcd")
    assert "no open question" in answer["text"]


def test_work_is_queued_for_a_conversation_once(serving) -> None:
    serving.start()
    client = serving.client()
    first = client.call("enqueue", conversation="terminal/c", text="report", external_id="7")
    assert (first["conversation"], first["duplicate"]) == ("terminal/c", False)
    second = client.call("enqueue", conversation="terminal/c", text="report", external_id="7")
    assert (second["turn"], second["duplicate"]) == (first["turn"], True)
    serving.wait_for(lambda: serving.status()["store"]["open_turns"] == 0)
    assert "report" in serving.command("sessions", "export", "terminal/c").stdout


def test_a_tool_is_called_in_the_folder_of_who_calls(serving) -> None:
    serving.start()
    folder = serving.folder / "mine"
    folder.mkdir()
    ended = serving.command("tools", "call", "where", "--workspace", str(folder), "--json")
    assert ended.returncode == 0, ended.stderr
    assert str(folder) in json.loads(ended.stdout)["result"]["output"]
    traced = serving.command("tools", "call", "where", "--trace")
    assert "decide" in traced.stderr
    missing = serving.command("tools", "call", "nothing")
    assert missing.returncode == 8
    refused = serving.command("tools", "call", "where", "--as", "guest")
    assert refused.returncode == 8


def test_conversations_are_managed_through_it(serving) -> None:
    serving.start()
    client = serving.client()
    client.call("submit", text="hello", chat="c")
    forked = json.loads(serving.command("sessions", "fork", "terminal/c", "--json").stdout)
    client.call("submit", text="after", chat=forked["session"]["chat"])
    assert serving.command("sessions", "delete", "terminal/c", "--yes").returncode == 0
    listed = json.loads(serving.command("sessions", "list", "--json").stdout)["sessions"]
    assert [item["key"] for item in listed] == [forked["session"]["key"]]
    ended = serving.command("sessions", "delete", "--sender", "local:person", "--yes")
    assert "1 conversations" in ended.stdout, ended.stderr
    assert serving.command("store", "prune").returncode == 0


@pytest.mark.parametrize(("verb", "ran"), [("confirm", True), ("deny", False)])
def test_a_question_that_is_kept_is_answered_by_its_token(serving, verb: str, ran: bool) -> None:
    serving.start()
    client, other = serving.client(), serving.client()
    # nobody is at this client, but its person has chat commands
    caller = {"attended": True, "live_reply": True, "slash_commands": True}
    id = client.send(
        "submit",
        text="call careful {}",
        chat="c",
        follow=True,
        slash_commands=True,
        caller=caller,
    )
    while "send" not in (frame := client.read()):
        pass
    assert "/confirm" in frame["send"]["text"]
    (question,) = serving.status()["store"]["questions"]
    assert question["conversation"] == "terminal/c"
    assert question["token"] in frame["send"]["text"]
    other.call(verb, conversation=question["conversation"], token=question["token"])
    answer = client.until(id)
    assert ("it ran" in answer["ok"]["text"]) is ran


def test_every_verb_is_documented(repository_docs: Path) -> None:
    from pegboard.host.control.verbs import VERBS

    page = (repository_docs / "explanation" / "resident-host.md").read_text("utf-8")
    assert [verb for verb in ("cancel", *VERBS) if f"| `{verb}` |" not in page] == []
