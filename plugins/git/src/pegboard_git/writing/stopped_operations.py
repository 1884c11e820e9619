"""`continue`, `skip` and `abort`: what is done with an operation that stopped on the way."""

from __future__ import annotations

import os
from typing import Final, Literal, cast

from pegboard import ToolFailure, ToolResult
from pegboard_git.repository import Repository
from pegboard_git.writing import integration
from pegboard_git.writing.arguments import WriteArguments
from pegboard_git.writing.changes import commit
from pegboard_git.writing.conflict import require_no_conflicts
from pegboard_git.writing.identity import identity
from pegboard_git.writing.picks import Operation, picked_end

_ANY: Final = tuple(range(256))
_PICKS: Final = ("cherry-pick", "revert")
Step = Literal["continue", "skip", "abort"]


async def go_on(repo: Repository, ask: WriteArguments) -> ToolResult:
    """Go on with what stopped, once its files are resolved and added."""
    operation = await _operation(repo, "continue")
    if operation == "merge":
        return await commit(repo, ask)
    if ask.message:
        raise ToolFailure(
            f"A {operation} keeps the messages of its commits.",
            fix="Leave out message; the last commit's can be changed after it: commit, amend true.",
            code="invalid_arguments",
        )
    if operation == "rebase":
        return await integration.rebase_continue(repo, ask)
    await require_no_conflicts(repo, "continue")
    return await _sequenced(repo, operation, "continue")


async def skip(repo: Repository, ask: WriteArguments) -> ToolResult:
    """Go on without the commit that stopped; what it would have changed is left out."""
    operation = await _operation(repo, "skip")
    if operation == "merge":
        raise ToolFailure(
            "A merge has no step to leave out.",
            fix='Go on with "continue", or give up with "abort".',
            code="invalid_arguments",
        )
    if operation == "rebase":
        return await integration.rebase_skip(repo, ask)
    return await _sequenced(repo, operation, "skip")


async def abort(repo: Repository, ask: WriteArguments) -> ToolResult:
    """Give up what stopped; the branch and its files are again as before it."""
    operation = await _operation(repo, "abort")
    if operation == "rebase":
        return await integration.rebase_abort(repo, ask)
    await repo.git(operation, "--abort", action="abort")
    return await integration.now(repo, f"The {operation} was given up.")


async def _operation(repo: Repository, step: Step) -> str:
    operation = await repo.in_progress()
    if operation not in ("merge", "rebase", *_PICKS):
        what = f"a {operation}, which a person began, is" if operation else "nothing is"
        raise ToolFailure(
            f"There is nothing to {step}: {what} in progress.",
            fix='Use git_read with action "status".',
            code="not_in_progress",
        )
    return operation


async def _sequenced(repo: Repository, operation: str, step: Step) -> ToolResult:
    done = await repo.git(
        operation,
        f"--{step}",
        action=step,
        accept=_ANY,
        env=identity(repo.settings, os.environ),
    )
    return await picked_end(repo, done, cast("Operation", operation))
