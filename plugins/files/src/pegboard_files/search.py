"""Search the content of files: streamed, with a cap on hits and time."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from anyio import to_thread

from pegboard import FileStat, Sandbox, SandboxError
from pegboard_files.finding import ALWAYS_SKIPPED
from pegboard_files.ignore import IgnoreFiles
from pegboard_files.matcher import Hit, Matcher, OutOfTime
from pegboard_files.text_format import PROBE, WIDE_BELOW, TextFormat, text_format

PIECE: Final = 4 << 20
_LONGEST_LINE: Final = 8 << 20
_BATCH_BYTES: Final = 1 << 20
_BATCH_FILES: Final = 64


@dataclass(frozen=True, slots=True)
class FoundLine:
    """A line that matches.

    Args:
        path: The file.
        line: Number of the line, from 1.
        text: The line, clipped around its first match.
        before, after: Lines around it, clipped.
    """

    path: str
    line: int
    text: str
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


@dataclass(slots=True)
class Search:
    """One search, and what it has come to.

    Args:
        matcher: What is looked for.
        limit: Hits at most.
        context: Lines around each hit.
        line_chars: Characters of a line that are kept.
    """

    matcher: Matcher
    limit: int
    context: int
    line_chars: int
    hits: list[FoundLine] = field(default_factory=list)
    files: int = 0
    ignored: int = 0
    binary: int = 0
    refused: int = 0
    more: bool = False
    out_of_time: bool = False

    @property
    def over(self) -> bool:
        """Whether nothing more is wanted."""
        return self.more or self.out_of_time

    def add(self, found: FoundLine) -> None:
        """Keep a hit, or note that there are more than wanted."""
        if len(self.hits) >= self.limit:
            self.more = True
        else:
            self.hits.append(found)


async def search_files(
    sandbox: Sandbox,
    path: str,
    search: Search,
    *,
    wanted: re.Pattern[str] | None,
    ignore: bool,
) -> None:
    """Search every file below `path`, or the one file that it is.

    Args:
        sandbox: Where to look.
        path: A file or a folder.
        search: What is looked for; it takes up the hits.
        wanted: Matches the paths to look into, relative to `path`; None = all.
        ignore: Leave out what `.gitignore` files name.
    """
    batch: list[tuple[str, bytes]] = []
    shown = sandbox.display(sandbox.resolve(path))
    cut = 0 if shown == "." else len(shown.rstrip("/")) + 1
    rules = IgnoreFiles(sandbox, path) if ignore else None
    async for item in sandbox.walk(path, skip=ALWAYS_SKIPPED):
        # a plain text is looked for without a look at the time, so it is looked at here
        search.out_of_time = search.out_of_time or search.matcher.expired
        if search.over:
            return
        single = item.path == shown
        below = item.path if single else item.path[cut:]
        if item.kind != "file" or (wanted is not None and not wanted.match(below)):
            continue
        if rules is not None and not single and await rules.covers(item.path):
            search.ignored += 1
            continue
        await _one(sandbox, item, search, batch)
    await _flush(search, batch)


async def _one(
    sandbox: Sandbox, item: FileStat, search: Search, batch: list[tuple[str, bytes]]
) -> None:
    try:
        start = await sandbox.read(item.path, limit=PIECE)
    except (SandboxError, OSError):
        search.refused += 1
        return
    how = text_format(start[:PROBE])
    if how is None:
        search.binary += 1
        return
    search.files += 1
    if len(start) < PIECE and not how.wide:
        batch.append((item.path, start[len(how.mark) :]))
        if len(batch) >= _BATCH_FILES or sum(len(data) for _, data in batch) >= _BATCH_BYTES:
            await _flush(search, batch)
        return
    await _flush(search, batch)
    if how.wide:
        await _wide(sandbox, item, search, how)
    else:
        await _large(sandbox, item.path, search, start[len(how.mark) :], len(start))


async def _flush(search: Search, batch: list[tuple[str, bytes]]) -> None:
    if batch and not search.over:
        await to_thread.run_sync(_in_turn, search, batch)
    batch.clear()


async def _wide(sandbox: Sandbox, item: FileStat, search: Search, how: TextFormat) -> None:
    if item.size > WIDE_BELOW:
        search.refused += 1
        return
    await _flush(search, [(item.path, how.as_utf8(await sandbox.read(item.path)))])


async def _large(sandbox: Sandbox, path: str, search: Search, start: bytes, offset: int) -> None:
    window = _Window(search, path)
    piece = start
    while piece and not search.over:
        await to_thread.run_sync(window.feed, piece)
        piece = await sandbox.read(path, offset=offset, limit=PIECE)
        offset += len(piece)
    if not search.over:
        await to_thread.run_sync(window.end)


def _in_turn(search: Search, files: list[tuple[str, bytes]]) -> None:
    for path, data in files:
        if search.over:
            return
        window = _Window(search, path)
        window.feed(data)
        window.end()


class _Window:
    """The part of a file that is looked at, with the lines of context around it."""

    def __init__(self, search: Search, path: str) -> None:
        self.search = search
        self.path = path
        self.text = ""
        self.number = 1  # of the line that begins at `at`
        self.at = 0
        self.rest = b""
        self.last_hit = 0

    def feed(self, piece: bytes) -> None:
        """Look at all lines of the next piece whose context is there."""
        data = self.rest + piece
        whole = data.rfind(b"\n") + 1
        if not whole and len(data) >= _LONGEST_LINE:
            # a line without an end is looked at in parts
            whole = len(data)
        self.rest = data[whole:]
        self._append(data[:whole])
        self._look(_lines_before(self.text, len(self.text), self.search.context))
        self._forget()

    def end(self) -> None:
        """Look at what is left."""
        self._append(self.rest)
        self.rest = b""
        self._look(len(self.text))

    def _append(self, data: bytes) -> None:
        try:
            text = data.decode()
        except UnicodeDecodeError:
            text = data.decode("utf-8", "replace")
        self.text += text.replace("\r\n", "\n") if "\r\n" in text else text

    def _look(self, stop: int) -> None:
        search = self.search
        if stop <= self.at:
            return
        counted = self.at
        try:
            for hit in search.matcher.hits(self.text, self.at, stop):
                self.number += self.text.count("\n", counted, hit.start)
                counted = hit.start
                if self.number != self.last_hit:
                    search.add(self._found(hit))
                self.last_hit = self.number
                if search.more:
                    return
        except OutOfTime:
            search.out_of_time = True
            return
        self.number += self.text.count("\n", counted, stop)
        self.at = stop

    def _found(self, hit: Hit) -> FoundLine:
        before: tuple[str, ...] = ()
        after: tuple[str, ...] = ()
        lines = self.search.context
        if lines:
            first = _lines_before(self.text, hit.start, lines)
            last = _lines_after(self.text, hit.stop, lines)
            before = self._clipped(self.text[first : hit.start])
            after = self._clipped(self.text[hit.stop + 1 : last])
        line = clip_around(
            self.text[hit.start : hit.stop], hit.match - hit.start, self.search.line_chars
        )
        return FoundLine(self.path, self.number, line, before, after)

    def _clipped(self, text: str) -> tuple[str, ...]:
        lines = text.removesuffix("\n").split("\n") if text else []
        return tuple(clip_around(line, 0, self.search.line_chars) for line in lines)

    def _forget(self) -> None:
        keep = _lines_before(self.text, self.at, self.search.context)
        self.text = self.text[keep:]
        self.at -= keep


def clip_around(line: str, match: int, chars: int) -> str:
    """Return at most `chars` characters of a line, with the match among them."""
    if len(line) <= chars:
        return line
    start = 0 if match < chars // 2 else min(match - chars // 4, len(line) - chars)
    stop = start + chars
    head = f"[{start}+]…" if start else ""
    tail = f"…[+{len(line) - stop}]" if stop < len(line) else ""
    return f"{head}{line[start:stop]}{tail}"


def _lines_before(text: str, place: int, count: int) -> int:
    """Return where the `count` lines before a line begin; `place` is the start of that line."""
    for _ in range(count):
        if place <= 0:
            return 0
        place = text.rfind("\n", 0, place - 1) + 1
    return place


def _lines_after(text: str, place: int, count: int) -> int:
    """Return where the `count` lines after a line end; `place` is the end of that line."""
    for _ in range(count):
        if place >= len(text):
            return len(text)
        end = text.find("\n", place + 1)
        place = len(text) if end < 0 else end
    return place
