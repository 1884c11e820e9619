"""What a text that was not found comes nearest to, and where exactly the two differ."""

from __future__ import annotations

import difflib
import re
import unicodedata
from dataclasses import dataclass
from typing import Final

_MAX_LINES: Final = 20_000
_MAX_WINDOW: Final = 60
_CANDIDATES: Final = 5
_MIN_RATIO: Final = 0.5
_MAX_DIFFERENCES: Final = 4
_LINE_CHARS: Final = 400
_FOLD: Final = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\xab\xbb", '"'),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
        **dict.fromkeys("\u200b\u200c\u200d\ufeff\u00ad", None),
    }
)
_SPACE: Final = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Near:
    """The place that is nearest.

    Args:
        line: Number of its first line.
        text: The lines there.
        differences: Sentences that name what differs, character by character.
    """

    line: int
    text: str
    differences: tuple[str, ...]


def nearest(text: str, wanted: str, *, called: str = "old_string") -> Near | None:
    """Return the lines of `text` that come nearest to `wanted`, or None when nothing does.

    Args:
        text: The text that was searched, with plain line ends.
        wanted: What was not found in it, with plain line ends.
        called: What it is called in the sentences.
    """
    lines = text.split("\n")[:_MAX_LINES]
    sought = wanted.strip("\n").split("\n")[:_MAX_WINDOW]
    folded = [_fold(line) for line in lines]
    anchor = max(range(len(sought)), key=lambda index: len(_fold(sought[index])))
    key = _fold(sought[anchor])
    if not key:
        return None
    places = _candidates(folded, key)
    best: tuple[float, int] | None = None
    for place in places:
        first = max(0, place - anchor)
        there = "\n".join(folded[first : first + len(sought)])
        ratio = difflib.SequenceMatcher(
            None, there, "\n".join(map(_fold, sought)), autojunk=False
        ).ratio()
        if best is None or ratio > best[0]:
            best = (ratio, first)
    if best is None or best[0] < _MIN_RATIO:
        return None
    first = best[1]
    there_lines = lines[first : first + len(sought)]
    return Near(
        first + 1, "\n".join(there_lines), _differences(first + 1, there_lines, sought, called)
    )


def _fold(line: str) -> str:
    clipped = line[:_LINE_CHARS]
    plain = unicodedata.normalize("NFKC", clipped) if not clipped.isascii() else clipped
    return _SPACE.sub(" ", plain.translate(_FOLD)).strip()


def _candidates(folded: list[str], key: str) -> list[int]:
    exact = [index for index, line in enumerate(folded) if key in line or (line and line in key)]
    equal = [index for index in exact if folded[index] == key]
    if equal:
        return equal[:_CANDIDATES]
    matcher = difflib.SequenceMatcher(None, "", key, autojunk=False)
    scored: list[tuple[float, int]] = []
    for index, line in enumerate(folded):
        if not line:
            continue
        matcher.set_seq1(line)
        if matcher.real_quick_ratio() >= _MIN_RATIO and matcher.quick_ratio() >= _MIN_RATIO:
            scored.append((matcher.quick_ratio(), index))
    scored.sort(key=lambda item: (-item[0], item[1]))
    return [index for _, index in scored[:_CANDIDATES]] or exact[:_CANDIDATES]


def _differences(first: int, there: list[str], sought: list[str], called: str) -> tuple[str, ...]:
    found: list[str] = []
    for number, (line, wanted) in enumerate(zip(there, sought, strict=False), first):
        if line != wanted:
            found.append(_difference(number, line, wanted, called))
        if len(found) >= _MAX_DIFFERENCES:
            break
    return tuple(found)


def _difference(number: int, line: str, wanted: str, called: str) -> str:
    column = next(
        (index for index, (a, b) in enumerate(zip(line, wanted, strict=False)) if a != b),
        min(len(line), len(wanted)),
    )
    return (
        f"line {number}, column {column + 1}: the file has {_name(line, column)}, "
        f"{called} has {_name(wanted, column)}"
    )


def _name(text: str, column: int) -> str:
    if column >= len(text):
        return "the end of the line"
    character = text[column]
    code = f"U+{ord(character):04X}"
    name = unicodedata.name(character, "")
    visible = f" {character!r}" if character.isprintable() and not character.isspace() else ""
    return f"{code}{visible}{f' {name}' if name else ''}"
