"""Where in a file the lines of a chunk are. Pure.

What is equal counts first: the next place from where the chunk before ended. Only when no place is
equal the format's tolerant comparisons are tried, the strictest first, and each only where one
single place fits: blanks at the ends of lines, blanks at both sides, dashes, quotes and blanks of
another kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

_PUNCTUATION: Final = str.maketrans(
    {
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
        **dict.fromkeys("\u2018\u2019\u201a\u201b", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f", '"'),
        **dict.fromkeys(
            "\u00a0\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000", " "
        ),
    }
)


def _as_is(line: str) -> str:
    return line


def _folded(line: str) -> str:
    return line.strip().translate(_PUNCTUATION)


TIERS: Final[tuple[tuple[str, Callable[[str], str]], ...]] = (
    ("", _as_is),
    ("blanks at line ends ignored", str.rstrip),
    ("blanks at both ends of lines ignored", str.strip),
    ("typographic dashes, quotes and blanks taken as plain ones", _folded),
)
"""The comparisons, the strictest first, each with the words for what it overlooks."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where lines were found.

    Args:
        index: Index of the first line.
        tier: What was overlooked, or "".
        others: Indexes of further places that are equal; only when nothing was overlooked.
    """

    index: int
    tier: str = ""
    others: tuple[int, ...] = ()


class Nowhere(Exception):
    """The lines are not there."""


class SeveralPlaces(Exception):
    """The lines are not there as they are, and several places come equally near.

    Args:
        indexes: Of their first lines.
    """

    def __init__(self, indexes: tuple[int, ...]) -> None:
        super().__init__(f"near {indexes}")
        self.indexes = indexes


def find_lines(
    lines: Sequence[str], wanted: Sequence[str], start: int, *, at_end: bool = False
) -> Place:
    """Return where `wanted` is in `lines`, from index `start` on.

    Args:
        lines: The lines of a file, without their ends.
        wanted: At least one line.
        start: Index of the first line to look at.
        at_end: Only the last place of the file counts.

    Raises:
        Nowhere: When no comparison finds it.
        SeveralPlaces: When a tolerant comparison finds several places.
    """
    if at_end:
        start = max(start, len(lines) - len(wanted))
    for name, form in TIERS:
        found = tuple(_places(lines, wanted, start, form))
        if not found:
            continue
        if name and len(found) > 1:
            raise SeveralPlaces(found)
        return Place(found[0], name, found[1:])
    raise Nowhere


def _places(
    lines: Sequence[str], wanted: Sequence[str], start: int, form: Callable[[str], str]
) -> Iterator[int]:
    sought = [form(line) for line in wanted]
    given = [form(line) for line in lines[start:]]
    first, length = sought[0], len(sought)
    at = 0
    while True:
        try:
            at = given.index(first, at, len(given) - length + 1 if length <= len(given) else 0)
        except ValueError:
            return
        if given[at : at + length] == sought:
            yield start + at
        at += 1
