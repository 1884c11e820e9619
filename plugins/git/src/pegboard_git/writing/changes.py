"""`init`, `add`, `unstage`, `restore` and `commit`: from the working tree into history."""

from __future__ import annotations

import os
from typing import Final

from pegboard import ToolContext, ToolFailure, ToolResult
from pegboard_git.commits import FORMAT, parse_commits
from pegboard_git.failing import failure
from pegboard_git.names import (
    branch_name,
    decoded,
    plural,
    repository_paths,
    shown,
    single_revision,
)
from pegboard_git.reading.history import SAFE_DIFF, parse_numstat
from pegboard_git.reading.state import read_status
from pegboard_git.repository import Repository, run_outside
from pegboard_git.writing.arguments import WriteArguments
from pegboard_git.writing.conflict import require_no_conflicts
from pegboard_git.writing.identity import identity

_NAMED: Final = 20
_MANY: Final = 16_777_216
_NO_FILTER: Final = frozenset({b"unspecified", b"unset", b"set"})


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
    await _require_unfiltered(repo, paths)
    await repo.git("add", "--all", "--", *paths, action="add")
    return await _index(repo, "Added")


async def unstage(repo: Repository, ask: WriteArguments) -> ToolResult:
    """Take files out of the index again; the working tree stays as it is."""
    paths = repository_paths(ask.paths or (".",), repo.root)
    found, _ = await read_status(repo, limit=1)
    if found.commit:
        await repo.git("reset", "--quiet", "--", *paths, action="unstage")
    else:
        await repo.git("rm", "--cached", "-r", "--quiet", "--", *paths, action="unstage")
    return await _index(repo, "Unstaged")


async def restore(repo: Repository, ask: WriteArguments) -> ToolResult:
    """Put files back as they are in the index, or in a commit; their changes are lost."""
    paths = repository_paths(ask.paths, repo.root)
    if not paths:
        raise _needs("restore", "paths", "Name the files whose changes shall be lost.")
    source = [] if ask.ref is None else [f"--source={single_revision(ask.ref)}"]
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
        *paths,
        action="restore",
    )
    return await _index(repo, "Restored")


async def commit(repo: Repository, ask: WriteArguments) -> ToolResult:
    """Record what is in the index."""
    written = bool(ask.message and ask.message.strip())
    if not (written or ask.amend or await repo.in_progress() == "merge"):
        raise _needs("commit", "a message", "Say in a line what changes, and why below it.")
    await require_no_conflicts(repo, "commit")
    if ask.all:
        await _require_unfiltered(repo, ["."], tracked=True)
    options = ["--all"] if ask.all else []
    options += ["--amend"] if ask.amend else []
    # what git has written itself has lines for an editor; in what was given # means itself
    options += ["--cleanup=whitespace", "-F", "-"] if written else ["--cleanup=strip", "--no-edit"]
    await repo.git(
        *("commit", "--quiet", "--no-verify", "--no-gpg-sign", "--no-post-rewrite"),
        *options,
        stdin=(ask.message or "").encode("utf-8", "replace"),
        env=identity(repo.settings, os.environ),
    )
    return await told_commit(repo, "Amended" if ask.amend else "Committed")


async def told_commit(repo: Repository, verb: str) -> ToolResult:
    """Return what there is to say of the commit that was just made."""
    done = await repo.git("log", FORMAT, "--max-count=1", "HEAD", "--")
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
    return ToolResult(
        output=f"{verb} {made.hash[:10]}: {made.subject} ({plural(len(files), 'file')})",
        structured={"commit": made.to_dict(), "files": files[:1000]},
    )


async def _index(repo: Repository, verb: str) -> ToolResult:
    found, more = await read_status(repo)
    text = (
        f"{verb}. Staged: {plural(len(found.staged), 'file')}; "
        f"not staged: {len(found.unstaged)}; untracked: {len(found.untracked)}."
    )
    names = [f"  {change.kind}: {change.path}" for change in found.staged[:_NAMED]]
    return ToolResult(
        output="\n".join([text, *names]), structured={**found.to_dict(), "more": more}
    )


async def _require_unfiltered(repo: Repository, paths: list[str], *, tracked: bool = False) -> None:
    """Refuse to store files that a filter would have to convert: filters are programs.

    Raises:
        ToolFailure: When there is one; stored as it is, it would be another file for everybody.
    """
    which = ("--modified",) if tracked else ("--modified", "--others", "--exclude-standard")
    listed = await repo.git("ls-files", "-z", *which, "--", *paths, action="add", keep=_MANY)
    if not listed.data:
        return
    found = await repo.git(
        "check-attr", "-z", "--stdin", "filter", stdin=listed.data, keep=4 * _MANY
    )
    fields = found.data.split(b"\0")[:-1]
    filtered = [
        (path, value)
        for path, value in zip(fields[::3], fields[2::3], strict=False)
        if value not in _NO_FILTER
    ]
    if filtered:
        path, value = filtered[0]
        raise ToolFailure(
            f"{decoded(path)} is to be stored through the filter {decoded(value)}, which is a "
            f"program that this tool does not run ({plural(len(filtered), 'such file')}).",
            fix="A person can add it with git itself; leave it out of paths.",
            code="filtered",
        )


def _needs(action: str, what: str, fix: str) -> ToolFailure:
    return ToolFailure(f"{action} needs {what}.", fix=fix, code="invalid_arguments")
