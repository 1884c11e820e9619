from __future__ import annotations

import re
import shlex
import stat
import subprocess

import pytest

pexpect = pytest.importorskip("pexpect")


def ready(child) -> None:
    """Wait until the prompt takes keys."""
    child.expect(r"\x1b\[\?2004h")


@pytest.mark.both_ways
def test_a_talk(pegboard) -> None:
    with pegboard.on_terminal("chat") as child:
        child.expect("/exit or Ctrl-D leaves")
        ready(child)
        child.send("/echo text=first\r")
        child.expect(r"echo text=first +\d+ ms")
        child.expect(r"\[echo text=first\] \(text from outside\)\r\nfirst\r\n")
        ready(child)
        child.send("/echo text=two\x1b\r\x1b\r/echo text=three\r")
        child.expect(
            r"\[echo text=two\] \(text from outside\)\r\ntwo\r\n\r\n"
            r"\[echo text=three\] \(text from outside\)\r\nthree\r\n"
        )
        ready(child)
        child.send("\x04")
        child.expect(pexpect.EOF)
        child.close()
        assert child.exitstatus == 0


@pytest.mark.both_ways
def test_ctrl_c_stops_the_turn_and_not_the_program(pegboard) -> None:
    with pegboard.on_terminal("chat") as child:
        ready(child)
        child.send("/slow\r")
        child.expect(r"\d+ ms slow half way 50%")
        child.sendintr()
        child.expect("Cancelled")
        ready(child)
        child.send("/echo text=alive\r")
        child.expect("alive\r\n")
        ready(child)
        child.send("half a line")
        child.sendintr()
        ready(child)
        child.send("/echo text=empty\r")
        child.expect(r"\[echo text=empty\]")
        ready(child)
        child.send("/exit\r")
        child.expect(pexpect.EOF)
        child.close()
        assert child.exitstatus == 0


def test_messages_are_remembered_for_their_owner_only(pegboard) -> None:
    for keys in ("/echo text=remembered\r", "\x1b[A\r"):
        with pegboard.on_terminal("chat") as child:
            ready(child)
            child.send(keys)
            child.expect(r"\[echo text=remembered\]")
            ready(child)
            child.sendeof()
            child.expect(pexpect.EOF)
    history = pegboard.home / "state" / "terminal" / "history"
    assert "/echo text=remembered" in history.read_text(encoding="utf-8")
    assert stat.S_IMODE(history.stat().st_mode) == 0o600
    assert stat.S_IMODE(history.parent.stat().st_mode) == 0o700


@pytest.mark.both_ways
def test_the_commands_of_a_chat(pegboard) -> None:
    with pegboard.on_terminal("chat") as child:
        for command, part in (
            ("/help", "/new"),
            ("/tools", "echo"),
            ("/plugins", "provider-offline"),
            ("/why echo", "echo"),
            ("/new", "new conversation"),
        ):
            ready(child)
            child.send(f"{command}\r")
            child.expect_exact("\x1b[?2004l")
            child.expect_exact(part)


@pytest.mark.both_ways
def test_tab_completes_the_name_of_a_tool(pegboard) -> None:
    with pegboard.on_terminal("chat") as child:
        ready(child)
        child.send("/noi\t")
        child.expect("sy")
        child.send("\r")
        child.expect(r"\[noisy\] \(text from outside\)\r\ndone")


@pytest.mark.both_ways
def test_tab_completes_what_help_lists_and_the_word_that_ends_the_talk(pegboard) -> None:
    with pegboard.on_terminal("chat") as child:
        for typed, rest, answer in (
            ("/whi", "sper", r"\x1b\[\?2004lhush\r\n"),  # brought by a plugin
            ("/backg", "round", "Write /background TEXT"),
        ):
            ready(child)
            child.send(f"{typed}\t")
            child.expect(rest)
            child.send(" hush\r" if rest == "sper" else "\r")
            child.expect(answer)
        ready(child)
        child.send("/exi\t")
        child.expect("t")
        child.send("\r")
        child.expect(pexpect.EOF)


@pytest.mark.both_ways
def test_a_person_is_asked_before_a_careful_call(pegboard) -> None:
    for answer, expected in (("y", "it ran"), ("", "failed")):
        # each a talk of its own: within one an answer counts for a minute
        with pegboard.on_terminal("chat") as child:
            ready(child)
            child.send("/careful\r")
            child.expect(r"Run the careful tool\?")
            child.expect(r"\[y/N\]")
            child.send(f"{answer}\r")
            child.expect(expected)


@pytest.mark.both_ways
def test_trust_in_a_folder_is_asked_for_once(pegboard) -> None:
    (pegboard.workspace / "AGENTS.md").write_text("Be kind.\n", encoding="utf-8")
    with pegboard.on_terminal("chat") as child:
        child.expect("AGENTS.md")
        child.expect(r"\[y/N\]")
        child.send("y\r")
        child.expect("The folder is trusted")
        ready(child)
        child.sendeof()
        child.expect(pexpect.EOF)
    with pegboard.on_terminal("chat") as child:
        ready(child)
        child.sendeof()
        child.expect(pexpect.EOF)
        assert "Trust this folder" not in child.before


@pytest.mark.both_ways
def test_the_lines_of_a_pipe_are_messages(pegboard) -> None:
    done = pegboard.run("chat", stdin="/echo text=one\n\n/echo text=two\n/careful\n/tools")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(
        "[echo text=one] (text from outside)\none\n[echo text=two] (text from outside)\ntwo\n"
    )
    assert "it ran" not in done.stdout
    assert re.search("echo.*Return a text unchanged", done.stdout)
    assert "\x1b" not in done.stdout + done.stderr


@pytest.mark.both_ways
def test_a_misspelt_command_is_told_the_one_that_was_meant(pegboard) -> None:
    done = pegboard.run("chat", stdin="/whispr text=a\n/echo text=b\n/nosuch\n")
    assert "no tool /whispr. Did you mean: /whisper" in done.stderr
    assert done.stderr.count("There is no command") == 2
    assert "no tool /nosuch. /help lists" in done.stderr


@pytest.mark.parametrize("word", ["/exit", " /quit "])
def test_a_word_ends_the_talk(pegboard, word: str) -> None:
    done = pegboard.run("chat", stdin=f"/echo text=one\n{word}\n/echo text=two\n")
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("one\n")
    assert "two" not in done.stdout + done.stderr


@pytest.mark.both_ways
def test_a_failed_turn_does_not_end_the_talk(pegboard) -> None:
    done = pegboard.run("chat", "--model", "gpt-9", stdin="hello\nagain\n")
    assert done.stderr.count("gpt-9") >= 2
    assert "Traceback" not in done.stderr


@pytest.mark.both_ways
def test_a_closed_standard_input_ends_the_talk(pegboard) -> None:
    words = " ".join(map(shlex.quote, pegboard.argv("chat")))
    done = subprocess.run(
        f"{words} <&-",
        shell=True,
        cwd=pegboard.workspace,
        env=pegboard.env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("lines", "code"), [("/echo text=one", 0), ("/broken", 8), ("/broken\n/echo text=two", 0)]
)
def test_a_script_learns_how_its_last_turn_ended(pegboard, lines: str, code: int) -> None:
    assert pegboard.run("chat", stdin=lines).returncode == code
