from __future__ import annotations

import io
import json

import anyio
import pytest
from pegboard_terminal.screen import Screen
from pegboard_terminal.views import JsonView, TextView

from pegboard import TurnOutcome
from pegboard.contracts.stream import (
    Noticed,
    StepStarted,
    TextRestarted,
    TextStreamed,
    ThinkingStreamed,
    ToolFinished,
    ToolProgress,
    ToolStarted,
    TurnFinished,
)


class Stream(io.StringIO):
    """A text stream that may claim to be a terminal."""

    encoding = "utf-8"

    def __init__(self, terminal: bool, encoding: str = "utf-8") -> None:
        super().__init__()
        self._terminal = terminal
        self.encoding = encoding

    def isatty(self) -> bool:
        return self._terminal


class Case:
    """A view with both of its streams and a clock that stands still."""

    def __init__(
        self, *, out: bool, err: bool, quiet: bool = False, encoding: str = "utf-8"
    ) -> None:
        self.out, self.err = Stream(out), Stream(err, encoding)
        self.time = 0.0
        screen = Screen(self.out, self.err, color=False)
        self.view = TextView(screen, quiet=quiet, now=lambda: self.time)
        self.view.begin()

    def call(self, *, error: str | None = None, output: str = "") -> None:
        self.view.show(ToolStarted(call="1", name="file_read", arguments={"path": "a.md"}))
        self.view.show(
            ToolFinished(call="1", name="file_read", output=output, error=error, duration_ms=12.3)
        )


@pytest.fixture(autouse=True)
def a_usual_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")


def test_in_a_pipe_only_the_finished_reply_is_written_and_as_it_is() -> None:
    case = Case(out=False, err=False)
    case.view.show(StepStarted(step=1))
    case.view.show(TextStreamed(text="Hel"))
    assert case.out.getvalue() == ""
    case.view.reply("Hello \x1b[1m")
    case.view.end(TurnOutcome(text="Hello \x1b[1m"))
    assert case.out.getvalue() == "Hello \x1b[1m\n"
    assert case.err.getvalue() == ""


def test_in_a_terminal_text_is_written_as_it_comes_and_not_twice() -> None:
    case = Case(out=True, err=True)
    case.view.show(TextStreamed(text="Hel"))
    assert case.out.getvalue() == "Hel"
    case.view.show(TextStreamed(text="lo\x1b[2J"))
    case.view.reply("Hello\x1b[2J")
    case.view.end(TurnOutcome(text="Hello\x1b[2J"))
    assert case.out.getvalue() == "Hello␛[2J\n"


def test_a_reply_that_differs_from_what_was_streamed_is_written() -> None:
    case = Case(out=True, err=True)
    case.view.show(TextStreamed(text="secret"))
    case.view.reply("[redacted]")
    assert case.out.getvalue() == "secret\n[redacted]\n"


def test_a_reply_that_nobody_delivered_is_written_at_the_end() -> None:
    case = Case(out=False, err=False)
    case.view.end(TurnOutcome(text="Late"))
    assert case.out.getvalue() == "Late\n"


def test_a_finished_call_is_one_line_with_its_duration() -> None:
    case = Case(out=False, err=False)
    case.call()
    assert case.err.getvalue() == "✓ file_read path=a.md  12 ms\n"


def test_a_failed_call_says_why() -> None:
    case = Case(out=False, err=False)
    case.call(error="not_found", output="Error: no\nsuch file\x1b[2J")
    assert case.err.getvalue() == (
        "✗ file_read path=a.md  12 ms  not_found: Error: no such file␛[2J\n"
    )


def test_an_old_terminal_gets_plain_signs() -> None:
    case = Case(out=False, err=False, encoding="ascii")
    case.call()
    assert case.err.getvalue().startswith("ok file_read")


def test_quiet_leaves_answers_and_errors() -> None:
    case = Case(out=False, err=False, quiet=True)
    case.call()
    case.view.show(Noticed(code="x", text="careful"))
    assert case.err.getvalue() == ""
    case.view.end(TurnOutcome(text="", status="failed", error={"message": "No.", "fix": "yes"}))
    assert case.err.getvalue() == "Error: No.\n  Fix: yes\n"


def test_a_line_about_a_call_never_breaks_into_a_line_of_text() -> None:
    case = Case(out=True, err=True)
    case.view.show(TextStreamed(text="I look."))
    case.call()
    assert case.out.getvalue() == "I look.\n"


def test_an_answer_that_begins_again_is_announced() -> None:
    case = Case(out=True, err=True)
    case.view.show(TextStreamed(text="Half"))
    case.view.show(TextRestarted(provider="b"))
    case.view.show(TextStreamed(text="Whole"))
    case.view.reply("Whole")
    assert case.out.getvalue() == "Half\nWhole\n"
    assert "begins again" in case.err.getvalue()


@pytest.mark.parametrize("quiet", [True, False])
def test_what_does_not_count_is_never_left_unmarked(quiet: bool) -> None:
    case = Case(out=True, err=True, quiet=quiet)
    case.view.show(TextStreamed(text="Half"))
    case.view.show(TextRestarted(provider="b"))
    assert "does not count" in case.err.getvalue()


def test_in_a_pipe_only_the_answer_that_counts_is_written() -> None:
    case = Case(out=False, err=False)
    case.view.show(TextStreamed(text="Half"))
    case.view.show(TextRestarted(provider="b"))
    case.view.show(TextStreamed(text="Whole"))
    case.view.reply("Whole")
    assert (case.out.getvalue(), case.err.getvalue()) == ("Whole\n", "")


def test_reasoning_is_shown_line_by_line_apart_from_the_answer() -> None:
    case = Case(out=True, err=True)
    case.view.show(StepStarted(step=1))
    for piece in ("Let me", " see.\n\nTwo and", " two\x1b[2J"):
        case.view.show(ThinkingStreamed(text=piece))
    assert case.err.getvalue() == "Let me see.\n"
    case.view.show(TextStreamed(text="Four."))
    case.view.end(TurnOutcome(text="Four."))
    assert case.err.getvalue() == "Let me see.\nTwo and two␛[2J\n"
    assert case.out.getvalue() == "Four.\n"


def test_reasoning_before_a_call_stands_before_it() -> None:
    case = Case(out=True, err=True)
    case.view.show(ThinkingStreamed(text="I look."))
    case.call()
    first, second = case.err.getvalue().splitlines()
    assert first == "I look."
    assert "file_read" in second


@pytest.mark.parametrize(("err", "quiet"), [(False, False), (True, True)])
def test_reasoning_is_neither_in_a_pipe_nor_where_only_answers_are_wanted(
    err: bool, quiet: bool
) -> None:
    case = Case(out=err, err=err, quiet=quiet)
    case.view.show(ThinkingStreamed(text="Hm.\nHm"))
    case.view.reply("Four.")
    case.view.end(TurnOutcome(text="Four."))
    assert case.err.getvalue() == ""


def test_reasoning_that_does_not_count_is_marked_as_well() -> None:
    case = Case(out=True, err=True)
    case.view.show(ThinkingStreamed(text="Hm.\n"))
    case.view.show(TextRestarted(provider="b"))
    assert "does not count" in case.err.getvalue()


@pytest.mark.anyio
async def test_the_spinner_tells_what_runs_and_for_how_long() -> None:
    case = Case(out=True, err=True)
    case.view.show(ToolStarted(call="1", name="shell", arguments={"command": "make"}))
    case.view.show(ToolProgress(call="1", name="shell", message="compiling", fraction=0.5))
    case.time = 2.0
    with anyio.move_on_after(0.15):
        await case.view.spin()
    assert "2.0 s shell command=make compiling 50%" in case.err.getvalue()
    case.view.show(ToolFinished(call="1", name="shell", output="", error=None, duration_ms=2000))
    assert case.err.getvalue().endswith("\r\x1b[K✓ shell command=make  2.0 s\n")


@pytest.mark.anyio
async def test_a_model_that_takes_its_time_is_thinking() -> None:
    case = Case(out=True, err=True)
    case.time = 1.5
    with anyio.move_on_after(0.15):
        await case.view.spin()
    assert "1.5 s thinking" in case.err.getvalue()
    case.view.show(TextStreamed(text="x"))
    before = case.err.getvalue()
    with anyio.move_on_after(0.15):
        await case.view.spin()
    assert case.err.getvalue() == before


@pytest.mark.anyio
async def test_nothing_spins_in_a_pipe_or_while_a_question_is_put() -> None:
    for case in (Case(out=True, err=False), Case(out=True, err=True)):
        case.view.show(ToolStarted(call="1", name="shell", arguments="{}"))
        case.view.pause(True)
        with anyio.move_on_after(0.15):
            await case.view.spin()
        assert case.err.getvalue() == ""


def test_events_are_one_json_object_a_line() -> None:
    out = Stream(False)
    view = JsonView(out)
    view.show(TextStreamed(text="two\nlines \u2028 \ud83d"))
    view.show(TurnFinished(turn="t", status="done", text="x", steps=1, usage={}, error=None))
    view.error({"code": "no_provider", "message": "None."})
    first, second, third = map(json.loads, out.getvalue().splitlines())
    assert first["type"] == "text"
    assert second["status"] == "done"
    assert third == {"type": "error", "code": "no_provider", "message": "None."}


def test_a_line_end_in_two_pieces_is_one_line_end() -> None:
    case = Case(out=True, err=True)
    for piece in ("one\r", "\ntwo\r", "three", "\r"):
        case.view.show(TextStreamed(text=piece))
    case.view.reply("one\r\ntwo\rthree\r")
    assert case.out.getvalue() == "one\ntwo\u240dthree\n"
