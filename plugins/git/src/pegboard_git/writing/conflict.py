"""What is told when git has stopped because two sides changed the same lines."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from pegboard import ToolFailure, ToolResult
from pegboard_git.failures import failure, said_words
from pegboard_git.git_call import Output
from pegboard_git.names import decoded, plural
from pegboard_git.reading.state import read_status
from pegboard_git.repository import Repository

_NEXT: Final = {
    "merge": "then commit; or give up with merge_abort",
    "rebase": "then rebase_continue; or give up with rebase_abort",
    "cherry-pick": "then continue; or give up with abort",
    "revert": "then continue; or give up with abort",
    "stash": "the stash entry is kept; drop it with stash_drop when all is right",
}


async def stopped(repo: Repository, done: Output, action: str, operation: str) -> ToolResult:
    """Return the result of an operation that ended badly: its conflicts, or another failure.

    Args:
        repo: The repository.
        done: What git said.
        action: What was asked for.
        operation: `merge`, `rebase`, `cherry-pick`, `revert` or `stash`.

    Raises:
        ToolFailure: When there is no conflict.
    """
    files = await repo.conflicts()
    if not files:
        raise failure(done.said, repo.root, action)
    return ToolResult.failed(
        "conflict",
        f"{action} stopped: {plural(len(files), 'file is', 'files are')} in conflict:\n"
        f"{_joined(files)}",
        fix="Edit them so that no <<<<<<< marks are left, add them, "
        f"{_NEXT.get(operation, 'then go on')}.",
        output=said_words(done.said),
        details={"conflicts": [decoded(path) for path in files], "in_progress": operation},
    )


async def require_idle(repo: Repository, action: str) -> None:
    """Refuse to begin something while something else has stopped on the way.

    Raises:
        ToolFailure: When something has.
    """
    operation = await repo.in_progress()
    if operation:
        raise ToolFailure(
            f"{action} can't begin: a {operation} is in progress.",
            fix='Resolve and add its files, then "continue"; or give it up with "abort".',
            code="in_progress",
        )


async def require_no_conflicts(repo: Repository, action: str) -> None:
    """Refuse to go on while files are in conflict.

    Raises:
        ToolFailure: When there are some; it lists them.
    """
    files = await repo.conflicts()
    if files:
        operation = await repo.in_progress()
        raise ToolFailure(
            f"{action} can't be done: {plural(len(files), 'file is', 'files are')} in conflict:\n"
            f"{_joined(files)}",
            fix="Edit them so that no <<<<<<< marks are left, add them, "
            f"{_NEXT.get(operation, 'then go on')}.",
            code="conflict",
        )


async def require_only_conflicts(repo: Repository, action: str) -> None:
    """Refuse what puts all files back, while others than those in conflict have changes.

    Raises:
        ToolFailure: When one has some; it names it.
    """
    found, _ = await read_status(repo)
    if found.unstaged and not repo.filters:  # what a filter converts always looks changed
        raise ToolFailure(
            f"{action} would lose what was changed in {found.unstaged[0].path} since.",
            fix='Put it back with action "restore" if nobody needs it, or keep a copy of it.',
            code="would_lose",
        )


def _joined(paths: Iterable[bytes]) -> str:
    """Return paths on a line each."""
    return "\n".join(f"  {decoded(path)}" for path in paths)
