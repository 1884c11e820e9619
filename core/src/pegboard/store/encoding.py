"""How text and JSON are kept, whatever they hold: half characters, NUL, 50 MB."""

from __future__ import annotations

import json
from typing import Any, Final

from pegboard.contracts.errors import StoreError

_MARK: Final = "\x1a"
"""Begins a text that is kept as JSON, since SQLite could not keep it as it is."""


def kept(text: str) -> str:
    """Return the form in which a text is kept; equal texts have equal forms, others never."""
    if text.isascii() and text.isprintable():  # nearly every one: neither NUL nor the mark is
        return text
    plain = _whole(text) and "\0" not in text and not text.startswith(_MARK)
    return text if plain else _MARK + json.dumps(text)


def as_was(text: str) -> str:
    """Return the text that `kept` was given."""
    return str(json.loads(text[1:])) if text.startswith(_MARK) else text


def dumped(value: Any, what: str) -> str:
    """Return a value as JSON, in ASCII so that half a character and NUL survive.

    Args:
        value: What JSON can say: objects, arrays, texts, finite numbers.
        what: What it is, for the error.

    Raises:
        StoreError: When the value is no JSON.
    """
    try:
        return _ENCODER.encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise StoreError(
            f"The {what} can't be kept, it is no JSON: {reason}.",
            fix="give the store only what json.dumps takes, without NaN and infinity",
        ) from error


def loaded(text: str | None) -> Any:
    """Return the value that `dumped` was given; None for nothing."""
    return None if text is None else json.loads(text)


def searchable(text: str) -> str:
    """Return a text as SQLite can keep and search it: what is no character is left out."""
    return text.encode("utf-8", "ignore").decode().replace("\0", " ")


def _whole(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _plain(value: Any) -> Any:
    """Return what JSON knows for a mapping that is no dict."""
    if hasattr(value, "keys"):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is no JSON value")


# made once: json.dumps would make one for each value
_ENCODER: Final = json.JSONEncoder(separators=(",", ":"), allow_nan=False, default=_plain)
