"""A page of a text file's lines, read in pieces however large the file is."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Final

from anyio import to_thread

from pegboard import Sandbox, ToolFailure
from pegboard_files.line_index import LINE_INDEXES, LineIndex, Mark
from pegboard_files.names import shown, size_text
from pegboard_files.text_format import PROBE, WIDE_BELOW, TextFormat, binary_kind, text_format

PIECE: Final = 4 << 20
FIRST_PIECE: Final = 1 << 16
COUNT_BELOW: Final = 64 << 20
"""Bytes up to which all lines of a file are counted."""
_LONGEST: Final = 4  # bytes of a character in UTF-8
_NEAR: Final = 1 << 12
_CLOSER: Final = 8


@dataclass(slots=True)
class Line:
    """One line without its end.

    Args:
        raw: Its first bytes.
        size: All its bytes.
    """

    raw: bytes
    size: int


@dataclass(slots=True)
class LinePage:
    """Lines of a file.

    Args:
        format: How the file is text.
        size: Bytes of the file.
        first: Number of the first line, from 1.
        lines: The lines.
        following: Number of the next line, or None at the end of the file.
        total: How many lines the file has, or None when they were not counted.
        crlf: Whether the lines that were read end in CR LF.
    """

    format: TextFormat
    size: int
    first: int
    lines: list[Line] = field(default_factory=list)
    following: int | None = None
    total: int | None = None
    crlf: bool = False


async def read_page(
    sandbox: Sandbox, path: str, *, first: int, count: int, line_chars: int, max_chars: int
) -> LinePage:
    """Read `count` lines from line `first` on, fewer when they come to more than `max_chars`.

    Args:
        sandbox: Where the file is.
        path: Its path.
        first: Number of a line, from 1.
        count: Lines at most.
        line_chars: Characters of one line that will be shown.
        max_chars: Characters of all lines together; one line is always read.

    Raises:
        ToolFailure: When the file is binary, or a wide encoding in a file that is too large.
    """
    start = await sandbox.read(path, limit=FIRST_PIECE)
    size, index = len(start), None
    if size == FIRST_PIECE:
        size, index = await _measured(sandbox, path)
    how = text_format(start[:PROBE])
    if how is None:
        raise ToolFailure(
            f"{shown(path)} is a binary file ({binary_kind(start)}, {size_text(size)}).",
            fix="Only text can be read as lines.",
            code="binary",
        )
    page = LinePage(format=how, size=size, first=first)
    taker = _Taker(page, count, line_chars * _LONGEST, max_chars)
    known = index.before(first) if index is not None and not how.wide else None
    if known is not None:
        taker.number = known.line
    async for piece, after in _pieces(sandbox, path, how, start, size, known):
        large = len(piece) > PIECE  # one of which is counted in less time than a thread takes
        if await to_thread.run_sync(taker.feed, piece) if large else taker.feed(piece):
            return page
        if index is not None and not how.wide:
            index.add(Mark(taker.number, after))
    taker.end()
    return page


def page_of(text: str, *, first: int, count: int, line_chars: int, max_chars: int) -> LinePage:
    """Return lines of a text that is there as a whole; the arguments are those of `read_page`."""
    data = text.encode("utf-8", "replace")
    page = LinePage(format=TextFormat("utf-8"), size=len(data), first=first)
    taker = _Taker(page, count, line_chars * _LONGEST, max_chars)
    if not taker.feed(data):
        taker.end()
    return page


async def _measured(sandbox: Sandbox, path: str) -> tuple[int, LineIndex | None]:
    """Return the size of a file and where its lines are, also behind a link."""
    absolute = sandbox.resolve(path)
    found = await sandbox.stat(absolute)
    if found is None:
        return 0, None
    return found.size, LINE_INDEXES.index_of(sandbox, absolute, found)


async def _pieces(
    sandbox: Sandbox, path: str, how: TextFormat, start: bytes, size: int, known: Mark | None
) -> AsyncIterator[tuple[bytes, int]]:
    """Yield the file as UTF-8 without its mark, each piece with where the next one begins."""
    if how.wide:
        yield await _wide(sandbox, path, how, size), size
        return
    if known is None:
        yield start[len(how.mark) :], len(start)
    offset = len(start) if known is None else known.offset
    # a short first piece was the whole file
    while offset >= FIRST_PIECE:
        piece = await sandbox.read(path, offset=offset, limit=PIECE)
        if not piece:
            return
        offset += len(piece)
        yield piece, offset


async def _wide(sandbox: Sandbox, path: str, how: TextFormat, size: int) -> bytes:
    if size > WIDE_BELOW:
        raise ToolFailure(
            f"{shown(path)} is {how.encoding} text of {size_text(size)}.",
            fix=f"Convert it to UTF-8; up to {size_text(WIDE_BELOW)} are read as they are.",
            code="too_large",
        )
    return how.as_utf8(await sandbox.read(path))


class _Taker:
    """Takes the wanted lines out of pieces; holds no more of a line than will be shown."""

    def __init__(self, page: LinePage, count: int, line_bytes: int, max_chars: int) -> None:
        self.page = page
        self.count = count
        self.line_bytes = line_bytes
        self.room = max_chars
        self.number = 1  # of the line that the next byte belongs to
        self.partial = b""
        self.partial_size = 0
        self.full = False
        self.last = b""

    def feed(self, piece: bytes) -> bool:
        """Take what is wanted of the next piece; True when nothing more is wanted."""
        if piece:
            self.last = piece[-1:]
        at = 0 if self.full else self._take(piece, self._skip(piece))
        if not self.full:
            return False
        if self.page.size >= COUNT_BELOW:
            return True
        self.number += piece.count(b"\n", at)
        return False

    def end(self) -> None:
        """Note what only the end of the file tells."""
        page = self.page
        if self.partial_size and not self.full:
            self._add(b"")
        page.total = self.number - 1 + (1 if self.last not in (b"", b"\n") else 0)
        if page.following is not None and page.following > page.total:
            page.following = None

    def _skip(self, piece: bytes) -> int:
        missing = self.page.first - self.number
        if missing <= 0:
            return 0
        there = piece.count(b"\n")
        if there < missing:
            self.number += there
            return len(piece)
        self.number = self.page.first
        return _behind(piece, missing)

    def _take(self, piece: bytes, at: int) -> int:
        while at < len(piece) and not self.full:
            end = piece.find(b"\n", at)
            stop = len(piece) if end < 0 else end
            room = self.line_bytes - len(self.partial)
            self.partial += piece[at : min(stop, at + max(0, room))]
            self.partial_size += stop - at
            if end < 0:
                return stop
            if not self._add(b"\n"):
                return at
            at = end + 1
        return at

    def _add(self, end: bytes) -> bool:
        """Add the line that is complete; False when it does not fit any more."""
        raw, size = self.partial, self.partial_size
        page = self.page
        if raw.endswith(b"\r") and size == len(raw) and end:
            raw, size, page.crlf = raw[:-1], size - 1, True
        self.room -= min(len(raw), self.line_bytes // _LONGEST) + 1  # an empty line is one too
        self.partial, self.partial_size = b"", 0
        if page.lines and self.room < 0:
            self.full, page.following = True, self.number
            return False
        page.lines.append(Line(raw, size))
        self.number += len(end)
        if len(page.lines) >= self.count:
            self.full, page.following = True, page.first + len(page.lines)
        return True


def _behind(piece: bytes, ends: int) -> int:
    """Return the place behind the given number of line ends, which the piece has.

    Counting is many times faster than looking for one end after the other, so the place is closed
    in by counting in ever smaller steps.
    """
    at, step = 0, len(piece)
    while step > _NEAR:
        step //= _CLOSER
        while (there := piece.count(b"\n", at, at + step)) < ends:
            ends -= there
            at += step
    for _ in range(ends):
        at = piece.index(b"\n", at) + 1
    return at
