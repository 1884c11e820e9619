from __future__ import annotations

import json
import signal

import pytest

pexpect = pytest.importorskip("pexpect")


def sessions(pegboard) -> list[dict]:
    ended = pegboard.run("sessions", "list", "--json")
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)["sessions"]


def talk(pegboard, text: str, *words: str):
    ended = pegboard.run("chat", *words, stdin=f"{text}\n")
    assert ended.returncode == 0, ended.stderr
    return ended


def test_each_chat_is_a_conversation_of_its_own(pegboard) -> None:
    talk(pegboard, "/echo text=one")
    talk(pegboard, "/echo text=two")
    assert [item["turns"] for item in sessions(pegboard)] == [1, 1]


@pytest.mark.both_ways
def test_the_last_chat_goes_on(pegboard) -> None:
    talk(pegboard, "/echo text=one")
    ended = talk(pegboard, "/echo text=two", "--resume")
    assert "Going on with: /echo text=one (1 turn)" in ended.stderr
    (found,) = sessions(pegboard)
    assert found["turns"] == 2


def test_a_chat_that_is_named_goes_on(pegboard) -> None:
    talk(pegboard, "/echo text=one")
    first = sessions(pegboard)[0]
    talk(pegboard, "/echo text=two")
    talk(pegboard, "/echo text=three", "--resume", first["id"][:6])
    assert {item["key"]: item["turns"] for item in sessions(pegboard)}[first["key"]] == 2


@pytest.mark.both_ways
def test_a_copy_goes_on_beside_the_first(pegboard) -> None:
    talk(pegboard, "/echo text=one")
    first = sessions(pegboard)[0]
    ended = pegboard.run("sessions", "fork", first["id"], "--json")
    copy = json.loads(ended.stdout)["session"]
    talk(pegboard, "/echo text=two", "--resume", copy["id"])
    turns = {item["key"]: item["turns"] for item in sessions(pegboard)}
    assert turns == {first["key"]: 1, copy["key"]: 2}


@pytest.mark.both_ways
def test_an_unknown_name_is_told_with_what_to_do(pegboard) -> None:
    ended = pegboard.run("chat", "--resume", stdin="hello\n")
    assert ended.returncode == 2
    assert "no conversation yet" in ended.stderr
    talk(pegboard, "/echo text=one")
    ended = pegboard.run("chat", "--resume", "nowhere", stdin="hello\n")
    assert ended.returncode == 2
    assert "pegboard sessions list" in ended.stderr


@pytest.mark.both_ways
def test_sessions_resume_opens_the_chat(pegboard) -> None:
    talk(pegboard, "/echo text=one")
    found = sessions(pegboard)[0]
    with pegboard.on_terminal("sessions", "resume", found["id"]) as child:
        child.expect("Going on with")
        child.expect(r"\x1b\[\?2004h")
        child.send("/echo text=two\r")
        child.expect(r"\[echo text=two\]")
        child.expect(r"\x1b\[\?2004h")
        child.sendeof()
        child.expect(pexpect.EOF)
    assert sessions(pegboard)[0]["turns"] == 2


def test_a_conversation_with_another_agent_goes_on_with_that_agent(pegboard) -> None:
    config = ("--set", "agents.research.role=main", "--set", "channels.terminal.agent=research")
    ended = pegboard.run(*config, "chat", stdin="/echo text=one\n")
    assert ended.returncode == 0, ended.stderr
    (found,) = sessions(pegboard)
    assert found["agent"] == "research"
    ended = pegboard.run(*config[:2], "chat", "--resume", stdin="/echo text=two\n")
    assert ended.returncode == 0, ended.stderr
    (again,) = sessions(pegboard)
    assert (again["key"], again["turns"]) == (found["key"], 2)


def test_work_that_was_cut_off_is_finished_first(pegboard) -> None:
    with pegboard.on_terminal("chat") as child:
        child.expect(r"\x1b\[\?2004h")
        child.send("/slow seconds=1.5\r")
        child.expect("half way")
        child.kill(signal.SIGKILL)
    assert sessions(pegboard)[0]["open"] == 1
    ended = talk(pegboard, "/echo text=after", "--resume")
    assert ended.stdout.index("slept") < ended.stdout.index("after")
    (found,) = sessions(pegboard)
    assert (found["turns"], found["open"]) == (2, 0)


def test_a_new_chat_leaves_it_alone(pegboard) -> None:
    with pegboard.on_terminal("chat") as child:
        child.expect(r"\x1b\[\?2004h")
        child.send("/slow seconds=1.5\r")
        child.expect("half way")
        child.kill(signal.SIGKILL)
    ended = talk(pegboard, "/echo text=after")
    assert "slept" not in ended.stdout
    assert sorted(item["open"] for item in sessions(pegboard)) == [0, 1]
