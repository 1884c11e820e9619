"""Replace text in a text so that nothing else changes, not even the kind of a line's end.

Line ends and a byte order mark don't count when the old text is looked for; everything else must be
equal. What old and new text have in common at both ends is not touched, so a line that is only
context keeps its bytes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NamedTuple

MARK: Final = "\ufeff"


class NotFound(Exception):
    """The old text is not there.

    Args:
        edit: Index of the replacement.
    """

    def __init__(self, edit: int = 0) -> None:
        super().__init__(f"edit {edit}")
        self.edit = edit


class Ambiguous(Exception):
    """The old text is there more than once.

    Args:
        lines: Numbers of the lines where it begins.
        edit: Index of the replacement.
    """

    def __init__(self, lines: tuple[int, ...], edit: int = 0) -> None:
        super().__init__(f"found on lines {lines}")
        self.lines = lines
        self.edit = edit


class Overlapping(Exception):
    """Two replacements want the same piece of text.

    Args:
        edits: Indexes of the two.
        line: Number of the line where the second one begins.
    """

    def __init__(self, edits: tuple[int, int], line: int) -> None:
        super().__init__(f"edits {edits}")
        self.edits = edits
        self.line = line


@dataclass(frozen=True, slots=True)
class Replacement:
    """A text and what to put in its place.

    Args:
        old: What to replace, not empty.
        new: What to put there.
        everywhere: Replace every place, from the start on, where they don't overlap.
    """

    old: str
    new: str
    everywhere: bool = False


@dataclass(frozen=True, slots=True)
class Edit:
    """The result of replacements.

    Args:
        text: The whole new text.
        lines: Numbers of the lines where the replaced places begin, in the old text.
        inserted: What was put in, once for each replacement.
    """

    text: str
    lines: tuple[int, ...]
    inserted: str


class _Cut(NamedTuple):
    """A place of the plain text, and which replacement wants it."""

    start: int
    stop: int
    edit: int


def replace_texts(text: str, replacements: Sequence[Replacement]) -> Edit:
    """Make several replacements, each looked for in the text as it is.

    Args:
        text: The text of a file; line ends as they are.
        replacements: What to replace.

    Raises:
        NotFound: When an old text is nowhere.
        Ambiguous: When one is in several places and only one may be meant.
        Overlapping: When two of them want the same piece.
    """
    plain = PlainText(text)
    wanted = [
        Replacement(_plain(item.old), _plain(item.new), item.everywhere) for item in replacements
    ]
    cuts = sorted(cut for index, item in enumerate(wanted) for cut in _cuts(plain, item, index))
    for one, other in pairwise(cuts):
        if other.start < one.stop:
            raise Overlapping((one.edit, other.edit), plain.line_of(other.start))
    ends = [_common_ends(item.old, item.new) for item in wanted]
    inserted = [
        item.new[head : len(item.new) - tail]
        for item, (head, tail) in zip(wanted, ends, strict=True)
    ]
    pieces: list[str] = []
    done = 0
    for cut in cuts:
        head, tail = ends[cut.edit]
        pieces.append(text[done : plain.original(cut.start + head)])
        pieces.append(inserted[cut.edit].replace("\n", plain.line_end(cut.start, cut.stop)))
        done = plain.original(cut.stop - tail)
    pieces.append(text[done:])
    lines = tuple(plain.line_of(cut.start) for cut in cuts)
    return Edit("".join(pieces), lines, "\n".join(inserted))


def _plain(text: str) -> str:
    return plain_ends(text.removeprefix(MARK))


def _cuts(plain: PlainText, item: Replacement, index: int) -> list[_Cut]:
    places = _places(plain.text, item.old, overlapping=not item.everywhere)
    if not places:
        raise NotFound(index)
    if len(places) > 1 and not item.everywhere:
        raise Ambiguous(tuple(plain.line_of(place) for place in places), index)
    return [_Cut(place, place + len(item.old), index) for place in places]


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
