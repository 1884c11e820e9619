"""Text of a model or a tool, made harmless for a terminal.

A terminal obeys control characters: they move the cursor, rewrite what was shown, set the title, or
fill the clipboard. So each is shown as a sign of its own, and none is sent.
"""

from __future__ import annotations

from typing import Final
from unicodedata import combining, east_asian_width

_C0: Final = {code: chr(0x2400 + code) for code in range(0x20) if code not in (0x09, 0x0A)}
_C1: Final = {code: f"\\x{code:02x}" for code in range(0x80, 0xA0)}
_DIRECTION: Final = {
    code: f"\\u{code:04x}" for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
}
_SURROGATES: Final = dict.fromkeys(range(0xD800, 0xE000), "\ufffd")
_SIGNS: Final = {**_C0, 0x7F: "\u2421", **_C1, **_DIRECTION, **_SURROGATES}


def harmless(text: str) -> str:
    """Return `text` with every control and direction character made visible.

    Tabs and newlines stay; a carriage return before a newline goes.
    """
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    return text.replace("\r\n", "\n").translate(_SIGNS)


def one_line(text: str) -> str:
    """Return `text` harmless and on one line."""
    return harmless(" ".join(text.split()))


def fit(text: str, columns: int) -> str:
    """Cut one line of text to the columns of a terminal, with a mark where it was cut."""
    if text.isascii() and len(text) <= columns:
        return text
    taken = 0
    for index, char in enumerate(text):
        taken += _columns(char)
        if taken > columns:
            return _cut(text[:index], columns)
    return text


def _cut(text: str, columns: int) -> str:
    while text and sum(map(_columns, text)) > columns - 1:
        text = text[:-1]
    return text + "…"


def _columns(char: str) -> int:
    if combining(char):
        return 0
    return 2 if east_asian_width(char) in "WF" else 1
