"""Search the content of files: streamed, with a cap on matches and time."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final

from anyio import to_thread

from pegboard import ReadsMany, Sandbox, SandboxError
from pegboard_files.finding import ALWAYS_SKIPPED, join
from pegboard_files.ignore import IgnoreFiles
from pegboard_files.ripgrep import (
    RipgrepFailed,
    RipgrepQuery,
    command_line,
    files_with_matches,
    find_ripgrep,
)
from pegboard_files.ripgrep_pattern import for_ripgrep
from pegboard_files.text_format import PROBE, WIDE_BELOW, TextFormat, text_format
from pegboard_files.walking import WalkRequest, name_order, walk_below
from pegboard_files.window import Search, Window

PIECE: Final = 4 << 20
MULTILINE_BELOW: Final = 16 << 20
"""Bytes up to which a file is searched for what goes over line ends: it is held as a whole."""
SMALL_BELOW: Final = 256 << 10
"""Bytes below which files are read and searched many at a time."""
_BATCH: Final = 64
_FIRST_BATCH: Final = 4


@dataclass(frozen=True, slots=True)
class Where:
    """Which files are searched.

    Args:
        path: A file or a folder.
        wanted: Each matches the paths to look into, relative to `path`.
        names: Patterns of file names that all of these have; empty = any.
        gitignore: Leave out what `.gitignore` files name.
    """

    path: str
    wanted: tuple[re.Pattern[str], ...] = ()
    names: tuple[str, ...] = ()
    gitignore: bool = True

    def holds(self, below: str) -> bool:
        """Return whether a path relative to `path` is one to look into."""
        return all(expression.match(below) for expression in self.wanted)


async def search_files(
    sandbox: Sandbox, search: Search, where: Where, *, ripgrep: bool = True
) -> str:
    """Search files, and return what chose them: `rg`, `walk`, or `file` for a single one.

    Args:
        sandbox: Where to look.
        search: What is looked for; it takes up what is found.
        where: Which files.
        ripgrep: Let ripgrep choose the files, where it is there and understands the pattern.
    """
    shown = sandbox.display(sandbox.resolve(where.path))
    place = await sandbox.stat(shown)
    if place is None:
        raise FileNotFoundError(where.path)
    if place.kind != "dir":
        name = shown.rpartition("/")[2]
        if place.kind == "file" and where.holds(name):
            await _Reader(sandbox, search).read_all(_single(shown))
        return "file"
    query = _query(sandbox, search, where) if ripgrep else None
    if query is not None:
        try:
            await _Reader(sandbox, search).read_all(_by_ripgrep(sandbox, shown, where, *query))
        except RipgrepFailed:
            search.start_again()
        except TimeoutError:
            search.out_of_time = True
            return "rg"
        else:
            return "rg"
    await _Reader(sandbox, search).read_all(_by_walk(sandbox, shown, where))
    return "walk"


def _query(sandbox: Sandbox, search: Search, where: Where) -> tuple[list[str], Search] | None:
    """Return the command for ripgrep, or None when it can't answer."""
    matcher = search.matcher
    if matcher.multiline:
        return None
    expression = for_ripgrep(
        matcher.pattern, literal=matcher.literal, ignore_case=matcher.ignore_case
    )
    program = find_ripgrep(sandbox) if expression is not None else None
    if expression is None or program is None:
        return None
    query = RipgrepQuery(expression, matcher.ignore_case, where.gitignore, where.names)
    return command_line(program, query), search


async def _single(path: str) -> AsyncGenerator[list[str], None]:
    yield [path]


async def _by_ripgrep(
    sandbox: Sandbox, shown: str, where: Where, argv: list[str], search: Search
) -> AsyncGenerator[list[str], None]:
    folder = sandbox.resolve(shown)
    rules = await _RulesBeyond.of(sandbox, shown, folder) if where.gitignore else None
    skip, enough = 0, search.limit + 1
    while True:
        count, new, batch = 0, [], _FIRST_BATCH
        async with aclosing(
            files_with_matches(argv, folder, remaining=search.matcher.remaining)
        ) as found:
            async for group in found:
                new += group[max(0, skip - count) :]
                count += len(group)
                if count >= enough:
                    break
                if len(new) >= batch:
                    yield await _to_read(new, shown, where, rules)
                    new, batch = [], min(2 * batch, _BATCH)
        # ripgrep has ended here, so that it does not run on while these are read; it is asked once
        # more in the rare case that too few of them hold what is looked for
        yield await _to_read(new, shown, where, rules)
        if count < enough:
            return
        skip = max(skip, count)
        enough = 4 * skip


async def _to_read(
    group: list[str], shown: str, where: Where, rules: _RulesBeyond | None
) -> list[str]:
    paths = [below for below in group if where.holds(below)]
    if rules is not None:
        paths = [below for below in paths if not await rules.cover(below)]
    return [join(shown, below) for below in paths]


class _RulesBeyond:
    """Judges again what ripgrep judged without knowing all ignore files.

    It must not be told of those above the start, and in some versions it forgets those above a
    repository that lies within.
    """

    def __init__(self, files: IgnoreFiles, shown: str, folder: str, *, always: bool) -> None:
        self._files = files
        self._shown = shown
        self._folder = folder
        self._within: dict[str, bool] = {"": always}

    @classmethod
    async def of(cls, sandbox: Sandbox, shown: str, folder: str) -> _RulesBeyond:
        files = IgnoreFiles(sandbox, shown)
        return cls(files, shown, folder, always=bool(await files.above()))

    async def cover(self, below: str) -> bool:
        """Return whether a file that ripgrep kept is ignored."""
        if not self._is_within(below.rpartition("/")[0]):
            return False
        return await self._files.covers(join(self._shown, below))

    def _is_within(self, folder: str) -> bool:
        known = self._within.get(folder)
        if known is None:
            known = self._is_within(folder.rpartition("/")[0])
            known = known or os.path.lexists(f"{self._folder}/{folder}/.git")
            self._within[folder] = known
        return known


async def _by_walk(sandbox: Sandbox, shown: str, where: Where) -> AsyncGenerator[list[str], None]:
    request = WalkRequest(where.holds, where.gitignore, ALWAYS_SKIPPED, name_order)
    async with aclosing(walk_below(sandbox, shown, request)) as steps:
        async for entries in steps:
            yield [join(shown, below) for below, kind in entries if kind == "file"]


class _Reader:
    """Reads files through the sandbox and searches them, small ones many at a time."""

    def __init__(self, sandbox: Sandbox, search: Search) -> None:
        self._sandbox = sandbox
        self._search = search
        self._small: list[tuple[str, bytes]] = []

    async def read_all(self, groups: AsyncGenerator[list[str], None]) -> None:
        """Search one file after another until nothing more is wanted."""
        search = self._search
        async with aclosing(groups):
            async for group in groups:
                for start in range(0, len(group), _BATCH):
                    # a plain text is looked for without a look at the time, so it is looked at here
                    search.out_of_time = search.out_of_time or search.matcher.expired
                    if search.over:
                        return
                    await self._read(group[start : start + _BATCH])
                if search.over:
                    return  # before more is asked for

    async def _read(self, paths: list[str]) -> None:
        """Search some files; one that can't be read is not even told: that would say it matches."""
        for path, data in zip(paths, await self._starts(paths), strict=True):
            how = None if data is None else text_format(data[:PROBE])
            if data is None or how is None:
                continue
            if len(data) < SMALL_BELOW and not how.wide:
                self._small.append((path, data[len(how.mark) :]))
                continue
            await self._flush()
            if self._search.over:
                return
            try:
                await (self._wide(path, how) if how.wide else self._large(path, how))
            except (SandboxError, OSError):
                continue
        await self._flush()

    async def _starts(self, paths: list[str]) -> list[bytes | None]:
        sandbox = self._sandbox
        if isinstance(sandbox, ReadsMany):
            return await sandbox.read_each(paths, limit=SMALL_BELOW)
        return [await self._start(path) for path in paths]

    async def _start(self, path: str) -> bytes | None:
        try:
            return await self._sandbox.read(path, limit=SMALL_BELOW)
        except (SandboxError, OSError):
            return None

    async def _flush(self) -> None:
        if self._small and not self._search.over:
            await to_thread.run_sync(_in_turn, self._search, self._small)
        self._small = []

    async def _wide(self, path: str, how: TextFormat) -> None:
        if await self._is_larger(path, WIDE_BELOW):
            return
        self._small.append((path, how.as_utf8(await self._sandbox.read(path))))
        await self._flush()

    async def _large(self, path: str, how: TextFormat) -> None:
        if self._search.matcher.multiline and await self._is_larger(path, MULTILINE_BELOW):
            return
        window, offset = Window(self._search, path), len(how.mark)
        while not (self._search.over or window.done):
            piece = await self._sandbox.read(path, offset=offset, limit=PIECE)
            if not piece:
                await to_thread.run_sync(window.end)
                return
            await to_thread.run_sync(window.feed, piece)
            offset += len(piece)

    async def _is_larger(self, path: str, most: int) -> bool:
        found = await self._sandbox.stat(path)
        if found is not None and found.size <= most:
            return False
        self._search.too_large += 1
        return True


def _in_turn(search: Search, files: list[tuple[str, bytes]]) -> None:
    for path, data in files:
        if search.over:
            return
        window = Window(search, path)
        window.feed(data)
        if not window.done:
            window.end()
