"""Replace text in a text so that nothing else changes, not even the kind of a line's end.

Line ends and a byte order mark don't count when the old text is looked for; everything else must be
equal. What old and new text have in common at both ends is not touched, so a line that is only
context keeps its bytes.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import Final

MARK: Final = "\ufeff"


class NotFound(Exception):
    """The old text is not there."""


class Ambiguous(Exception):
    """The old text is there more than once.

    Args:
        lines: Numbers of the lines where it begins.
    """

    def __init__(self, lines: tuple[int, ...]) -> None:
        super().__init__(f"found on lines {lines}")
        self.lines = lines


@dataclass(frozen=True, slots=True)
class Edit:
    """The result of a replacement.

    Args:
        text: The whole new text.
        lines: Numbers of the lines where the replaced places begin, in the old text.
        inserted: What was put in, in one place.
    """

    text: str
    lines: tuple[int, ...]
    inserted: str


def replace_text(text: str, old: str, new: str, *, replace_all: bool = False) -> Edit:
    """Replace the one place where `old` is, or all of them.

    Args:
        text: The text of a file; line ends as they are.
        old: What to replace, not empty.
        new: What to put there.
        replace_all: Replace every place, from the start on, where they don't overlap.

    Raises:
        NotFound: When `old` is nowhere.
        Ambiguous: When it is in several places and only one may be meant.
    """
    plain = PlainText(text)
    old, new = plain_ends(old.removeprefix(MARK)), plain_ends(new.removeprefix(MARK))
    places = _places(plain.text, old, overlapping=not replace_all)
    if not places:
        raise NotFound
    lines = tuple(plain.line_of(place) for place in places)
    if len(places) > 1 and not replace_all:
        raise Ambiguous(lines)
    head, tail = _common_ends(old, new)
    pieces: list[str] = []
    done = 0
    inserted = new[head : len(new) - tail]
    for place in places:
        start = plain.original(place + head)
        stop = plain.original(place + len(old) - tail)
        pieces.append(text[done:start])
        pieces.append(inserted.replace("\n", plain.line_end(place, place + len(old))))
        done = stop
    pieces.append(text[done:])
    return Edit("".join(pieces), lines, inserted)


def plain_ends(text: str) -> str:
    """Return `text` with every line end as one LF. A lone CR is no line end."""
    return text.replace("\r\n", "\n")


class PlainText:
    """A text with plain line ends, and the way back to the original.

    Args:
        original: The text as it is.
    """

    def __init__(self, original: str) -> None:
        self.text = plain_ends(original)
        self._doubled = _doubled(original) if len(self.text) < len(original) else []

    def original(self, place: int) -> int:
        """Return the index in the original that an index in the plain text stands for."""
        return place + bisect_left(self._doubled, place)

    def line_of(self, place: int) -> int:
        """Return the number of the line that an index is in, from 1."""
        return self.text.count("\n", 0, place) + 1

    def line_end(self, start: int, stop: int) -> str:
        """Return the line end to use between two indexes: that of the lines which are there."""
        if not self._doubled:
            return "\n"
        near = self.text.find("\n", start, stop)
        if near < 0:
            near = self.text.find("\n", stop)
        if near < 0:
            near = self.text.rfind("\n", 0, start)
        return "\r\n" if near >= 0 and self._is_doubled(near) else "\n"

    def _is_doubled(self, place: int) -> bool:
        index = bisect_left(self._doubled, place)
        return index < len(self._doubled) and self._doubled[index] == place


def _doubled(original: str) -> list[int]:
    """Return the indexes, in the plain text, of the line ends that are CR LF in the original."""
    found: list[int] = []
    at = original.find("\r\n")
    while at >= 0:
        found.append(at - len(found))
        at = original.find("\r\n", at + 2)
    return found


def _places(text: str, old: str, *, overlapping: bool) -> list[int]:
    places: list[int] = []
    at = text.find(old)
    while at >= 0:
        places.append(at)
        at = text.find(old, at + (1 if overlapping else len(old)))
    return places


def _common_ends(old: str, new: str) -> tuple[int, int]:
    head = 0
    shorter = min(len(old), len(new))
    while head < shorter and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < shorter - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    return head, tail
