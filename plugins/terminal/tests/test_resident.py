"""`ask` and `chat` beside a host that stays: they act through it, and look the same."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import time

import pytest

pexpect = pytest.importorskip("pexpect")

VOLATILE = {"turn", "call", "duration_ms", "at"}


def plain(value):
    """Return an event without what differs from run to run."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items() if key not in VOLATILE}
    return re.sub(r"\b[0-9a-f]{12}\b", "ID", value) if isinstance(value, str) else value


def turns(pegboard) -> int:
    ended = pegboard.run("sessions", "list", "--json")
    return sum(item["turns"] for item in json.loads(ended.stdout)["sessions"])


@pytest.mark.parametrize(
    "words",
    [
        ["/echo text=one"],
        ["--json", "/echo text=one\n/slow seconds=0"],
        ["--json", "/broken"],
        ["-q", "/careful"],
        ["--json", "--model", "gpt-9", "hello"],
        ["--tools", "echo", "/echo text=a\n/wild"],
        ["--tools", "ecko", "x"],
        ["--provider", "nobody", "hello"],
        ["--as", "guest", "/echo text=a"],
        [],
    ],
    ids=" ".join,
)
def test_a_question_is_answered_as_it_is_without_that_host(pegboard, words) -> None:
    def shown(ended):
        if "--json" in words:
            return [plain(json.loads(line)) for line in ended.stdout.splitlines()]
        return plain(ended.stdout)

    def errors(ended):
        return [line.split("  ")[0] for line in ended.stderr.splitlines()]

    alone = pegboard.run("ask", *words)
    with pegboard.serving():
        through = pegboard.run("ask", *words)
    assert shown(through) == shown(alone)
    assert errors(through) == errors(alone)
    assert through.returncode == alone.returncode


def test_the_host_keeps_what_was_said(pegboard) -> None:
    with pegboard.serving():
        assert pegboard.run("ask", "/echo text=one").returncode == 0
        assert turns(pegboard) == 1
        assert json.loads(pegboard.run("status", "--json").stdout)["host"]["events"] > 3
    assert turns(pegboard) == 1


def test_ten_questions_at_once(pegboard) -> None:
    with pegboard.serving():
        asked = [
            subprocess.Popen(
                pegboard.argv("ask", "-q", f"/echo text=number-{number}"),
                env=pegboard.env,
                cwd=pegboard.workspace,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for number in range(10)
        ]
        for number, process in enumerate(asked):
            out, errors = process.communicate(timeout=60)
            assert out.endswith(f"\nnumber-{number}\n"), errors
        assert turns(pegboard) == 10


def test_a_question_whose_host_is_killed_says_so(pegboard) -> None:
    with pegboard.serving() as host:
        process = subprocess.Popen(
            pegboard.argv("ask", "--json", "/slow seconds=20"),
            env=pegboard.env,
            cwd=pegboard.workspace,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        with process:
            for line in process.stdout:
                if '"tool_progress"' in line:
                    break
            host.kill()
            rest, errors = process.communicate(timeout=30)
    assert process.returncode == 1
    assert json.loads(rest.splitlines()[-1])["code"] == "host_stopped"
    assert "The host ended before it answered" in errors
    assert "Traceback" not in errors


def test_a_chat_shows_work_of_the_background_and_survives_its_end(pegboard) -> None:
    with pegboard.serving(), pegboard.on_terminal("chat") as child:
        child.expect(r"\x1b\[\?2004h")
        child.send("/background /echo text=from-afar\r")
        child.expect("being worked on")
        child.expect(r"\[echo text=from-afar\]")
        child.sendeof()
        child.expect(pexpect.EOF)


def test_a_chat_that_is_killed_goes_on_in_the_host_and_can_be_watched_again(pegboard) -> None:
    with pegboard.serving():
        with pegboard.on_terminal("chat") as child:
            child.expect(r"\x1b\[\?2004h")
            child.send("/slow seconds=2\r")
            child.expect("half way")
            child.kill(signal.SIGKILL)
        with pegboard.on_terminal("chat", "--resume") as child:
            child.expect("Going on with: /slow seconds=2")
            child.expect(r"\[slow seconds=2\]")
            child.expect("slept")


def test_two_terminals_show_one_conversation(pegboard) -> None:
    with pegboard.serving(), pegboard.on_terminal("chat") as first:
        first.expect(r"\x1b\[\?2004h")
        first.send("/echo text=one\r")
        first.expect(r"\[echo text=one\]")
        first.expect(r"\x1b\[\?2004h")
        with pegboard.on_terminal("chat", "--resume") as second:
            second.expect(r"\x1b\[\?2004h")
            second.send("/echo text=two\r")
            second.expect(r"\[echo text=two\]")
        first.expect(r"\[echo text=two\]")


def test_a_question_that_nobody_answers_any_more_leaves_the_screen(pegboard) -> None:
    with pegboard.serving(), pegboard.on_terminal("chat") as child:
        child.expect(r"\x1b\[\?2004h")
        child.send("/careful\r")
        child.expect(r"\[y/N\]")
        listed = json.loads(pegboard.run("sessions", "list", "--json").stdout)["sessions"]
        assert listed[0]["open"] == 1
        child.sendintr()
        child.expect("failed|Cancelled")
        child.expect(r"\x1b\[\?2004h")
        child.send("/echo text=alive\r")
        child.expect("alive\r\n")


def test_the_host_is_reached_while_it_is_still_starting(pegboard) -> None:
    process = subprocess.Popen(
        pegboard.argv("serve"),
        env=pegboard.env,
        cwd=pegboard.workspace,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        lock = pegboard.home / "state" / "pegboard.lock"
        until = time.monotonic() + 20
        while not (lock.exists() and lock.read_text()) and time.monotonic() < until:
            time.sleep(0.005)
        ended = pegboard.run("ask", "-q", "/echo text=early")
        assert ended.stdout.endswith("early\n"), ended.stderr
    finally:
        process.terminate()
        process.wait(20)
