"""Text that every provider and file can take: whole characters, valid UTF-8."""

from __future__ import annotations

import unicodedata
from typing import Final

_JOINER: Final = "\u200d"
_REACH: Final = 32


def repaired(text: str) -> str:
    """Return `text` with pairs of surrogates joined and lone ones replaced by U+FFFD."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def boundary(text: str, place: int) -> int:
    """Return the nearest place at or before `place` that tears no character.

    A character is what a person sees as one: with its accents, an emoji sequence, a flag, CR LF.
    """
    lowest = max(0, place - _REACH)
    at = place
    while at > lowest and _glued(text, at):
        at -= 1
    return at if at > lowest or at == 0 else place


def boundary_after(text: str, place: int) -> int:
    """Return the nearest such place at or after `place`."""
    highest = min(len(text), place + _REACH)
    at = place
    while at < highest and _glued(text, at):
        at += 1
    return at if at < highest or at == len(text) else place


def _glued(text: str, place: int) -> bool:
    """Tell whether the characters on both sides of `place` belong together."""
    if place <= 0 or place >= len(text):
        return False
    before, after = text[place - 1], text[place]
    if after.isascii():
        return before == "\r" and after == "\n"
    return (
        after == _JOINER
        or before == _JOINER
        or unicodedata.category(after) in ("Mn", "Me", "Mc")
        or "\U0001f3fb" <= after <= "\U0001f3ff"
        or (_regional(after) and _regional(before) and _odd_flags_before(text, place))
    )


def _regional(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _odd_flags_before(text: str, place: int) -> bool:
    count = 0
    while count < place and count < _REACH and _regional(text[place - 1 - count]):
        count += 1
    return count % 2 == 1
