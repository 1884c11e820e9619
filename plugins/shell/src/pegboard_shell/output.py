"""What a model reads of a command that has ended."""

from __future__ import annotations

import signal
from typing import Any

from pegboard import Captured, Completed


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
        how = f"exit code {done.exit_code}"
    return f"{how}, {done.duration_s:.2f} s"


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


def _stream(captured: Captured) -> str:
    return captured.text().rstrip("\n")
