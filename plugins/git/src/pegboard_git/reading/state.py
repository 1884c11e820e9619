"""`status`, `ls_files` and `rev_parse`: what the working tree and the index hold."""

from __future__ import annotations

from typing import Final

from pegboard import ToolResult
from pegboard_git.names import decoded, plural, repository_paths, shown, single_revision
from pegboard_git.reading.arguments import ReadArguments
from pegboard_git.repository import Repository
from pegboard_git.status import Change, Status, parse_status
from pegboard_git.withheld import Version, withheld

_ENTRIES: Final = 500
_WHICH: Final = {
    "tracked": ("--cached",),
    "modified": ("--modified",),
    "deleted": ("--deleted",),
    "untracked": ("--others", "--exclude-standard"),
    "ignored": ("--others", "--ignored", "--exclude-standard", "--directory"),
    "conflicted": ("--unmerged",),
}
_NEXT: Final = {
    "merge": "resolve and add the files, then commit; or merge_abort",
    "rebase": "resolve and add the files, then rebase_continue; or rebase_abort",
    "cherry-pick": "resolve and add the files, then continue; or skip, or abort",
    "revert": "resolve and add the files, then continue; or skip, or abort",
}


async def status(repo: Repository, ask: ReadArguments) -> ToolResult:
    """Tell the branch, what is staged, what is not, and what is in conflict."""
    found, more = await read_status(repo, ask.paths, limit=ask.limit or _ENTRIES)
    operation = await repo.in_progress()
    lines = [_branch_line(found)]
    if operation:
        lines.append(f"[a {operation} is in progress: {_NEXT.get(operation, 'a person began it')}]")
    lines += _section("In conflict", found.conflicts)
    lines += _section("Staged", found.staged)
    lines += _section("Not staged", found.unstaged)
    lines += ["Untracked:", *(f"  {name}" for name in found.untracked)] if found.untracked else []
    if found.clean:
        lines.append("Nothing has changed.")
    if found.stashes:
        lines.append(f"[{plural(found.stashes, 'stash entry', 'stash entries')}]")
    if more:
        lines.append("[there is more; name paths, or raise the limit]")
    lines += filter_note(repo)
    lines += await _hidden_note(repo, found)
    facts = {
        **found.to_dict(),
        "in_progress": operation or None,
        "root": repo.sandbox.display(repo.root),
        "more": more,
    }
    return ToolResult(output="\n".join(lines), structured=facts)


async def read_status(
    repo: Repository, paths: tuple[str, ...] = (), *, limit: int = _ENTRIES
) -> tuple[Status, bool]:
    """Return the status, and whether there is more of it."""
    done = await repo.git(
        "status",
        "--porcelain=v2",
        "-z",
        "--branch",
        "--show-stash",
        "--untracked-files=normal",
        "--ignore-submodules=dirty",
        "--",
        *repository_paths(paths, repo.root),
    )
    found, more = parse_status(done.data, limit=limit)
    return found, more or done.cut


async def ls_files(repo: Repository, ask: ReadArguments) -> ToolResult:
    """List files of the index or the working tree."""
    limit = ask.limit or _ENTRIES
    which = ask.which or "tracked"
    done = await repo.git(
        "ls-files",
        "-z",
        "--deduplicate",
        *_WHICH[which],
        "--",
        *repository_paths(ask.paths, repo.root),
    )
    records = [record for record in done.data.split(b"\0")[:-1] if record]
    if which == "conflicted":  # with their stages: `mode hash stage<TAB>name`
        records = [record.partition(b"\t")[2] for record in records]
    names = list(dict.fromkeys(map(decoded, records)))
    more = len(names) > limit or done.cut
    names = names[:limit]
    lines = names or [f"[no {which} files]"]
    if more:
        lines = [*lines, f"[more than {plural(limit, 'file')}; name paths]"]
    return ToolResult(
        output="\n".join(lines),
        structured={"which": which, "files": names, "count": len(names), "more": more},
    )


async def rev_parse(repo: Repository, ask: ReadArguments) -> ToolResult:
    """Tell which commit a name stands for."""
    name = single_revision(ask.ref or "HEAD")
    done = await repo.git(
        *("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{object}}"),
        action="rev_parse",
        unsaid=f"bad revision '{name}'",
    )
    kind = await repo.git("cat-file", "-t", done.text.strip())
    found = {"ref": name, "hash": done.text.strip(), "type": kind.text.strip()}
    return ToolResult(output=f"{found['hash']} {found['type']}", structured=found)


def filter_note(repo: Repository) -> list[str]:
    """Return a line about filters that were left out, where the repository sets any."""
    if not repo.filters:
        return []
    names = ", ".join(map(shown, repo.filters))
    return [f"[filters left out: {names}; files that they convert may be shown as changed]"]


async def _hidden_note(repo: Repository, found: Status) -> list[str]:
    """Return a line about files that look changed as the sandbox hides them from git."""
    versions = [item for change in found.unstaged if (item := Version(change.path)).may_be_key]
    names = ", ".join(map(shown, await withheld(repo, versions)))
    return [f"[not compared, as protected: {names}; whether it has changed is not known]"] * bool(
        names
    )


def _branch_line(found: Status) -> str:
    if not found.branch:
        return f"No branch is checked out (detached at {found.commit[:10]})"
    line = f"On branch {found.branch}"
    if not found.commit:
        return f"{line}, no commits yet"
    if not found.upstream:
        return line
    counts = [f"{found.ahead} ahead"] if found.ahead else []
    counts += [f"{found.behind} behind"] if found.behind else []
    return f"{line}, {' and '.join(counts) or 'level with'} {found.upstream}"


def _section(title: str, changes: list[Change]) -> list[str]:
    if not changes:
        return []
    return [
        f"{title}:",
        *(
            f"  {change.kind}: {change.path}"
            + (f" (was {change.old_path})" if change.old_path else "")
            for change in changes
        ),
    ]
