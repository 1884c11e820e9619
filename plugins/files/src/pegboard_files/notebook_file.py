"""Change one cell in the text of a notebook's file and leave every other character as it is."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

_DECODER: Final = json.JSONDecoder()
_SPACE: Final = re.compile(r"[ \t\r\n]*")
_LINE_START: Final = re.compile(r"\r?\n([ \t]*)\Z")
_FIRST_KEY: Final = re.compile(r"\{\r?\n([ \t]+)\"")
_ESCAPED: Final = re.compile(r"\\u(?!00[01])[0-9a-fA-F]{4}")

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class CellSpans:
    """Where the cells are in the text of a file.

    Args:
        array: The list of cells, with its brackets.
        cells: Each cell.
    """

    array: Span
    cells: tuple[Span, ...]


def find_cells(text: str) -> CellSpans:
    """Return where the cells are.

    Raises:
        ValueError: When the text is no JSON object with a list of cells.
    """
    found: CellSpans | None = None
    at = _expect(text, _skip(text, 0), "{")
    while text[at] != "}":
        key, at = _DECODER.raw_decode(text, at)
        at = _skip(text, _expect(text, _skip(text, at), ":"))
        if key == "cells":
            found = _elements(text, at)
            at = found.array[1]
        else:
            _, at = _DECODER.raw_decode(text, at)
        at = _next(text, at, "}")
    if found is None:
        raise ValueError("it has no list of cells")
    return found


def with_cell_replaced(text: str, place: int, cell: Mapping[str, Any]) -> str:
    """Return the text with the cell at `place` (from 0) written anew."""
    spans = find_cells(text)
    start, stop = spans.cells[place]
    return text[:start] + _Style.of(text, spans).cell(cell) + text[stop:]


def with_cell_inserted(text: str, place: int, cell: Mapping[str, Any]) -> str:
    """Return the text with a cell put in so that it is the one at `place` (from 0)."""
    spans = find_cells(text)
    style = _Style.of(text, spans)
    written = style.cell(cell)
    if not spans.cells:
        start, stop = spans.array
        return f"{text[:start]}[{style.between}{written}{style.closing}]{text[stop:]}"
    separator = f",{style.between or style.space}"
    if place:
        stop = spans.cells[place - 1][1]
        return f"{text[:stop]}{separator}{written}{text[stop:]}"
    start = spans.cells[0][0]
    return f"{text[:start]}{written}{separator}{text[start:]}"


def without_cell(text: str, place: int) -> str:
    """Return the text without the cell at `place` (from 0)."""
    spans = find_cells(text)
    if len(spans.cells) == 1:
        start, stop = spans.array
        return f"{text[:start]}[]{text[stop:]}"
    if place + 1 < len(spans.cells):
        return text[: spans.cells[place][0]] + text[spans.cells[place + 1][0] :]
    return text[: spans.cells[place - 1][1]] + text[spans.cells[place][1] :]


@dataclass(frozen=True, slots=True)
class _Style:
    """How a file is written.

    Args:
        unit: White space of one level; "" = all is on one line.
        base: White space in front of a cell.
        line_end: What ends lines.
        space: White space behind commas and colons on one line.
        ascii: Whether other characters are written as escapes.
    """

    unit: str
    base: str
    line_end: str
    space: str
    ascii: bool

    @classmethod
    def of(cls, text: str, spans: CellSpans) -> _Style:
        top = _FIRST_KEY.match(text)
        unit = top[1] if top else ""
        first = spans.cells[0][0] if spans.cells else None
        before = _LINE_START.search(text, 0, first) if first is not None else None
        base = before[1] if before else unit * 2
        return cls(
            unit=unit,
            base=base,
            line_end="\r\n" if "\r\n" in text else "\n",
            space=" " if ": " in text[: spans.array[0]] or not spans.array[0] else "",
            ascii=text.isascii() and _ESCAPED.search(text) is not None,
        )

    @property
    def between(self) -> str:
        """What stands between one cell and the next, behind the comma."""
        return f"{self.line_end}{self.base}" if self.unit else ""

    @property
    def closing(self) -> str:
        """What stands in front of the bracket that closes the list."""
        return f"{self.line_end}{self.unit}" if self.unit else ""

    def cell(self, cell: Mapping[str, Any]) -> str:
        """Return a cell as it is written in this file."""
        if not self.unit:
            separators = (f",{self.space}", f":{self.space}")
            return json.dumps(cell, ensure_ascii=self.ascii, separators=separators)
        written = json.dumps(cell, ensure_ascii=self.ascii, indent=self.unit)
        return written.replace("\n", f"{self.line_end}{self.base}")


def _elements(text: str, start: int) -> CellSpans:
    cells: list[Span] = []
    at = _skip(text, _expect(text, start, "["))
    while text[at] != "]":
        _, stop = _DECODER.raw_decode(text, at)
        cells.append((at, stop))
        at = _next(text, stop, "]")
    return CellSpans((start, at + 1), tuple(cells))


def _next(text: str, at: int, closing: str) -> int:
    """Return where the next item begins, or where what holds them is closed."""
    at = _skip(text, at)
    return at if text[at : at + 1] == closing else _skip(text, _expect(text, at, ","))


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return at if found is None else found.end()


def _expect(text: str, at: int, character: str) -> int:
    if text[at : at + 1] != character:
        raise ValueError(f"{character!r} is missing at {at}")
    return _skip(text, at + 1)
