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
from pegboard_files.open_folders import OpenFolders
from pegboard_files.tree_walk import WalkRequest, walk_below
from pegboard_files.unreadable import UnreadableFolders

ALWAYS_SKIPPED: Final = frozenset({".git"})


@dataclass(frozen=True, slots=True)
class FoundFiles:
    """Files that a search found.

    Args:
        paths: Sorted.
        more: True when there are more than were asked for.
        unreadable: Folders that the system does not let this user look into.
    """

    paths: tuple[str, ...]
    more: bool
    unreadable: tuple[str, ...] = ()


async def find_files(
    sandbox: Sandbox,
    path: str,
    globs: Sequence[Glob],
    *,
    limit: int,
    ignore: bool,
    left_out: Sequence[re.Pattern[str]] = (),
) -> FoundFiles:
    """Return the files below `path` that a pattern matches.

    Args:
        sandbox: Where to look.
        path: The folder that patterns are relative to.
        globs: The patterns.
        limit: Files at most.
        ignore: Leave out what `.gitignore` files name.
        left_out: Match the paths, as they are shown, that are left out.
    """
    hits: set[str] = set()
    unreadable = UnreadableFolders(sandbox, left_out)
    for group in _by_start(globs):
        async with aclosing(_candidates(sandbox, path, group, ignore, unreadable)) as found:
            count = 0
            async for item in found:
                if any(pattern.match(item) for pattern in left_out):
                    continue
                hits.add(item)
                count += 1
                # one more than wanted tells that there are more
                if count > limit:
                    break
    ordered = sorted(hits)
    return FoundFiles(tuple(ordered[:limit]), len(ordered) > limit, unreadable.paths())


def join(folder: str, name: str) -> str:
    """Return a path below a folder, without `./` in front."""
    return name if folder in (".", "") else f"{folder.rstrip('/')}/{name}"


def _by_start(globs: Sequence[Glob]) -> list[list[Glob]]:
    """Group patterns that one walk can serve; one that needs none looks only where it must."""
    together: dict[tuple[str, ...], list[Glob]] = {}
    alone: list[list[Glob]] = []
    for glob in globs:
        if glob.walks:
            together.setdefault(glob.fixed, []).append(glob)
        else:
            alone.append([glob])
    return [*together.values(), *alone]


def _candidates(
    sandbox: Sandbox, path: str, group: list[Glob], ignore: bool, unreadable: UnreadableFolders
) -> AsyncGenerator[str, None]:
    glob = group[0]
    if glob.walks:
        return _walked(sandbox, path, group, ignore, unreadable)
    return _stepped_files(sandbox, path, glob, ignore, unreadable)


async def _walked(
    sandbox: Sandbox, path: str, group: list[Glob], ignore: bool, unreadable: UnreadableFolders
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
    shown = sandbox.display(sandbox.resolve(start))
    request = WalkRequest(
        wanted,
        ignore,
        frozenset() if hidden else ALWAYS_SKIPPED,
        unreadable=lambda below: unreadable.add(join(shown, below) if below else shown),
    )
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


async def _stepped_files(
    sandbox: Sandbox, path: str, glob: Glob, ignore: bool, unreadable: UnreadableFolders
) -> AsyncGenerator[str, None]:
    rules = IgnoreFiles(sandbox, path) if ignore else None
    async with aclosing(_stepped(sandbox, path, glob.parts, unreadable)) as found:
        async for item in found:
            ignored = rules is not None and await rules.covers(item.path)
            if not ignored and (
                item.kind == "file"
                or (item.kind == "symlink" and await _leads_to_file(sandbox, item.path))
            ):
                yield item.path


async def _stepped(
    sandbox: Sandbox, folder: str, parts: tuple[str, ...], unreadable: UnreadableFolders
) -> AsyncGenerator[FileStat, None]:
    wanted = re.compile(rf"(?s:{name_expression('', parts[0])})\Z")
    try:
        entries = await sandbox.list_dir(folder)
    except PermissionError:
        unreadable.add(sandbox.display(sandbox.resolve(folder)))
        return
    except (FileNotFoundError, NotADirectoryError, SandboxError):
        return
    for entry in entries:
        name = entry.path.rpartition("/")[2]
        if not wanted.match(name) or (name in ALWAYS_SKIPPED and name != parts[0]):
            continue
        if len(parts) == 1:
            if entry.kind != "dir":
                yield entry
        elif entry.kind == "dir" or name == parts[0]:
            inside = _stepped(sandbox, join(folder, name), parts[1:], unreadable)
            async with aclosing(inside) as below:
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
