"""Walk a tree by names alone: no link is entered, what `.gitignore` names is not looked into."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from typing import Final, Literal

from anyio import from_thread, to_thread

from pegboard import Sandbox, SandboxError
from pegboard_files.ignore import (
    FILE_NAME,
    MAX_BYTES,
    IgnoreFiles,
    RuleLevel,
    is_ignored,
    read_rules,
)

Kind = Literal["file", "dir", "symlink"]
Entry = tuple[str, Kind]
_STEP: Final = 4096


def path_order(entry: Entry) -> str:
    """Order entries so that whole paths come sorted as texts."""
    name, kind = entry
    return name + "/" if kind == "dir" else name


def name_order(entry: Entry) -> bytes:
    """Order entries by name, folders among files, as `rg --sort path` does."""
    return os.fsencode(entry[0])


@dataclass(frozen=True, slots=True)
class WalkRequest:
    """What a walk shall yield.

    Args:
        wanted: Tells by a path relative to the start whether it is yielded; None = all are.
        ignore: Leave out what `.gitignore` files name.
        skip: Names of folders not to enter.
        order: Key that sorts the entries of a folder.
        unreadable: Told, in a worker thread, of each folder that the system does not let this user
            look into, by its path relative to the start.
    """

    wanted: Callable[[str], object] | None = None
    ignore: bool = False
    skip: frozenset[str] = frozenset({".git"})
    order: Callable[[Entry], str | bytes] = path_order
    unreadable: Callable[[str], None] | None = None


async def walk_below(
    sandbox: Sandbox, path: str, request: WalkRequest
) -> AsyncGenerator[list[Entry], None]:
    """Yield files and links below a folder, in steps; paths are relative to it.

    Where the files are on this machine the folders are read without the sandbox, which is many
    times faster. The names that come out may then lie in closed places: ask the sandbox before one
    is shown.

    Args:
        sandbox: Where the folder is.
        path: The folder.
        request: What is wanted.
    """
    root = sandbox.resolve(path)
    above: tuple[RuleLevel, ...] = ()
    if request.ignore:
        above = await IgnoreFiles(sandbox, path).above()
    wanted = request.wanted
    with closing(_Walk(sandbox, root, request).run(above)) as found:

        def step() -> tuple[int, list[Entry]]:
            entries = list(islice(found, _STEP))
            return len(entries), [e for e in entries if wanted is None or wanted(e[0])]

        seen = _STEP
        while seen == _STEP:
            seen, entries = await to_thread.run_sync(step)
            yield entries


class _Walk:
    """A walk as it runs in a worker thread."""

    def __init__(self, sandbox: Sandbox, root: str, request: WalkRequest) -> None:
        self._sandbox = sandbox
        self._root = root.rstrip("/") + "/"
        self._request = request

    def run(self, above: tuple[RuleLevel, ...]) -> Generator[Entry, None, None]:
        """Yield files and links; `above` are the ignore files above the root."""
        request = self._request
        pending: list[tuple[str, Kind, tuple[RuleLevel, ...]]] = [("", "dir", above)]
        while pending:
            path, kind, levels = pending.pop()
            if kind != "dir":
                yield path, kind
                continue
            folder = f"{path}/" if path else ""
            entries = sorted(self._entries(folder), key=request.order, reverse=True)
            if request.ignore:
                levels = self._with_own(folder, entries, levels)
            for name, kind in entries:
                below = folder + name
                if kind == "dir" and name in request.skip:
                    continue
                if levels and is_ignored(levels, below, name, folder=kind == "dir"):
                    continue
                pending.append((below, kind, levels))

    def _entries(self, folder: str) -> list[Entry]:
        try:
            if self._sandbox.info.files_here:
                with os.scandir(self._root + folder) as found:
                    return [(entry.name, kind) for entry in found if (kind := _kind(entry))]
            there = from_thread.run(self._sandbox.list_dir, self._root + folder)
        except PermissionError:
            if self._request.unreadable is not None:
                self._request.unreadable(folder.rstrip("/"))
            return []
        except (OSError, SandboxError):
            return []
        return [(e.path.rpartition("/")[2], e.kind) for e in there if e.kind != "other"]

    def _with_own(
        self, folder: str, entries: list[Entry], levels: tuple[RuleLevel, ...]
    ) -> tuple[RuleLevel, ...]:
        """Return the ignore files above, and the one of a folder where it has one."""
        if not any(name == FILE_NAME and kind != "dir" for name, kind in entries):
            return levels
        path = f"{self._root}{folder}{FILE_NAME}"
        try:
            rules = read_rules(from_thread.run(self._read, path))
        except (OSError, SandboxError):
            return levels
        return (*levels, RuleLevel(rules, cut=len(folder))) if rules else levels

    async def _read(self, path: str) -> bytes:
        return await self._sandbox.read(path, limit=MAX_BYTES)


def _kind(entry: os.DirEntry[str]) -> Kind | None:
    if entry.is_symlink():
        return "symlink"
    if entry.is_dir(follow_symlinks=False):
        return "dir"
    return "file" if entry.is_file(follow_symlinks=False) else None
