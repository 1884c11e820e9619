"""`init`, `add`, `unstage`, `restore` and `commit`: from the working tree into history."""

from __future__ import annotations

import os
from types import MappingProxyType
from typing import Final

from pegboard import ToolContext, ToolFailure, ToolResult
from pegboard_git.commits import DECORATED, FORMAT, parse_commits
from pegboard_git.failures import failure
from pegboard_git.git_call import run_outside
from pegboard_git.names import branch_name, plural, repository_paths, shown, single_revision
from pegboard_git.reading.differences import SAFE_DIFF, parse_numstat
from pegboard_git.reading.state import read_status
from pegboard_git.repository import Repository
from pegboard_git.withheld import Withheld, withheld_note, without
from pegboard_git.writing.arguments import WriteArguments
from pegboard_git.writing.conflict import require_no_conflicts
from pegboard_git.writing.identity import identity
from pegboard_git.writing.unstored_files import hidden, storable

_NAMED: Final = 20


async def init(ctx: ToolContext, folder: str, ask: WriteArguments) -> ToolResult:
    """Make a repository, without hooks and without anything of a template."""
    name = branch_name(ask.branch or "main")
    await ctx.sandbox.make_dir(folder)
    place = ctx.sandbox.resolve(folder)
    if await ctx.sandbox.stat(f"{place}/.git") is not None:
        raise ToolFailure(
            f"{shown(folder)} is a repository already.",
            fix='Use git_read with action "status".',
            code="exists",
        )
    ctx.sandbox.resolve(f"{place}/new", write=True)
    done = await run_outside(
        ctx, place, "init", "--quiet", "--template=", f"--initial-branch={name}"
    )
    if done.code:
        raise failure(done.said, place, "init")
    told = [f"[sandbox: {note}]" for note in done.notes]
    shown_place = ctx.sandbox.display(place)
    return ToolResult(
        output="\n".join([f"Made a repository in {shown_place}, branch {name}.", *told]),
        structured={"root": shown_place, "branch": name},
    )


async def add(repo: Repository, ask: WriteArguments) -> ToolResult:
    """Put files into the index, as they are now; deleted ones too."""
    paths = repository_paths(ask.paths, repo.root)
    if not paths:
        raise _needs("add", "paths", 'Name files, or "." for all.')
    left_out = await storable(repo, paths)
    kept, env = without(paths, left_out)
    await repo.git("add", "--all", "--", *kept, action="add", env=env)
    return await told_index(repo, "Added", left_out)


async def unstage(repo: Repository, ask: WriteArguments) -> ToolResult:
    """Take files out of the index again; the working tree stays as it is."""
    paths = repository_paths(ask.paths or (".",), repo.root)
    found, _ = await read_status(repo, limit=1)
    if found.commit:
        await repo.git("reset", "--quiet", "--", *paths, action="unstage")
    else:
        await repo.git("rm", "--cached", "-r", "--quiet", "--", *paths, action="unstage")
    return await told_index(repo, "Unstaged")


async def restore(repo: Repository, ask: WriteArguments) -> ToolResult:
    """Put files back as they are in the index, or in a commit; their changes are lost."""
    paths = repository_paths(ask.paths, repo.root)
    if not paths:
        raise _needs("restore", "paths", "Name the files whose changes shall be lost.")
    source = [] if ask.ref is None else [f"--source={single_revision(ask.ref)}"]
    left_out = await hidden(repo, paths, action="restore")
    kept, env = without(paths, left_out)
    both = ("--staged", "--worktree") if ask.staged else ("--worktree",)
    if ask.staged and not source:
        source = ["--source=HEAD"]
    await repo.git(
        "restore",
        "--no-recurse-submodules",
        "--quiet",
        *both,
        *source,
        "--",
        *kept,
        action="restore",
        env=env,
    )
    return await told_index(repo, "Restored", left_out)


async def commit(repo: Repository, ask: WriteArguments) -> ToolResult:
    """Record what is in the index."""
    written = bool(ask.message and ask.message.strip())
    if not (written or ask.amend or await repo.in_progress() == "merge"):
        raise _needs("commit", "a message", "Say in a line what changes, and why below it.")
    await require_no_conflicts(repo, "commit")
    left_out = await storable(repo, ["."], tracked=True, action="commit") if ask.all else {}
    if left_out:  # `commit --all` takes no paths
        kept, env = without(["."], left_out)
        await repo.git("add", "--update", "--", *kept, action="commit", env=env)
    options = ["--all"] if ask.all and not left_out else []
    options += ["--amend"] if ask.amend else []
    # what git has written itself has lines for an editor; in what was given # means itself
    options += ["--cleanup=whitespace", "-F", "-"] if written else ["--cleanup=strip", "--no-edit"]
    await repo.git(
        *("commit", "--quiet", "--no-verify", "--no-gpg-sign", "--no-post-rewrite"),
        *options,
        stdin=(ask.message or "").encode("utf-8", "replace"),
        env=identity(repo.settings, os.environ),
    )
    return await told_commit(repo, "Amended" if ask.amend else "Committed", left_out)


async def told_commit(
    repo: Repository, verb: str, left_out: Withheld = MappingProxyType({})
) -> ToolResult:
    """Return what there is to say of the commit that was just made."""
    done = await repo.git("log", *DECORATED, FORMAT, "--max-count=1", "HEAD", "--")
    made = parse_commits(done.data)[0]
    counted = await repo.git(
        "show",
        "--format=",
        "-M",
        "-m",
        "--first-parent",
        *SAFE_DIFF,
        "--numstat",
        "-z",
        made.hash,
        "--",
    )
    files = parse_numstat(counted.data)
    text = f"{verb} {made.hash[:10]}: {made.subject} ({plural(len(files), 'file')})"
    return ToolResult(
        output="\n".join([text, *withheld_note(left_out)]),
        structured={"commit": made.to_dict(), "files": files[:1000]},
    )


async def told_index(
    repo: Repository, verb: str, left_out: Withheld = MappingProxyType({})
) -> ToolResult:
    """Return what there is to say of the index after a change of it."""
    found, more = await read_status(repo)
    text = (
        f"{verb}. Staged: {'at least ' if more else ''}{plural(len(found.staged), 'file')}; "
        f"not staged: {len(found.unstaged)}; untracked: {len(found.untracked)}."
    )
    names = [f"  {change.kind}: {change.path}" for change in found.staged[:_NAMED]]
    return ToolResult(
        output="\n".join([text, *names, *withheld_note(left_out)]),
        structured={**found.to_dict(), "more": more},
    )


def _needs(action: str, what: str, fix: str) -> ToolFailure:
    return ToolFailure(f"{action} needs {what}.", fix=fix, code="invalid_arguments")
