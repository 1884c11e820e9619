"""Reading back what was left out of a result: a page of it, or the lines that hold some text."""

from __future__ import annotations

from itertools import accumulate
from typing import Final, NamedTuple

from pegboard.tools.core_specs import PAGE_CHARS, PAGE_LINES
from pegboard.tools.text_repair import boundary

_MAX_MATCHES: Final = 200
_MAX_MATCH_LINE: Final = 400


class Page(NamedTuple):
    """A part of a text. `lines` are those shown, first and last, counted from 1."""

    text: str
    lines: tuple[int, int]
    more: str


def lines_of(text: str) -> list[str]:
    """Return the lines of a text; only a line feed ends one, as everywhere in results."""
    return text.removesuffix("\n").split("\n")


def page(text: str, *, offset: int, limit: int, from_char: int = 0) -> Page | None:
    """Return lines of a text, at most `PAGE_CHARS` characters; None when `offset` is beyond it.

    Args:
        text: The whole text.
        offset: First line, from 1.
        limit: Lines at most.
        from_char: Characters of the first line to skip.
    """
    lines = lines_of(text)
    if offset > max(1, len(lines)):
        return None
    wanted = lines[offset - 1 : offset - 1 + min(limit, PAGE_LINES)]
    first = wanted[0][from_char:] if wanted else ""
    if len(first) > PAGE_CHARS:
        end = boundary(first, PAGE_CHARS)
        more = f"Continue with offset={offset}, from_char={from_char + end}."
        return Page(first[:end], (offset, offset), more)
    shown = [first]
    room = PAGE_CHARS - len(first)
    for line in wanted[1:]:
        room -= len(line) + 1
        if room < 0:
            break
        shown.append(line)
    last = offset + len(shown) - 1
    return Page(
        "\n".join(shown),
        (offset, last),
        f"Continue with offset={last + 1}." if last < len(lines) else "",
    )


def matches(text: str, query: str) -> Page:
    """Return the lines that hold `query`, each with its number; case does not matter."""
    folded = query.casefold()
    found = [
        (number, line) for number, line in enumerate(lines_of(text), 1) if folded in line.casefold()
    ]
    shown: list[str] = []
    room = PAGE_CHARS
    for number, line in found[:_MAX_MATCHES]:
        entry = f"{number}: {_around(line, folded)}"
        room -= len(entry) + 1
        if room < 0:
            break
        shown.append(entry)
    left = len(found) - len(shown)
    more = f"{left} more lines match; use a longer query." if left else ""
    numbers = (found[0][0], found[len(shown) - 1][0]) if shown else (0, 0)
    return Page("\n".join(shown), numbers, more)


def _found_at(line: str, folded: str) -> int:
    """Return where a text is in a line; to fold its case may make a line longer."""
    place = line.casefold().find(folded)
    if line.isascii():
        return place
    ends = accumulate(len(character.casefold()) for character in line)
    return next(index for index, end in enumerate(ends) if end > place)


def _around(line: str, folded: str) -> str:
    """Return a long line's part around the match."""
    if len(line) <= _MAX_MATCH_LINE:
        return line
    place = max(0, _found_at(line, folded) - _MAX_MATCH_LINE // 2)
    start = boundary(line, min(place, len(line)))
    end = boundary(line, min(len(line), start + _MAX_MATCH_LINE))
    return f"{'…' if start else ''}{line[start:end]}{'…' if end < len(line) else ''}"
