"""`merge`, `rebase` and `stash`: two lines of work become one."""

from __future__ import annotations

import os
from typing import Final

from pegboard import ToolFailure, ToolResult
from pegboard_git.failures import failure, said_words
from pegboard_git.git_call import Output
from pegboard_git.names import plain, repository_paths, shown, single_revision
from pegboard_git.reading.state import read_status
from pegboard_git.repository import Repository
from pegboard_git.withheld import withheld_note, without
from pegboard_git.writing.arguments import Strategy, WriteArguments
from pegboard_git.writing.changes import told_commit
from pegboard_git.writing.conflict import (
    require_idle,
    require_no_conflicts,
    require_only_conflicts,
    stopped,
)
from pegboard_git.writing.identity import identity
from pegboard_git.writing.in_the_way import require_room
from pegboard_git.writing.unstored_files import hidden, require_none_hidden

_ANY: Final = tuple(range(256))
_STEPS: Final = frozenset(
    {
        *("pick", "p", "reword", "r", "edit", "e", "squash", "s", "fixup", "f", "drop", "d"),
        *("label", "l", "reset", "t", "merge", "m", "noop", "break", "b", "update-ref", "u"),
    }
)
"""All that a rebase may still have to do; what is missing here is `exec`."""
_TODO: Final = "rebase-merge/git-rebase-todo"


async def merge(repo: Repository, ask: WriteArguments) -> ToolResult:
    """Join another branch into this one."""
    if ask.ref is None:
        raise _missing("merge", "Name a branch or a commit.")
    if ask.strategy == "rebase":
        raise ToolFailure(
            "merge does not rebase.", fix='Use action "rebase".', code="invalid_arguments"
        )
    name = single_revision(ask.ref)
    return await merged(repo, name, strategy=ask.strategy, message=ask.message, action="merge")


async def merged(
    repo: Repository,
    name: str,
    *,
    strategy: Strategy | None,
    message: str | None = None,
    action: str,
) -> ToolResult:
    """Merge a revision that was judged already."""
    await require_idle(repo, action)
    await require_room(repo, name, action, joined=True)
    options = ["--ff-only"] if strategy == "ff_only" else []
    options += [f"-m{message}"] if message else []
    done = await repo.git(
        "merge",
        "--no-edit",
        "--no-verify",
        "--no-gpg-sign",
        "--no-verify-signatures",
        "--no-stat",
        "--no-progress",
        "--no-autostash",
        *options,
        name,
        accept=_ANY,
        env=identity(repo.settings, os.environ),
    )
    if done.code:
        return await stopped(repo, done, action, "merge")
    if "already up to date" in done.text.lower():
        return ToolResult(output="Already up to date.", structured={"up_to_date": True})
    return await told_commit(repo, "Merged; the branch is now at")


async def merge_abort(repo: Repository, ask: WriteArguments) -> ToolResult:
    """Give up a merge that stopped; files are again as before it."""
    await repo.git("merge", "--abort", action="merge_abort")
    return await now(repo, "The merge was given up.")


async def rebase(repo: Repository, ask: WriteArguments) -> ToolResult:
    """Put this branch's own commits on top of another one."""
    if ask.ref is None:
        raise _missing("rebase", "Name the branch to put this one's commits on.")
    return await rebased(repo, single_revision(ask.ref), action="rebase")


async def rebased(repo: Repository, name: str, *, action: str) -> ToolResult:
    """Rebase onto a revision that was judged already."""
    await require_idle(repo, action)
    await require_none_hidden(repo, action)
    await require_room(repo, name, action, joined=True)
    done = await repo.git(
        "rebase",
        "--merge",
        "--no-verify",
        "--no-autosquash",
        "--no-autostash",
        "--no-gpg-sign",
        "--no-stat",
        "--no-rebase-merges",
        "--no-update-refs",
        name,
        accept=_ANY,
        env=identity(repo.settings, os.environ),
    )
    return await _rebase_end(repo, done, action)


async def rebase_continue(repo: Repository, ask: WriteArguments) -> ToolResult:
    """Go on with a rebase that stopped, once its files are resolved and added."""
    await require_no_conflicts(repo, "rebase_continue")
    await _require_plain_steps(repo)
    done = await repo.git(
        "rebase", "--continue", accept=_ANY, env=identity(repo.settings, os.environ)
    )
    return await _rebase_end(repo, done, "rebase_continue")


async def rebase_skip(repo: Repository, ask: WriteArguments) -> ToolResult:
    """Go on with a rebase without the commit that stopped."""
    await _require_plain_steps(repo)
    await require_only_conflicts(repo, "skip")
    done = await repo.git("rebase", "--skip", accept=_ANY, env=identity(repo.settings, os.environ))
    return await _rebase_end(repo, done, "skip")


async def rebase_abort(repo: Repository, ask: WriteArguments) -> ToolResult:
    """Give up a rebase that stopped; the branch is again as before it."""
    if await repo.in_progress() == "rebase":
        await require_only_conflicts(repo, "rebase_abort")
    await repo.git("rebase", "--abort", action="rebase_abort")
    return await now(repo, "The rebase was given up.")


async def stash_push(repo: Repository, ask: WriteArguments) -> ToolResult:
    """Put changes away, and leave the working tree clean."""
    paths = repository_paths(ask.paths, repo.root)
    options = ["--include-untracked"] if ask.untracked else []
    options += [f"--message={ask.message}"] if ask.message else []
    left_out = await hidden(repo, paths or ["."], action="stash_push", untracked=ask.untracked)
    kept, patterns = without(paths, left_out)
    if not paths:  # git gives itself a pattern for "all"
        patterns = {"GIT_LITERAL_PATHSPECS": "0"}
    done = await repo.git(
        "stash",
        "push",
        *options,
        "--",
        *kept,
        action="stash_push",
        env={**identity(repo.settings, os.environ), **patterns},
    )
    if "no local changes" in done.said.lower():
        raise ToolFailure(
            "There is nothing to put away.",
            fix="Set untracked to true to put new files away too.",
            code="nothing_to_stash",
        )
    return await now(repo, "\n".join(["Put the changes away.", *withheld_note(left_out)]))


async def stash_pop(repo: Repository, ask: WriteArguments) -> ToolResult:
    """Bring changes back, and drop the entry."""
    return await _unstashed(repo, "pop", ask)


async def stash_apply(repo: Repository, ask: WriteArguments) -> ToolResult:
    """Bring changes back, and keep the entry."""
    return await _unstashed(repo, "apply", ask)


async def stash_drop(repo: Repository, ask: WriteArguments) -> ToolResult:
    """Drop an entry of the stash."""
    entry = await repo.git(
        *("rev-parse", "--verify", "--quiet", "--end-of-options", _entry(ask)),
        action="stash_drop",
        unsaid="no stash entries found",
    )
    await repo.git("stash", "drop", "--quiet", _entry(ask), action="stash_drop")
    was = entry.text.strip()[:10]
    return await now(
        repo, f"Dropped {_entry(ask)}, {was}. To get it back: branch_create, ref {was}."
    )


async def _unstashed(repo: Repository, verb: str, ask: WriteArguments) -> ToolResult:
    done = await repo.git(
        "stash",
        verb,
        "--quiet",
        _entry(ask),
        accept=_ANY,
        env=identity(repo.settings, os.environ),
    )
    if done.code:
        return await stopped(repo, done, f"stash_{verb}", "stash")
    return await now(repo, "Brought the changes back.")


async def _rebase_end(repo: Repository, done: Output, action: str) -> ToolResult:
    if done.code:
        return await stopped(repo, done, action, "rebase")
    return await now(repo, said_words(done.said).splitlines()[-1] or "Rebased.")


async def _require_plain_steps(repo: Repository) -> None:
    """Refuse a rebase that has commands still to run, which files of the repository may name.

    Raises:
        ToolFailure: When there are some, or it is not one that this tool began.
    """
    try:
        data = await repo.sandbox.read(f"{repo.git_dir}/{_TODO}", limit=1_048_576)
    except FileNotFoundError:
        raise failure("no rebase in progress", repo.root, "rebase_continue") from None
    for line in plain(data).splitlines():
        step = line.strip().partition(" ")[0]
        if step and not step.startswith("#") and step not in _STEPS:
            raise ToolFailure(
                f"The rebase would run a command: {shown(line.strip())[:200]}",
                fix="A person can go on with it; or give up with rebase_abort.",
                code="unsafe_configuration",
            )


async def now(repo: Repository, text: str) -> ToolResult:
    """Return a text with how the repository is now."""
    found, more = await read_status(repo)
    return ToolResult(output=text, structured={**found.to_dict(), "more": more})


def _entry(ask: WriteArguments) -> str:
    return f"stash@{{{ask.index or 0}}}"


def _missing(action: str, fix: str) -> ToolFailure:
    return ToolFailure(f"{action} needs a ref.", fix=fix, code="invalid_arguments")
