"""How calls, durations and errors are put in a line for a person."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Collection, Mapping
from typing import Any, Final

from pegboard_terminal.safe_text import one_line

_VALUE_CHARS: Final = 60
_ARGUMENT_CHARS: Final = 160
_SLASH: Final = re.compile(r"/([\w-]+)(?!\S)")


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


def unknown_word(text: str, not_found: Collection[str], words: Collection[str]) -> str:
    """Return what to say of a `/word` that is neither a command nor a tool, or "".

    Args:
        text: What was written.
        not_found: Names of tools that its turn called and that nobody brings.
        words: The commands and tools that there are.
    """
    word = _SLASH.match(text.strip())
    if word is None or word[1] not in not_found or word[1] in words:
        return ""
    near = difflib.get_close_matches(word[1], words, n=1, cutoff=0.6)
    meant = f" Did you mean: /{near[0]}" if near else " /help lists the commands, /tools the tools."
    return f"There is no command and no tool /{word[1]}.{meant}"


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
