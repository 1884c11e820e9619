from __future__ import annotations

import json
import os
import signal
import subprocess
import time

import pytest

pexpect = pytest.importorskip("pexpect")


def events(stdout: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in stdout.splitlines()]


def test_the_answer_is_on_standard_output_and_the_calls_are_not(pegboard) -> None:
    done = pegboard.run("ask", "/echo text=hello")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[echo text=hello] (text from outside)\nhello\n"
    assert "echo text=hello" in done.stderr
    assert " ms" in done.stderr


def test_words_need_no_quotes(pegboard) -> None:
    assert "hi you" in pegboard.run("ask", "echo", '"hi you"').stdout


def test_the_question_may_come_from_a_pipe(pegboard) -> None:
    assert (
        pegboard.run("ask", stdin="/echo text=piped\n").stdout
        == "[echo text=piped] (text from outside)\npiped\n"
    )


@pytest.mark.both_ways
def test_what_is_piped_beside_a_question_is_context(pegboard) -> None:
    done = pegboard.run("ask", "/echo text=asked", stdin="/echo text=context\n")
    assert done.stdout == "[echo text=asked] (text from outside)\nasked\n"


def test_without_a_question_it_says_how_to_ask(pegboard) -> None:
    done = pegboard.run("ask")
    assert done.returncode == 2
    assert "There is no question." in done.stderr
    assert "pegboard ask" in done.stderr
    assert "Traceback" not in done.stderr


def test_json_is_one_event_a_line_and_nothing_else(pegboard) -> None:
    done = pegboard.run("ask", "--json", "/echo text=one\n/noisy")
    assert done.returncode == 0, done.stderr
    seen = events(done.stdout)
    types = [event["type"] for event in seen]
    assert types[0] == "turn_started"
    assert types[-1] == "turn_finished"
    assert types.count("tool_finished") == 2
    assert seen[-1]["status"] == "done"
    for noise in ("printed by a tool", "written by a tool", "said by a child"):
        assert noise not in done.stdout
        assert noise in done.stderr


def test_what_tools_print_is_no_answer(pegboard) -> None:
    assert pegboard.run("ask", "/noisy").stdout == "[noisy] (text from outside)\ndone\n"


@pytest.mark.both_ways
def test_json_tells_of_progress(pegboard) -> None:
    done = pegboard.run("ask", "--json", "/slow seconds=0")
    (progress,) = [event for event in events(done.stdout) if event["type"] == "tool_progress"]
    assert progress["message"] == "half way"


@pytest.mark.both_ways
def test_when_every_call_failed_the_exit_code_is_8(pegboard) -> None:
    done = pegboard.run("ask", "/broken")
    assert done.returncode == 8
    assert "[broken] failed" in done.stdout
    assert "Wait for rain." in done.stdout
    assert "dry" in done.stderr


@pytest.mark.both_ways
def test_when_one_call_of_two_failed_the_exit_code_is_0(pegboard) -> None:
    assert pegboard.run("ask", "/broken\n/echo text=x").returncode == 0


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("/ecko text=x", "The nearest are: echo"),
        ("/echo x", "Write it like this: /echo text=x"),
        ('/echo {"text": ', "Line 1, column"),
        ("/echo text=x more=y", "more"),
        ("/echo", "text"),
    ],
)
def test_a_bad_call_is_explained_and_ends_with_8(pegboard, text: str, part: str) -> None:
    done = pegboard.run("ask", text)
    assert done.returncode == 8, done.stdout
    assert part in done.stdout
    assert "Traceback" not in done.stderr + done.stdout


def test_an_unknown_option_is_a_usage_error(pegboard) -> None:
    assert pegboard.run("ask", "--no-such-option", "x").returncode == 2


@pytest.mark.both_ways
def test_a_provider_that_is_not_there_is_one_clear_message(pegboard) -> None:
    done = pegboard.run("ask", "--provider", "nobody", "hello")
    assert done.returncode not in (0, 8)
    assert "nobody" in done.stderr
    assert "Fix:" in done.stderr
    assert "Traceback" not in done.stderr


def test_without_a_provider_it_says_how_to_get_one(pegboard) -> None:
    done = pegboard.run("ask", "hello", env={"PEGBOARD_PLUGINS": "terminal"})
    assert done.returncode == 5
    assert "  Fix: " in done.stderr


@pytest.mark.both_ways
def test_json_tells_why_a_run_failed(pegboard) -> None:
    done = pegboard.run("ask", "--json", "--model", "gpt-9", "hello")
    last = events(done.stdout)[-1]
    assert last["type"] == "turn_finished"
    assert last["status"] == "failed"
    assert done.returncode == 7
    assert "gpt-9" in json.dumps(last["error"])


@pytest.mark.both_ways
def test_tools_narrows_what_is_offered(pegboard) -> None:
    done = pegboard.run("ask", "--tools", "echo", "/echo text=a\n/wild")
    assert "[echo text=a] (text from outside)\na" in done.stdout
    assert "[wild] failed" in done.stdout
    none = pegboard.run("ask", "--tools", "", "/echo text=a")
    assert none.returncode == 8


@pytest.mark.both_ways
def test_tools_refuses_a_name_that_does_not_exist(pegboard) -> None:
    done = pegboard.run("ask", "--tools", "ecko", "x")
    assert done.returncode == 2
    assert "ecko" in done.stderr


def test_a_guest_sees_nothing_that_the_operator_has_not_listed(pegboard) -> None:
    refused = pegboard.run("ask", "--as", "guest", "/echo text=a")
    assert refused.returncode == 8
    allowed = pegboard.run(
        "--set", 'policy.guest_tools=["echo"]', "ask", "--as", "guest", "/echo text=a"
    )
    assert allowed.stdout == "[echo text=a] (text from outside)\na\n", allowed.stderr


def test_a_store_that_can_not_be_opened_is_what_went_wrong_and_nothing_else(pegboard) -> None:
    assert pegboard.run("ask", "/echo text=a").returncode == 0
    store = pegboard.home / "state" / "pegboard.db"
    for file in store.parent.glob("pegboard.db*"):
        file.unlink()
    store.write_bytes(b"not a store" * 1_000)
    done = pegboard.run("ask", "/echo text=a")
    assert done.returncode == 1
    assert "store" in done.stderr
    assert "Cancelled" not in done.stderr


@pytest.mark.both_ways
def test_quiet_leaves_the_answer(pegboard) -> None:
    done = pegboard.run("ask", "-q", "/echo text=x")
    assert (done.stdout, done.stderr) == ("[echo text=x] (text from outside)\nx\n", "")


@pytest.mark.both_ways
def test_a_call_that_needs_approval_is_refused_when_nobody_is_there(pegboard) -> None:
    done = pegboard.run("ask", "/careful")
    assert done.returncode == 8
    assert "it ran" not in done.stdout


@pytest.mark.both_ways
def test_in_a_pipe_the_answer_is_written_as_it_is(pegboard) -> None:
    assert "\x1b[2J\x1b]0;owned\x07 harmless" in pegboard.run("ask", "/wild").stdout


def test_a_terminal_is_never_steered_by_an_answer(pegboard) -> None:
    with pegboard.on_terminal("ask", "/wild") as child:
        child.expect(pexpect.EOF)
        shown = child.before
    assert "␛[2J␛]0;owned␇ harmless" in shown
    assert "\x1b[2J" not in shown
    assert "\x1b]0" not in shown


@pytest.mark.both_ways
def test_a_person_at_the_terminal_is_asked(pegboard) -> None:
    for answer, expected in (("y", "it ran"), ("n", "failed")):
        with pegboard.on_terminal("ask", "/careful") as child:
            child.expect(r"Run the careful tool\?")
            child.expect(r"\[y/N\]")
            child.send(f"{answer}\r")
            child.expect(expected)
            child.expect(pexpect.EOF)


@pytest.mark.both_ways
def test_ctrl_c_ends_with_130(pegboard) -> None:
    with pegboard.on_terminal("ask", "/slow") as child:
        child.expect("slow")
        child.sendintr()
        child.expect("Cancelled")
        child.expect(pexpect.EOF)
        child.close()
        assert child.exitstatus == 130


def started(pegboard, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        pegboard.argv(*words),
        env=pegboard.env,
        cwd=pegboard.workspace,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.both_ways
def test_an_interrupt_ends_the_json_stream_in_order(pegboard) -> None:
    with started(pegboard, "ask", "--json", "/slow") as process:
        assert process.stdout is not None
        for line in process.stdout:
            if '"tool_progress"' in line:
                break
        process.send_signal(signal.SIGINT)
        rest, errors = process.communicate(timeout=30)
    last = json.loads(rest.splitlines()[-1])
    assert (last["type"], last["status"]) == ("turn_finished", "cancelled")
    assert process.returncode == 130
    assert "Traceback" not in errors


@pytest.mark.both_ways
def test_a_reader_that_goes_away_is_no_crash(pegboard) -> None:
    with started(pegboard, "ask", "--json", "/slow seconds=1") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(timeout=30) == 141
        assert "Traceback" not in process.stderr.read()


def test_an_open_pipe_that_nobody_writes_to_does_not_hang(pegboard) -> None:
    reading, writing = os.pipe()
    began = time.monotonic()
    try:
        done = subprocess.run(
            pegboard.argv("ask", "/echo text=x"),
            env=pegboard.env,
            cwd=pegboard.workspace,
            stdin=reading,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    finally:
        os.close(reading)
        os.close(writing)
    assert done.stdout == "[echo text=x] (text from outside)\nx\n"
    assert "stayed silent" in done.stderr
    assert time.monotonic() - began > 3


def test_the_heavy_prompt_library_is_not_loaded_for_a_question(pegboard) -> None:
    done = pegboard.run("ask", "/echo text=x", env={"PYTHONPROFILEIMPORTTIME": "1"})
    assert done.returncode == 0
    assert "pegboard_terminal.ask_command" in done.stderr
    assert "prompt_toolkit" not in done.stderr


@pytest.mark.both_ways
def test_a_reader_that_is_gone_before_the_reply_is_no_crash_either(pegboard) -> None:
    with started(pegboard, "ask", "-q", "/echo text=x") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.wait(timeout=30) == 141
        assert process.stderr.read() == ""


@pytest.mark.parametrize("tool", ["blocking", "deaf"])
def test_a_second_ctrl_c_ends_what_does_not_listen(pegboard, tool) -> None:
    began = time.monotonic()
    with started(pegboard, "ask", "--json", f"/{tool}") as process:
        assert process.stdout is not None
        for line in process.stdout:
            if '"tool_progress"' in line:
                break
        for _ in range(2):
            time.sleep(0.5)
            process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "Traceback" not in errors
    assert time.monotonic() - began < 15


@pytest.mark.both_ways
def test_half_a_character_of_the_command_line_is_replaced(pegboard) -> None:
    done = pegboard.run("ask", b"/echo text=\xff".decode("utf-8", "surrogateescape"))
    assert done.stdout == "[echo text=\ufffd] (text from outside)\n\ufffd\n"
