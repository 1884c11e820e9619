"""Find files by pattern through a sandbox: no links to folders are entered, results are sorted."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final

from pegboard import FileStat, Sandbox, SandboxError
from pegboard_files.globs import Glob, name_expression
from pegboard_files.ignore import IgnoreFiles
from pegboard_files.walking import WalkRequest, walk_below

ALWAYS_SKIPPED: Final = frozenset({".git"})


@dataclass(frozen=True, slots=True)
class FoundFiles:
    """Files that a search found.

    Args:
        paths: Sorted.
        more: True when there are more than were asked for.
    """

    paths: tuple[str, ...]
    more: bool


async def find_files(
    sandbox: Sandbox, path: str, globs: Sequence[Glob], *, limit: int, ignore: bool
) -> FoundFiles:
    """Return the files below `path` that a pattern matches.

    Args:
        sandbox: Where to look.
        path: The folder that patterns are relative to.
        globs: The patterns.
        limit: Files at most.
        ignore: Leave out what `.gitignore` files name.
    """
    hits: set[str] = set()
    for group in _by_start(globs):
        async with aclosing(_candidates(sandbox, path, group, ignore)) as found:
            count = 0
            async for item in found:
                hits.add(item)
                count += 1
                # one more than wanted tells that there are more
                if count > limit:
                    break
    ordered = sorted(hits)
    return FoundFiles(tuple(ordered[:limit]), len(ordered) > limit)


def join(folder: str, name: str) -> str:
    """Return a path below a folder, without `./` in front."""
    return name if folder in (".", "") else f"{folder.rstrip('/')}/{name}"


def _by_start(globs: Sequence[Glob]) -> list[list[Glob]]:
    """Group patterns that one walk can serve; one without `**` looks only where it must."""
    together: dict[tuple[str, ...], list[Glob]] = {}
    alone: list[list[Glob]] = []
    for glob in globs:
        if "**" in glob.parts:
            together.setdefault(glob.fixed, []).append(glob)
        else:
            alone.append([glob])
    return [*together.values(), *alone]


def _candidates(
    sandbox: Sandbox, path: str, group: list[Glob], ignore: bool
) -> AsyncGenerator[str, None]:
    glob = group[0]
    if "**" in glob.parts:
        return _walked(sandbox, path, group, ignore)
    return _stepped_files(sandbox, path, glob, ignore)


async def _walked(
    sandbox: Sandbox, path: str, group: list[Glob], ignore: bool
) -> AsyncGenerator[str, None]:
    fixed = group[0].fixed
    start = join(path, "/".join(fixed)) if fixed else path
    if not await _is_folder(sandbox, start):
        return
    expression = re.compile("|".join(f"(?:{glob.expression.pattern})" for glob in group))
    # what the walk yields is relative to its start, and patterns are to `path`
    before = "".join(f"{name}/" for name in fixed)
    wanted = _starting_with(before, expression) if before else expression.match
    hidden = any(".git" in glob.parts for glob in group)
    request = WalkRequest(wanted, ignore, frozenset() if hidden else ALWAYS_SKIPPED)
    shown = sandbox.display(sandbox.resolve(start))
    open_folders = OpenFolders(sandbox)
    async with aclosing(walk_below(sandbox, start, request)) as steps:
        async for entries in steps:
            for below, kind in entries:
                item = join(shown, below)
                if open_folders.holds(item) and (
                    kind == "file" or await _leads_to_file(sandbox, item)
                ):
                    yield item


def _starting_with(before: str, expression: re.Pattern[str]) -> Callable[[str], object]:
    return lambda path: expression.match(before + path)


class OpenFolders:
    """Tells of names found without the sandbox whether it lets one look into their folder."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._known: dict[str, bool] = {}

    def holds(self, path: str) -> bool:
        """Return whether the folder of a path is open."""
        folder = path.rpartition("/")[0] or ("/" if path.startswith("/") else ".")
        known = self._known.get(folder)
        if known is None:
            known = self._known[folder] = self._is_open(folder)
        return known

    def _is_open(self, folder: str) -> bool:
        try:
            return self._sandbox.display(self._sandbox.resolve(folder)) == folder
        except (SandboxError, OSError):
            return False


async def _stepped_files(
    sandbox: Sandbox, path: str, glob: Glob, ignore: bool
) -> AsyncGenerator[str, None]:
    rules = IgnoreFiles(sandbox, path) if ignore else None
    async with aclosing(_stepped(sandbox, path, glob.parts)) as found:
        async for item in found:
            ignored = rules is not None and await rules.covers(item.path)
            if not ignored and (
                item.kind == "file"
                or (item.kind == "symlink" and await _leads_to_file(sandbox, item.path))
            ):
                yield item.path


async def _stepped(
    sandbox: Sandbox, folder: str, parts: tuple[str, ...]
) -> AsyncGenerator[FileStat, None]:
    wanted = re.compile(rf"(?s:{name_expression('', parts[0])})\Z")
    try:
        entries = await sandbox.list_dir(folder)
    except (FileNotFoundError, NotADirectoryError, PermissionError, SandboxError):
        return
    for entry in entries:
        name = entry.path.rpartition("/")[2]
        if not wanted.match(name) or (name in ALWAYS_SKIPPED and name != parts[0]):
            continue
        if len(parts) == 1:
            if entry.kind != "dir":
                yield entry
        elif entry.kind == "dir" or name == parts[0]:
            async with aclosing(_stepped(sandbox, join(folder, name), parts[1:])) as below:
                async for item in below:
                    yield item


async def _is_folder(sandbox: Sandbox, path: str) -> bool:
    try:
        found = await sandbox.stat(sandbox.resolve(path))
    except (SandboxError, OSError):
        return False
    return found is not None and found.kind == "dir"


async def _leads_to_file(sandbox: Sandbox, path: str) -> bool:
    """Return whether a link leads to a file inside the grants."""
    try:
        await sandbox.read(path, limit=0)
    except (SandboxError, OSError):
        return False
    return True
