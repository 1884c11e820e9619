"""`cherry_pick` and `revert`: one commit again here, or taken back."""

from __future__ import annotations

import os
from typing import Final, Literal

from pegboard import ToolFailure, ToolResult
from pegboard_git.git_call import Output
from pegboard_git.names import revision, single_revision
from pegboard_git.repository import Repository
from pegboard_git.writing.arguments import WriteArguments
from pegboard_git.writing.changes import told_commit
from pegboard_git.writing.conflict import require_idle, stopped
from pegboard_git.writing.identity import identity
from pegboard_git.writing.in_the_way import commit_of, require_nothing_in_the_way

_ANY: Final = tuple(range(256))
_MOST: Final = 100
"""Commits of a range that are looked at for files that they would write over."""
_EMPTY: Final = ("is now empty", "nothing to commit", "nothing added to commit")
_VERBS: Final = {"cherry-pick": "Picked; the branch is now at", "revert": "Reverted by"}
Operation = Literal["cherry-pick", "revert"]


async def cherry_pick(repo: Repository, ask: WriteArguments) -> ToolResult:
    """Make commits of another branch again on this one."""
    return await _picked(repo, ask, "cherry-pick", revision(_ref(ask, "cherry_pick")))


async def revert(repo: Repository, ask: WriteArguments) -> ToolResult:
    """Make a commit that takes back what another one changed."""
    return await _picked(repo, ask, "revert", single_revision(_ref(ask, "revert")))


async def picked_end(repo: Repository, done: Output, operation: Operation) -> ToolResult:
    """Return what there is to say of a pick or revert that git has ended or stopped.

    Raises:
        ToolFailure: When it stopped for another reason than a conflict.
    """
    action = operation.replace("-", "_")
    if not done.code:
        return await told_commit(repo, _VERBS[operation])
    said = done.said.lower()
    if not await repo.conflicts() and any(words in said for words in _EMPTY):
        raise ToolFailure(
            f"{action} changes nothing here: all of it is there already.",
            fix='Go on without it: action "skip"; or give up: action "abort".',
            code="empty",
        )
    return await stopped(repo, done, action, operation)


async def _picked(
    repo: Repository, ask: WriteArguments, operation: Operation, name: str
) -> ToolResult:
    await require_idle(repo, operation.replace("-", "_"))
    await _require_room(repo, operation, name, ask.mainline or 1)
    mainline = () if ask.mainline is None else (f"--mainline={ask.mainline}",)
    edit = ("--no-edit",) if operation == "revert" else ()
    done = await repo.git(
        *(operation, "--no-gpg-sign", *edit, *mainline, name, "--"),
        accept=_ANY,
        env=identity(repo.settings, os.environ),
    )
    return await picked_end(repo, done, operation)


async def _require_room(repo: Repository, operation: Operation, name: str, parent: int) -> None:
    """Refuse what would write over files that are not tracked, also ignored ones."""
    action = operation.replace("-", "_")
    listed = await repo.git(
        "rev-list", "--no-walk", f"--max-count={_MOST}", name, "--", accept=_ANY
    )
    for commit in listed.text.split() if not listed.code else ():
        before = await commit_of(repo, f"{commit}^{parent}")
        if operation == "cherry-pick":
            await require_nothing_in_the_way(repo, before, commit, action)
        elif before:
            await require_nothing_in_the_way(repo, commit, before, action)


def _ref(ask: WriteArguments, action: str) -> str:
    if ask.ref is None:
        raise ToolFailure(
            f"{action} needs a ref.", fix="Name the commit.", code="invalid_arguments"
        )
    return ask.ref
