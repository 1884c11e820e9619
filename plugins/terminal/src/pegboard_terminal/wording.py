"""How calls, durations and errors are put in a line for a person."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from pegboard_terminal.safe_text import one_line

_VALUE_CHARS: Final = 60
_ARGUMENT_CHARS: Final = 160


def call_line(name: str, arguments: Mapping[str, Any] | str) -> str:
    """Return a call in short: `file_read path=README.md`."""
    return f"{one_line(name)} {_arguments(arguments)}".rstrip()


def duration(seconds: float) -> str:
    """Return a duration in the unit that suits it."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{seconds // 60:.0f} min {seconds % 60:02.0f} s"


def error_lines(error: Mapping[str, Any]) -> list[str]:
    """Return what went wrong and, on a second line, what mends it."""
    lines = [f"Error: {error.get('message') or error.get('code') or 'the run failed'}"]
    if error.get("fix"):
        lines.append(f"  Fix: {error['fix']}")
    return lines


def _arguments(arguments: Mapping[str, Any] | str) -> str:
    if isinstance(arguments, str):
        return _short(one_line(arguments), _ARGUMENT_CHARS)
    pairs = " ".join(f"{one_line(key)}={_value(value)}" for key, value in arguments.items())
    return _short(pairs, _ARGUMENT_CHARS)


def _value(value: Any) -> str:
    if isinstance(value, str) and value and not set(value) & set(" \t\r\n\"'"):
        return _short(one_line(value), _VALUE_CHARS)
    return _short(one_line(json.dumps(value, ensure_ascii=False, default=str)), _VALUE_CHARS)


def _short(text: str, chars: int) -> str:
    return text if len(text) <= chars else text[: chars - 1] + "…"
