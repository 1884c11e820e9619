"""What a command prints: aligned text for people, one JSON object for programs.

Colour is used in a terminal only. Text that comes from a plugin or a file is shown with its control
characters made visible, so that no manifest can steer the terminal.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, TextIO

import click

JSON_VERSION: Final = 1
"""Version of the envelope of every `--json` output; a key may be added to it, none is removed."""

Style = Mapping[str, Any]
Painter = Callable[[str], Style]

PLAIN: Final[Style] = {}
HEAD: Final[Style] = {"bold": True}
FAINT: Final[Style] = {"dim": True}
GOOD: Final[Style] = {"fg": "green"}
WARN: Final[Style] = {"fg": "yellow"}
BAD: Final[Style] = {"fg": "red"}

_GAP: Final = "  "
CLEAR: Final = "\r\x1b[K"
"""Takes back the line that a terminal's cursor is on."""
_NARROW: Final = 24
"""Columns below which a text is better left to the terminal to break."""
_VISIBLE: Final = {
    code: f"\\x{code:02x}" for code in (*range(0x09), *range(0x0B, 0x20), *range(0x7F, 0xA0))
} | {
    code: f"\\u{code:04x}"
    for code in (0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
}


def printable(text: str) -> str:
    """Return `text` with control and direction characters made visible; tabs and newlines stay."""
    return text if text.isascii() and text.isprintable() else text.translate(_VISIBLE)


def width(text: str) -> int:
    """Return how many columns of a terminal `text` takes."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(
        0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text
    )


class Output:
    """Where a command's text goes.

    Args:
        color: True or False to insist; None = only in a terminal that wants it.

    Attributes:
        json_wanted: True when the command was asked for `--json`.
    """

    def __init__(self, *, color: bool | None = None) -> None:
        self.color = color
        self.json_wanted = False

    def line(self, text: str = "", style: Style = PLAIN) -> None:
        """Print one line (or several) for people."""
        self._write(sys.stdout, printable(text), style)

    def data(self, text: str) -> None:
        """Print a value: as it is for a program, with its control characters visible for people."""
        sys.stdout.write(f"{printable(text) if sys.stdout.isatty() else text}\n")

    def note(self, text: str, style: Style = PLAIN) -> None:
        """Print one line on standard error: what is not the answer itself."""
        self._write(sys.stderr, printable(text), style)

    def json(self, data: Mapping[str, Any], *, sort_keys: bool = False) -> None:
        """Print the one JSON object that answers the command, in the versioned envelope.

        Args:
            data: What the command answers.
            sort_keys: True for what people keep and compare, so that nothing moves in it.
        """
        import json

        encoding = (getattr(sys.stdout, "encoding", None) or "ascii").lower().replace("-", "")
        envelope = {"version": JSON_VERSION, **data}
        click.echo(
            json.dumps(envelope, indent=2, ensure_ascii=encoding != "utf8", sort_keys=sort_keys)
        )

    def table(
        self,
        headers: Sequence[str],
        rows: Iterable[Sequence[str]],
        *,
        paint: Mapping[int, Painter] | None = None,
        right: frozenset[int] = frozenset(),
    ) -> None:
        """Print aligned columns; in a terminal a last column that is too long is folded.

        Args:
            headers: One heading a column.
            rows: Cells; a newline in a cell becomes a space.
            paint: By column: the style of a cell's text.
            right: Columns of numbers, aligned to the right.
        """
        cells = [[printable(" ".join(cell.split())) for cell in row] for row in rows]
        widths = [max(map(width, column)) for column in zip(headers, *cells, strict=True)]
        if sys.stdout.isatty():
            cells = list(_folded(cells, sum(widths[:-1]) + len(_GAP) * (len(widths) - 1)))
        color = self._on(sys.stdout)
        lines = [_row(headers, widths, right, (HEAD,) * len(widths) if color else ())]
        for row in cells:
            styles = [
                paint[index](cell) if paint and index in paint else PLAIN
                for index, cell in enumerate(row)
            ]
            lines.append(_row(row, widths, right, styles if color else ()))
        self._write(sys.stdout, "\n".join(lines))

    def fields(self, pairs: Iterable[tuple[str, str]], *, indent: str = "") -> None:
        """Print `name  value` lines with the values aligned; pairs without a value are left out."""
        shown = [(name, value) for name, value in pairs if value]
        column = max((width(name) for name, _ in shown), default=0) + len(_GAP)
        for name, value in shown:
            label = self._styled(name.ljust(column), FAINT, sys.stdout)
            first, *more = printable(value).split("\n")
            self._write(sys.stdout, f"{indent}{label}{first}".rstrip())
            for line in more:
                self._write(sys.stdout, f"{indent}{' ' * column}{line}".rstrip())

    def heading(self, text: str) -> None:
        """Print a heading, after an empty line."""
        self.line()
        self.line(text, HEAD)

    @contextmanager
    def step(self, label: str) -> Iterator[None]:
        """Show in a terminal what is being done for the time of the block."""
        moving = sys.stderr.isatty()
        if moving:
            click.echo(f"{printable(label)} ...", nl=False, err=True)
        try:
            yield
        finally:
            if moving:
                click.echo(CLEAR, nl=False, err=True, color=True)

    def interactive(self) -> bool:
        """Return whether a person can be asked: input and error output are a terminal."""
        return sys.stdin.isatty() and sys.stderr.isatty()

    def _styled(self, text: str, style: Style, stream: TextIO) -> str:
        return click.style(text, **style) if style and self._on(stream) else text

    def _write(self, stream: TextIO, text: str, style: Style = PLAIN) -> None:
        click.echo(self._styled(text, style, stream), file=stream, color=self._on(stream))

    def _on(self, stream: TextIO) -> bool:
        if self.color is not None:
            return self.color
        if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
            return False
        return stream.isatty()


def _folded(rows: Iterable[Sequence[str]], indent: int) -> Iterator[list[str]]:
    """Yield rows whose last cell fits behind `indent` columns; its rest goes below it."""
    import shutil
    import textwrap

    room = shutil.get_terminal_size().columns - indent
    for *first, last in rows:
        pieces = [last] if room < _NARROW or width(last) <= room else textwrap.wrap(last, room)
        for place, piece in enumerate(pieces):
            yield [*(first if place == 0 else [""] * len(first)), piece]


def _row(
    cells: Sequence[str], widths: Sequence[int], right: frozenset[int], styles: Sequence[Style]
) -> str:
    """Return one line of a table; without styles it is plain text."""
    parts = []
    for index, cell in enumerate(cells):
        space = " " * (widths[index] - width(cell))
        style = styles[index] if styles and cell else PLAIN
        text = click.style(cell, **style) if style else cell
        parts.append(space + text if index in right else text + space)
    return _GAP.join(parts).rstrip()
