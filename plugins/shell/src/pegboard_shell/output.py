"""What a model reads of a command that has ended, or that goes on."""

from __future__ import annotations

import re
import signal
from typing import Any, Final

from pegboard import Captured, Completed, Output, SandboxError
from pegboard_shell.handles import Handle

STOPPED: Final = {
    "wall": "it was still running after its time and was ended",
    "idle": "it said nothing for too long and was ended",
    "output": "it wrote more than it may and was ended",
}


_ESCAPES: Final = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])"
)
"""What colours text and moves the cursor: in what is read as text it says nothing."""
_UNREADABLE: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_BY_SIGNAL: Final = 128
"""What a shell, and bwrap, add to the number of the signal that ended a command."""


def readable(text: str) -> str:
    """Return output without codes of a terminal, and with U+FFFD for what is no text."""
    return _UNREADABLE.sub("\ufffd", _ESCAPES.sub("", text))


def command_text(done: Completed) -> str:
    """Return the output of a command, then one line that says how it ended."""
    pieces = [_stream(done.stdout)]
    errors = _stream(done.stderr)
    if errors:
        pieces.append(f"[stderr]\n{errors}")
    pieces.append(f"[{ending(done)}]")
    if done.pipe_held:
        pieces.append("[something it had started was still running, and was ended]")
    pieces.extend(f"[sandbox: {note}]" for note in done.notes)
    return "\n".join(piece for piece in pieces if piece)


def ending(done: Completed) -> str:
    """Return how a command ended, in words."""
    if done.signal is not None:
        how = f"ended by signal {done.signal} ({signal_name(done.signal)})"
    else:
        how = f"exit code {done.exit_code}{_meaning(done.exit_code)}"
    return f"{how}, {done.duration_s:.2f} s"


def _meaning(code: int | None) -> str:
    """Return what an exit code says of a signal that something inside was ended by, or ""."""
    try:
        name = signal.Signals((code or 0) - _BY_SIGNAL).name
    except ValueError:
        return ""
    return f" ({_BY_SIGNAL} + {name})"


def command_facts(done: Completed) -> dict[str, Any]:
    """Return the same as data."""
    return {
        "exit_code": done.exit_code,
        "signal": done.signal,
        "duration_ms": round(done.duration_s * 1000),
        "timed_out": done.timed_out,
        "pipe_held": done.pipe_held,
        "stdout_omitted_bytes": done.stdout.omitted,
        "stderr_omitted_bytes": done.stderr.omitted,
        **({"sandbox_notes": list(done.notes)} if done.notes else {}),
    }


def signal_name(number: int) -> str:
    """Return the name of a signal, or its number where it has none."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


def state(handle: Handle) -> str:
    """Return whether a started command runs, or how it ended, in words."""
    try:
        done = handle.process.ended
    except SandboxError as error:
        return f"failed: {error.message}"
    if done is None:
        return "running"
    stopped = f"{STOPPED[done.timed_out]}; " if done.timed_out else ""
    notes = "".join(f"; sandbox: {note}" for note in done.notes)
    return f"ended: {stopped}{ending(done)}{notes}"


def handle_facts(handle: Handle) -> dict[str, Any]:
    """Return a started command as data."""
    facts: dict[str, Any] = {
        "handle": handle.name,
        "kind": handle.kind,
        "command": handle.command,
        "running": handle.running,
        **({"description": handle.description} if handle.description else {}),
    }
    try:
        done = handle.process.ended
    except SandboxError as error:
        return {**facts, "failure": error.message}
    if done is None:
        return facts
    told = ("exit_code", "signal", "duration_ms", "timed_out", "pipe_held", "sandbox_notes")
    return {**facts, **{key: value for key, value in command_facts(done).items() if key in told}}


def piece_text(piece: Output) -> str:
    """Return a piece of output as text; what is no longer kept is counted."""
    lost = f"[... {piece.lost} bytes are not kept any more ...]\n" if piece.lost else ""
    return lost + readable(piece.data.decode("utf-8", "replace")).rstrip("\n")


def _stream(captured: Captured) -> str:
    return readable(captured.text()).rstrip("\n")
