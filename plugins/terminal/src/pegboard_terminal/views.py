"""What a person, or a program, sees of a turn while it runs."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol, TextIO

import anyio

from pegboard_terminal.screen import Screen
from pegboard_terminal.wording import call_line, duration, error_lines

if TYPE_CHECKING:
    from pegboard import StreamEvent, TurnOutcome

_FRAMES: Final = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_PLAIN_FRAMES: Final = "|/-\\"
_FRAME_S: Final = 0.1
_QUIET_S: Final = 0.3
"""A model that answers faster than this gets no spinner: it would only flicker."""
_REASON_CHARS: Final = 200
_MARK: Final = re.compile(r"<<<(?:end )?outside [^>]*>>>")
"""What tells a model where text from outside begins and ends."""


class View(Protocol):
    """Shows the events of turns, and their replies."""

    def show(self, event: StreamEvent) -> None:
        """Show one event."""
        ...

    def begin(self) -> None:
        """Get ready for a turn."""
        ...

    def reply(self, text: str) -> None:
        """Show the reply of a turn, unless it was shown while it came."""
        ...

    def end(self, outcome: TurnOutcome) -> None:
        """Show how a turn ended."""
        ...

    def error(self, error: Mapping[str, Any]) -> None:
        """Show why something failed (`code`, `message`, `fix`)."""
        ...

    def note(self, text: str) -> None:
        """Tell the person something that is no part of an answer."""
        ...

    def pause(self, paused: bool) -> None:
        """Stop or resume the spinner, while somebody else uses the terminal."""
        ...

    async def spin(self) -> None:
        """Keep what moves moving, until cancelled."""
        ...


@dataclass(slots=True)
class _Running:
    line: str
    since: float
    progress: str = ""


class TextView:
    """Answers on standard output, calls and notices on standard error.

    In a terminal text appears as it comes, reasoning line by line, and a spinner tells what runs
    and for how long; in a pipe only the finished reply is written.

    Args:
        screen: Where to write.
        quiet: True to write answers and errors only.
        now: Seconds that never go back.
    """

    def __init__(
        self, screen: Screen, *, quiet: bool = False, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._screen = screen
        self._quiet = quiet
        self._now = now
        self._running: dict[str, _Running] = {}
        self._waiting: float | None = None
        self._paused = False
        self._streamed = ""
        self._thought = ""
        self._has_thought = False
        self._replied = False
        self._frames = screen.sign(_FRAMES, _PLAIN_FRAMES)
        self._tick = screen.sign("✓", "ok")
        self._cross = screen.sign("✗", "failed")
        self._shows: dict[str, Callable[[Any], None]] = {
            "step_started": lambda _: self._step(),
            "text": self._text,
            "thinking": self._think,
            "restart": lambda _: self._restart(),
            "tool_started": self._tool_started,
            "tool_progress": self._tool_progress,
            "tool_finished": self._tool_finished,
            "notice": lambda event: self.note(event.text),
            "turn_finished": lambda _: self._rest(),
        }

    def show(self, event: StreamEvent) -> None:
        """Show one event; types that nobody needs to see are passed over."""
        shows = self._shows.get(event.type)
        if shows is not None:
            shows(event)

    def begin(self) -> None:
        """Forget the last turn; the model is thinking from now on."""
        self._streamed = ""
        self._thought, self._has_thought = "", False
        self._replied = False
        self._waiting = self._now()

    def reply(self, text: str) -> None:
        """Write the reply, unless exactly this was streamed."""
        if text.strip() != self._streamed.strip():
            self._screen.end_text()
            self._screen.text(text)
        self._screen.end_text()
        self._streamed = ""
        self._replied = True

    def end(self, outcome: TurnOutcome) -> None:
        """Write a reply that nobody delivered, and say what failed."""
        self._rest()
        if outcome.text and not self._replied:
            self.reply(outcome.text)
        if outcome.error is not None:
            self.error(outcome.error)
        elif outcome.status == "cancelled":
            self.note("Cancelled.")

    def error(self, error: Mapping[str, Any]) -> None:
        """Write the message in red and the fix below it."""
        message, *fix = error_lines(error)
        self._screen.line(message, "bad")
        for line in fix:
            self._screen.line(line, "good")

    def note(self, text: str) -> None:
        """Write a notice, unless quiet."""
        if not self._quiet:
            self._screen.line(text, "warn", mark="!")

    def pause(self, paused: bool) -> None:
        """Give the terminal to somebody else, or take it back."""
        self._paused = paused
        if paused:
            self._screen.clear_status()
            self._screen.end_text()

    async def spin(self) -> None:
        """Redraw the status line ten times a second, until cancelled."""
        if self._quiet or not self._screen.live:
            await anyio.sleep_forever()
        frame = 0
        while True:
            await anyio.sleep(_FRAME_S)
            text = "" if self._paused else self._status()
            if text:
                frame = (frame + 1) % len(self._frames)
                self._screen.status(f"{self._frames[frame]} {text}")

    def _status(self) -> str:
        now = self._now()
        if self._running:
            oldest = next(iter(self._running.values()))
            more = f" (and {len(self._running) - 1} more)" if len(self._running) > 1 else ""
            progress = f" {oldest.progress}" if oldest.progress else ""
            return f"{duration(now - oldest.since)} {oldest.line}{more}{progress}"
        if self._waiting is not None and now - self._waiting > _QUIET_S:
            return f"{duration(now - self._waiting)} thinking"
        return ""

    def _step(self) -> None:
        # text before a call is no part of the reply; the next step's text begins a line of its own
        self._end_thought()
        self._screen.end_text()
        self._streamed, self._has_thought = "", False
        self._waiting = self._now()

    def _think(self, event: Any) -> None:
        if self._quiet or not self._screen.live:
            return
        *lines, self._thought = f"{self._thought}{event.text}".split("\n")
        for line in filter(str.strip, lines):
            self._has_thought = True
            self._screen.line(line, "faint")

    def _end_thought(self) -> None:
        """Write the last line of the reasoning, which nothing ended."""
        rest, self._thought = self._thought, ""
        if rest.strip():
            self._has_thought = True
            self._screen.line(rest, "faint")

    def _text(self, event: Any) -> None:
        self._end_thought()
        self._waiting = None
        if self._screen.out_is_terminal:
            self._screen.text(event.text)
            self._streamed += event.text

    def _restart(self) -> None:
        self._end_thought()
        if self._streamed or self._has_thought:
            self._screen.end_text()
            # also when quiet: else two answers stand there as one
            self._screen.line("The text above does not count: the answer begins again.", "warn")
        self._streamed, self._has_thought = "", False
        self._waiting = self._now()

    def _tool_started(self, event: Any) -> None:
        self._end_thought()
        self._waiting = None
        self._running[event.call] = _Running(call_line(event.name, event.arguments), self._now())

    def _tool_progress(self, event: Any) -> None:
        if event.call in self._running:
            part = "" if event.fraction is None else f" {event.fraction:.0%}"
            self._running[event.call].progress = f"{event.message}{part}"

    def _tool_finished(self, event: Any) -> None:
        self._waiting = self._now()
        running = self._running.pop(event.call, None)
        if self._quiet:
            return
        line = running.line if running else call_line(event.name, {})
        line = f"{line}  {duration(event.duration_ms / 1000)}"
        if event.error is None:
            self._screen.line(line, "good", mark=self._tick)
            return
        reason = " ".join(_MARK.sub("", event.output).split())[:_REASON_CHARS]
        self._screen.line(f"{line}  {event.error}: {reason}", "bad", mark=self._cross)

    def _rest(self) -> None:
        self._end_thought()
        self._running.clear()
        self._waiting = None
        self._screen.clear_status()
        self._screen.end_text()


class JsonView:
    """One event a line on standard output, as JSON, for programs.

    Args:
        out: Where the lines go.
    """

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def show(self, event: StreamEvent) -> None:
        """Write the event."""
        self._write(event.to_dict())

    def begin(self) -> None:
        """Do nothing: the first event says it."""

    def reply(self, text: str) -> None:
        """Write nothing: the last event holds the reply."""

    def end(self, outcome: TurnOutcome) -> None:
        """Write nothing: the last event says it."""

    def error(self, error: Mapping[str, Any]) -> None:
        """Write an `error` line: what failed outside of a turn."""
        self._write({"type": "error", **error})

    def note(self, text: str) -> None:
        """Write a `notice` line, as a turn does."""
        self._write({"type": "notice", "code": "terminal", "text": text})

    def pause(self, paused: bool) -> None:
        """Do nothing: nothing moves here."""

    async def spin(self) -> None:
        """Wait: nothing moves here."""
        await anyio.sleep_forever()

    def _write(self, data: Mapping[str, Any]) -> None:
        self._out.write(json.dumps(data, default=str) + "\n")
        self._out.flush()
