"""`rm` and `mv`: files that are tracked no more, or under another name."""

from __future__ import annotations

import posixpath

from pegboard import ToolFailure, ToolResult
from pegboard_git.names import repository_paths, shown
from pegboard_git.repository import Repository
from pegboard_git.withheld import refused, withheld, working_version
from pegboard_git.writing.arguments import WriteArguments
from pegboard_git.writing.changes import told_index


async def rm(repo: Repository, ask: WriteArguments) -> ToolResult:
    """Take files out of the index, and out of the working tree; changed ones are left."""
    paths = await _paths(repo, ask, "rm")
    options = ("--cached",) if ask.keep else ()
    await repo.git("rm", "-r", "--quiet", *options, "--", *paths, action="rm")
    return await told_index(repo, "Removed")


async def mv(repo: Repository, ask: WriteArguments) -> ToolResult:
    """Rename a file or folder, or put several into a folder; nothing is replaced."""
    paths = await _paths(repo, ask, "mv")
    if not ask.to:
        raise _needs("mv", "to", "Name the new path, or the folder to put them into.")
    (target,) = repository_paths((ask.to,), repo.root)
    await _require_writable(repo, target)
    # under another name a file tool would read it
    closed = await withheld(repo, [await working_version(repo, path) for path in paths])
    for path, reason in closed.items():
        raise refused(path, reason, "renamed")
    parent = posixpath.dirname(target)
    if parent:
        await repo.sandbox.make_dir(posixpath.join(repo.root, parent))
    await repo.git("mv", "--", *paths, target, action="mv")
    return await told_index(repo, f"Moved to {shown(target)}")


async def _paths(repo: Repository, ask: WriteArguments, action: str) -> list[str]:
    paths = repository_paths(ask.paths, repo.root)
    if not paths:
        raise _needs(action, "paths", "Name files or folders.")
    if "." in paths:
        raise _needs(action, "paths below the top", "Name the files and folders.")
    for path in paths:
        await _require_writable(repo, path)
    return paths


async def _require_writable(repo: Repository, path: str) -> None:
    whole = posixpath.join(repo.root, path)
    found = await repo.sandbox.stat(whole)
    is_link = found is not None and found.kind == "symlink"
    # a link is moved itself, and not what it leads to
    repo.sandbox.resolve(posixpath.dirname(whole) if is_link else whole, write=True)
    folder = posixpath.dirname(whole)
    if repo.sandbox.resolve(folder) != folder:
        raise ToolFailure(
            f"{shown(path)} is behind a link, where git keeps nothing.",
            fix="Name the folder that the link leads to.",
            code="invalid_arguments",
        )


def _needs(action: str, what: str, fix: str) -> ToolFailure:
    return ToolFailure(f"{action} needs {what}.", fix=fix, code="invalid_arguments")
