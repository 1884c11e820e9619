"""JSON as calls carry it: only what every reader takes for the same value.

Python's own reader is more lenient: it takes NaN, makes infinity of `1e400`, drops all but the last
value of a key, and lets half a character pass that no file can hold.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

MAX_DEPTH: Final = 100
"""Values inside one another; what goes deeper breaks readers that recurse."""


def decode(text: str) -> Any:
    """Return the value that a text spells.

    Raises:
        ValueError: When it is no JSON, or what some reader would take for another value.
    """
    try:
        value = _DECODER.decode(text)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    if text.count("[") + text.count("{") > MAX_DEPTH:
        _refuse_depth(value)
    if "\\u" in text or not text.isascii():
        check(value)
    return value


def check(value: Any) -> None:
    """Refuse a value that can't be written as JSON, read as the same value, and kept in a file.

    Raises:
        ValueError: With the reason.
    """
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        text.encode()
    except UnicodeEncodeError as error:
        half = error.object[error.start]
        raise ValueError(
            f"it holds half a character (\\u{ord(half):04x}); send the whole one"
        ) from error
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    except TypeError as error:
        raise ValueError(str(error)) from error
    if text.count("[") + text.count("{") > MAX_DEPTH:
        _refuse_depth(value)


def read_object(text: str) -> dict[str, Any] | None:
    """Return the object that a text spells, empty for an empty text; None when it spells none."""
    try:
        value = decode(text) if text.strip() else {}
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _number(text: str) -> float:
    value = float(text)
    if value - value != 0:
        raise ValueError(f"the number {text[:40]} is too large")
    return value


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON value")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        twice = next(key for key, count in counts.items() if count > 1)
        raise ValueError(f"the key {twice[:80]!r} is given twice")
    return value


_DECODER: Final = json.JSONDecoder(
    parse_constant=_refuse_constant, parse_float=_number, object_pairs_hook=_unique
)


def _refuse_depth(value: Any) -> None:
    level: Sequence[Any] = [value]
    for _ in range(MAX_DEPTH):
        level = [child for node in level for child in _children(node)]
        if not level:
            return
    raise ValueError("it is nested too deeply")


def _children(node: Any) -> Sequence[Any]:
    if isinstance(node, dict):
        return tuple(node.values())
    return node if isinstance(node, (list, tuple)) else ()
