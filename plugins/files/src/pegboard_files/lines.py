"""Lines as a model reads them: decoded, clipped, numbered, with notes of what is not shown."""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from typing import Final

from pegboard_files.line_page import Line, LinePage
from pegboard_files.names import plural, size_text

MAX_CHARS: Final = 50_000
"""Characters shown at once; what is left out is told with the line to go on from."""
_NUMBER_WIDTH: Final = 6


@dataclass(frozen=True, slots=True)
class ShownLine:
    """One line to show.

    Args:
        text: What is shown of it.
        stray: True when its bytes are no UTF-8 and are shown as Latin-1.
    """

    text: str
    stray: bool = False


def show_line(line: Line, *, chars: int) -> ShownLine:
    """Decode a line, and clip it to `chars` characters with a note of what is left out."""
    cut = len(line.raw) < line.size
    text, stray = _decode(line.raw, cut=cut)
    if cut:
        left = line.size - len(text[:chars].encode("latin-1" if stray else "utf-8"))
        return ShownLine(f"{text[:chars]}… [+{left} bytes]", stray)
    if len(text) > chars:
        return ShownLine(f"{text[:chars]}… [+{len(text) - chars} characters]", stray)
    return ShownLine(text, stray)


def numbered(number: int, text: str) -> str:
    """Return a line with its number in front, as `cat -n` prints it."""
    return f"{number:>{_NUMBER_WIDTH}}\t{text}"


def page_notes(page: LinePage, lines: list[ShownLine]) -> list[str]:
    """Return what a reader of a page must know beside its lines."""
    notes: list[str] = []
    if not lines:
        notes.append("the file is empty")
    if page.following is not None:
        last = page.first + len(lines) - 1
        whole = f" of {page.total}" if page.total is not None else f"; {size_text(page.size)}"
        notes.append(f"lines {page.first}-{last}{whole}; go on with offset={page.following}")
    stray = sum(line.stray for line in lines)
    if stray:
        notes.append(f"{plural(stray, 'line')} not UTF-8, shown as Latin-1; the bytes are kept")
    if page.format.wide:
        notes.append(f"encoding {page.format.encoding}")
    if page.crlf:
        notes.append("lines end in CR LF")
    return notes


def _decode(raw: bytes, *, cut: bool) -> tuple[str, bool]:
    try:
        # a cut may have gone through the last character; it is left out then
        return codecs.getincrementaldecoder("utf-8")().decode(raw, final=not cut), False
    except UnicodeDecodeError:
        return raw.decode("latin-1"), True
