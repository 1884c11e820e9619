"""`switch`, branches and tags: names, and which of them is checked out."""

from __future__ import annotations

import os
from typing import Final

from pegboard import ToolFailure, ToolResult
from pegboard_git.names import branch_name, single_revision
from pegboard_git.reading.state import read_status
from pegboard_git.repository import Repository
from pegboard_git.writing.arguments import WriteArguments
from pegboard_git.writing.identity import identity
from pegboard_git.writing.in_the_way import require_room

_RENAMED: Final = "is renamed, but update of config-file failed"


async def switch(repo: Repository, ask: WriteArguments) -> ToolResult:
    """Check out a branch; make it first, or detach from any, where that is asked for."""
    options = ("--quiet", "--no-guess", "--no-recurse-submodules", "--no-progress")
    if ask.detach:
        if ask.create:
            raise _unclear("create and detach exclude each other.", "Choose one.")
        name = single_revision(_one_of(ask))
        await require_room(repo, name, "switch", joined=False)
        await repo.git("switch", *options, "--detach", name, action="switch")
    elif ask.create:
        name = _branch(ask)
        start = () if ask.ref is None else (single_revision(ask.ref),)
        for revision in start:
            await require_room(repo, revision, "switch", joined=False)
        await repo.git("switch", *options, "--no-track", "--create", name, *start, action="switch")
    else:
        if ask.ref is not None and ask.branch is not None:
            raise _unclear("ref says where a new branch starts.", "Set create to true.")
        name = branch_name(_one_of(ask))
        if not await has_branch(repo, name):
            raise ToolFailure(
                f"There is no branch {name}.",
                fix="Set create to true to make it (ref = where it starts), or detach to look at "
                "a commit or a remote's branch.",
                code="unknown_revision",
            )
        await require_room(repo, name, "switch", joined=False)
        await repo.git("switch", *options, name, action="switch")
    found, more = await read_status(repo)
    where = f"branch {found.branch}" if found.branch else f"{found.commit[:10]}, detached"
    return ToolResult(output=f"Now on {where}.", structured={**found.to_dict(), "more": more})


async def branch_create(repo: Repository, ask: WriteArguments) -> ToolResult:
    """Make a branch without checking it out."""
    name = _branch(ask)
    start = single_revision(ask.ref or "HEAD")
    await repo.git("branch", "--no-track", name, start, action="branch_create")
    return await _named(repo, "branch", name, f"refs/heads/{name}")


async def branch_rename(repo: Repository, ask: WriteArguments) -> ToolResult:
    """Give a branch, this one unless told, another name."""
    found, _ = await read_status(repo, limit=1)
    if not (ask.branch or found.branch):
        raise _unclear("No branch is checked out.", "Name the branch to rename.")
    old = branch_name(ask.branch or found.branch)
    if not ask.to:
        raise _unclear("branch_rename needs the new name.", "Give it as to.")
    new = branch_name(ask.to, "to")
    if new != old and await has_branch(repo, new):
        raise ToolFailure(f"There is a branch {new}.", fix="Choose another name.", code="exists")
    # what it follows stays under the old name: that file is not to be written here
    await repo.git("branch", "-m", old, new, action="branch_rename", ended=_RENAMED)
    return ToolResult(
        output=f"Renamed the branch {old} to {new}.", structured={"branch": new, "was": old}
    )


async def branch_delete(repo: Repository, ask: WriteArguments) -> ToolResult:
    """Delete a branch; one with commits of its own only with force."""
    name = _branch(ask)
    done = await repo.git(
        "rev-parse", "--verify", "--end-of-options", f"refs/heads/{name}", action="branch_delete"
    )
    # its lines in the configuration stay: that file is not to be written here
    await repo.git("branch", "-D" if ask.force else "-d", name, action="branch_delete")
    commit = done.text.strip()
    return ToolResult(
        output=f"Deleted the branch {name}; it was at {commit[:10]}.",
        structured={"branch": name, "hash": commit},
    )


async def tag_create(repo: Repository, ask: WriteArguments) -> ToolResult:
    """Make a tag; with a message an annotated one."""
    name = _tag(ask)
    options = ("--annotate", "--cleanup=whitespace", "-F", "-") if ask.message else ()
    await repo.git(
        "tag",
        "--no-sign",
        *options,
        name,
        single_revision(ask.ref or "HEAD"),
        action="tag_create",
        stdin=(ask.message or "").encode("utf-8", "replace"),
        env=identity(repo.settings, os.environ),
    )
    return await _named(repo, "tag", name, f"refs/tags/{name}")


async def tag_delete(repo: Repository, ask: WriteArguments) -> ToolResult:
    """Delete a tag."""
    name = _tag(ask)
    done = await repo.git(
        "rev-parse", "--verify", "--end-of-options", f"refs/tags/{name}", action="tag_delete"
    )
    await repo.git("tag", "-d", name, action="tag_delete")
    target = done.text.strip()
    return ToolResult(
        output=f"Deleted the tag {name}; it was at {target[:10]}.",
        structured={"tag": name, "hash": target},
    )


async def has_branch(repo: Repository, name: str) -> bool:
    """Return whether there is a local branch of this name."""
    done = await repo.git(
        "show-ref", "--verify", "--quiet", f"refs/heads/{name}", accept=(0, 1, 128)
    )
    if done.code == 0:
        return True
    found, _ = await read_status(repo, limit=1)
    return not found.commit and found.branch == name  # a branch that has no commit yet


async def _named(repo: Repository, kind: str, name: str, ref: str) -> ToolResult:
    done = await repo.git("rev-parse", "--verify", f"{ref}^{{commit}}")
    commit = done.text.strip()
    return ToolResult(
        output=f"Made the {kind} {name} at {commit[:10]}.",
        structured={kind: name, "hash": commit},
    )


def _one_of(ask: WriteArguments) -> str:
    name = ask.branch or ask.ref
    if not name:
        raise _unclear("switch needs a branch.", 'See them with git_read, action "branch".')
    return name


def _branch(ask: WriteArguments) -> str:
    if not ask.branch:
        raise _unclear("The name of the branch is missing.", "Give it as branch.")
    return branch_name(ask.branch)


def _tag(ask: WriteArguments) -> str:
    if not ask.tag:
        raise _unclear("The name of the tag is missing.", "Give it as tag.")
    return branch_name(ask.tag, "tag")


def _unclear(message: str, fix: str) -> ToolFailure:
    return ToolFailure(message, fix=fix, code="invalid_arguments")
