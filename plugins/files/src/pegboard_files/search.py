"""Search the content of files: streamed, with a cap on matches and time."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final

from anyio import to_thread

from pegboard import ReadsMany, Sandbox, SandboxError
from pegboard_files.found_files import ALWAYS_SKIPPED, join
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
from pegboard_files.tree_walk import WalkRequest, name_order, walk_below
from pegboard_files.unreadable import UnreadableFolders
from pegboard_files.window import Search, Window

PIECE: Final = 4 << 20
MULTILINE_BELOW: Final = 16 << 20
"""Bytes up to which a file is searched for what goes over line ends: it is held as a whole."""
SMALL_BELOW: Final = 256 << 10
"""Bytes below which files are read and searched many at a time."""
_BATCH: Final = 128
_ONLY_BY_NAME: Final = frozenset({"utf-32-le", "utf-32-be"})
"""Encodings that ripgrep does not know, so that no search of a folder looks into such files."""


@dataclass(frozen=True, slots=True)
class Where:
    """Which files are searched.

    Args:
        path: A file or a folder.
        wanted: Each matches the paths to look into, relative to `path`.
        left_out: Match the paths that are not looked into all the same.
        names: Patterns of file names that all of these have; empty = any.
        gitignore: Leave out what `.gitignore` files name.
    """

    path: str
    wanted: tuple[re.Pattern[str], ...] = ()
    left_out: tuple[re.Pattern[str], ...] = ()
    names: tuple[str, ...] = ()
    gitignore: bool = True

    @property
    def chooses(self) -> bool:
        """Whether some files are not looked into for their paths."""
        return bool(self.wanted or self.left_out)

    def holds(self, below: str) -> bool:
        """Return whether a path relative to `path` is one to look into."""
        chosen = all(expression.match(below) for expression in self.wanted)
        return chosen and not self.leaves_out(below)

    def leaves_out(self, below: str) -> bool:
        """Return whether a path relative to `path` is left out, with all that is below."""
        return any(expression.match(below) for expression in self.left_out)


async def search_files(
    sandbox: Sandbox, search: Search, where: Where, *, ripgrep: bool = True
) -> str:
    """Search files, and return what chose them: `rg`, `walk`, or `file` for a single one.

    Args:
        sandbox: Where to look.
        search: What is looked for; it takes up what is found.
        where: Which files.
        ripgrep: Let ripgrep choose the files, where it is there and understands the pattern.

    Raises:
        OSError, SandboxError: When the place itself can't be read; what is below it is passed over.
    """
    shown = sandbox.display(sandbox.resolve(where.path))
    place = await sandbox.stat(shown)
    if place is None:
        raise FileNotFoundError(where.path)
    if place.kind != "dir":
        # whatever the patterns say: they choose among files, and this one is chosen
        await _Reader(sandbox, search, named=True).read_all(_single(shown))
        return "file"
    unreadable = UnreadableFolders(sandbox)
    by = await _search_below(sandbox, shown, search, where, unreadable, ripgrep=ripgrep)
    search.unreadable = unreadable.paths() if not search.over else ()
    if not (search.found or search.over):
        await sandbox.list_dir(shown)  # a folder that can't be read is not one without a match
    return by


async def _search_below(
    sandbox: Sandbox,
    shown: str,
    search: Search,
    where: Where,
    unreadable: UnreadableFolders,
    *,
    ripgrep: bool,
) -> str:
    query = _query(sandbox, search, where) if ripgrep else None
    if query is not None:
        passed_over: list[bool] = []
        found = _by_ripgrep(sandbox, shown, where, *query, lambda: passed_over.append(True))
        try:
            await _Reader(sandbox, search).read_all(found)
            if passed_over and not search.over:
                # which ones it was ripgrep says in words; walking by names alone is quick
                await _look_for_unreadable(sandbox, shown, search, where, unreadable)
        except RipgrepFailed:
            search.start_again()
        except TimeoutError:
            search.out_of_time = True
            return "rg"
        else:
            return "rg"
    await _Reader(sandbox, search).read_all(_by_walk(sandbox, shown, where, unreadable))
    return "walk"


async def _look_for_unreadable(
    sandbox: Sandbox, shown: str, search: Search, where: Where, unreadable: UnreadableFolders
) -> None:
    async with aclosing(_by_walk(sandbox, shown, where, unreadable)) as groups:
        async for _ in groups:
            if search.matcher.expired:
                return


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
    sandbox: Sandbox,
    shown: str,
    where: Where,
    argv: list[str],
    search: Search,
    passed_over: Callable[[], None],
) -> AsyncGenerator[list[str], None]:
    folder = sandbox.resolve(shown)
    rules = await _RulesBeyond.of(sandbox, shown, folder) if where.gitignore else None
    skip, enough = 0, search.skip + search.limit + 1
    while True:
        count = 0
        names = files_with_matches(
            argv,
            folder,
            enough=enough,
            remaining=search.matcher.remaining,
            passed_over=passed_over,
        )
        async with aclosing(names) as found:
            async for group in found:
                new = group[max(0, skip - count) :]
                count += len(group)
                if new:
                    yield await _to_read(new, shown, where, rules)
        if count < enough:
            return
        # it is asked once more in the rare case that too few of them hold what is looked for
        skip = max(skip, count)
        enough = 4 * skip


async def _to_read(
    group: list[str], shown: str, where: Where, rules: _RulesBeyond | None
) -> list[str]:
    paths = [below for below in group if where.holds(below)] if where.chooses else group
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


async def _by_walk(
    sandbox: Sandbox, shown: str, where: Where, unreadable: UnreadableFolders
) -> AsyncGenerator[list[str], None]:
    def closed(below: str) -> None:
        if not where.leaves_out(below):
            unreadable.add(join(shown, below) if below else shown)

    request = WalkRequest(where.holds, where.gitignore, ALWAYS_SKIPPED, name_order, closed)
    async with aclosing(walk_below(sandbox, shown, request)) as steps:
        async for entries in steps:
            yield [join(shown, below) for below, kind in entries if kind == "file"]


class _Reader:
    """Reads files through the sandbox and searches them, small ones many at a time.

    Args:
        sandbox: Where they are.
        search: What is looked for; it takes up what is found.
        named: Whether the model named the file itself.
    """

    def __init__(self, sandbox: Sandbox, search: Search, *, named: bool = False) -> None:
        self._sandbox = sandbox
        self._search = search
        self._named = named
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
            how = None if data is None else self._format(data)
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

    def _format(self, data: bytes) -> TextFormat | None:
        """Return how a file is text, or None when it is not to be searched."""
        how = text_format(data[:PROBE])
        left_out = how is not None and not self._named and how.encoding in _ONLY_BY_NAME
        return None if left_out else how

    async def _starts(self, paths: list[str]) -> list[bytes | None]:
        sandbox = self._sandbox
        if self._named:
            return [await sandbox.read(path, limit=SMALL_BELOW) for path in paths]
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
        Window(search, path).end(data)
