"""Find files by pattern through a sandbox: no links to folders are entered, results are sorted."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final

from pegboard import FileStat, Sandbox, SandboxError
from pegboard_files.globs import Glob, name_expression
from pegboard_files.ignore import IgnoreFiles

ALWAYS_SKIPPED: Final = frozenset({".git"})


@dataclass(frozen=True, slots=True)
class FoundFiles:
    """Files that a search found.

    Args:
        files: Sorted by path.
        more: True when there are more than were asked for.
    """

    files: tuple[FileStat, ...]
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
    rules = IgnoreFiles(sandbox, path) if ignore else None
    hits: dict[str, FileStat] = {}
    for group in _by_start(globs):
        count = 0
        async with aclosing(_candidates(sandbox, path, group)) as found:
            async for item in found:
                if await _is_file(sandbox, item) and not await _is_ignored(rules, item):
                    hits[item.path] = item
                    count += 1
                # one more than wanted tells that there are more
                if count > limit:
                    break
    ordered = sorted(hits.values(), key=lambda item: item.path)
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


def _candidates(sandbox: Sandbox, path: str, group: list[Glob]) -> AsyncGenerator[FileStat, None]:
    glob = group[0]
    if "**" in glob.parts:
        return _walked(sandbox, path, group)
    return _stepped(sandbox, path, glob.parts)


async def _walked(sandbox: Sandbox, path: str, group: list[Glob]) -> AsyncGenerator[FileStat, None]:
    fixed = group[0].fixed
    start = join(path, "/".join(fixed)) if fixed else path
    if not await _is_folder(sandbox, start):
        return
    skip = frozenset() if any(".git" in glob.parts for glob in group) else ALWAYS_SKIPPED
    expression = re.compile("|".join(f"(?:{glob.expression.pattern})" for glob in group))
    # what the walk shows of its start is cut off, so that patterns see relative paths
    shown = sandbox.display(sandbox.resolve(start))
    cut = 0 if shown == "." else len(shown.rstrip("/")) + 1
    before = "".join(f"{name}/" for name in fixed)
    async for item in sandbox.walk(start, skip=skip):
        if expression.match(before + item.path[cut:]):
            yield item


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


async def _is_file(sandbox: Sandbox, item: FileStat) -> bool:
    """Return whether an entry is a file, or a link that leads to one inside the grants."""
    if item.kind != "symlink":
        return item.kind == "file"
    try:
        await sandbox.read(item.path, limit=0)
    except (SandboxError, OSError):
        return False
    return True


async def _is_ignored(rules: IgnoreFiles | None, item: FileStat) -> bool:
    return rules is not None and await rules.covers(item.path)
