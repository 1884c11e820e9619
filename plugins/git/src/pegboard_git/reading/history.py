"""`log`, `show`, `diff`, `file` and `stash`: commits and what they change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pegboard import ToolFailure, ToolResult
from pegboard_git.commits import DECORATED, FORMAT, Commit, parse_commits
from pegboard_git.names import (
    decoded,
    plain,
    plural,
    repository_paths,
    revision,
    shown,
    single_revision,
)
from pegboard_git.reading.arguments import ReadArguments
from pegboard_git.reading.differences import (
    FORMS,
    JUDGED,
    PATCH,
    RAW,
    SAFE_DIFF,
    cut_text,
    difference,
)
from pegboard_git.reading.trees import find_entry, require_commits
from pegboard_git.repository import Repository
from pegboard_git.withheld import (
    parse_raw,
    require_shown,
    withheld,
    withheld_facts,
    withheld_note,
    without,
)

_COMMITS: Final = 20
_MANY: Final = 16_777_216
_TREE: Final = ("diff-tree", "--stdin", "--root", "-r", "-M")


async def log(repo: Repository, ask: ReadArguments) -> ToolResult:
    """Tell the commits, the newest first."""
    limit = ask.limit or _COMMITS
    selection = _selection(repo, ask)
    done = await repo.git(
        "log", *DECORATED, FORMAT, f"--max-count={limit + 1}", *selection, action="log"
    )
    commits = parse_commits(done.data)
    more = len(commits) > limit or done.cut
    commits = commits[:limit]
    lines = [commit.line for commit in commits] or ["[no commits]"]
    facts: dict[str, Any] = {"commits": [commit.to_dict() for commit in commits], "more": more}
    if ask.form is not None and commits:
        lines, hidden = await _changes(repo, ask, commits)
        facts |= {"withheld": withheld_facts(hidden)} if hidden else {}
    if more:
        lines.append(f"[more than {plural(limit, 'commit')}; the next with skip {limit}]")
    return ToolResult(output="\n".join(lines), structured={**facts, "count": len(commits)})


async def show(repo: Repository, ask: ReadArguments) -> ToolResult:
    """Tell one commit and what it changes."""
    name = single_revision(ask.ref or "HEAD")
    paths = repository_paths(ask.paths, repo.root)
    done = await repo.git(
        "log", *DECORATED, FORMAT, "--max-count=1", "--end-of-options", name, "--", action="show"
    )
    commits = parse_commits(done.data)
    if not commits:
        raise ToolFailure(
            f"{name} is no commit.", fix='Use action "log" to see some.', code="unknown_revision"
        )
    commit = commits[0]
    # the first parent is what a merge is compared with
    command = ("show", "--format=", "--no-show-signature", "-M", "-m", "--first-parent")
    found = await difference(repo, ask, command, (commit.hash,), paths)
    return ToolResult(
        output="\n".join([*_head(commit), "", *(found.lines or ["[it changes no files]"])]),
        structured={"commit": commit.to_dict(), **found.to_dict()},
    )


async def diff(repo: Repository, ask: ReadArguments) -> ToolResult:
    """Tell what differs: the working tree, the index, or two commits."""
    paths = repository_paths(ask.paths, repo.root)
    names = () if ask.ref is None else (revision(ask.ref),)
    if ask.staged and names and ".." in names[0]:
        raise ToolFailure(
            "staged compares the index with one revision.",
            fix="Leave out staged, or name one revision.",
            code="invalid_arguments",
        )
    await require_commits(repo, names, "diff")
    command = ("diff", "-M", *(("--cached",) if ask.staged else ()))
    found = await difference(repo, ask, command, names, paths)
    return ToolResult(
        output="\n".join(found.lines or ["[no differences]"]), structured=found.to_dict()
    )


async def stash(repo: Repository, ask: ReadArguments) -> ToolResult:
    """List the stash, or show one entry of it."""
    if ask.index is not None:
        return await _stash_entry(repo, ask)
    found = await repo.git("stash", "list", "--format=tformat:%gd%x00%H%x00%aI%x00%gs%x00")
    fields = [plain(part).strip() for part in found.data.split(b"\0")]
    entries = [
        {"index": number, "hash": commit, "date": date, "subject": subject}
        for number, (_, commit, date, subject) in enumerate(
            zip(*(iter(fields[:-1]),) * 4, strict=False)
        )
    ]
    lines = [f"{item['index']}: {item['subject']}" for item in entries]
    return ToolResult(
        output="\n".join(lines) or "[the stash is empty]",
        structured={"entries": entries, "count": len(entries)},
    )


async def file(repo: Repository, ask: ReadArguments) -> ToolResult:
    """Return a file as it was in one commit."""
    name = single_revision(ask.ref or "HEAD")
    path = one_path(repo, ask, "file")
    entry = await find_entry(repo, name, path, "file")
    if entry.kind != "blob":
        raise ToolFailure(
            f"{shown(path)} is no file at {name}.",
            fix='Use action "ls_tree" with its path to see what is in it.',
            code="not_a_file",
        )
    await require_shown(repo, entry.version)
    done = await repo.git("cat-file", "blob", entry.hash, action="file", keep=PATCH)
    if b"\0" in done.data[:8192]:
        raise ToolFailure(
            f"{shown(path)} is a binary file at {name}.",
            fix='Use action "log" with its path to see when it changed.',
            code="binary",
        )
    lines = cut_text(done)
    return ToolResult(
        output="\n".join(lines) or "[the file is empty]",
        structured={"ref": name, "path": shown(path), "more": done.cut},
    )


def one_path(repo: Repository, ask: ReadArguments, action: str) -> str:
    """Return the one path of a call that is about one file.

    Raises:
        ToolFailure: When there is none, or several.
    """
    if len(ask.paths) != 1:
        raise ToolFailure(
            f"{action} takes exactly one path.", fix="Name one file.", code="invalid_arguments"
        )
    return repository_paths(ask.paths, repo.root)[0]


def _selection(repo: Repository, ask: ReadArguments) -> list[str]:
    given = {"--author=": ask.author, "--grep=": ask.text}
    dates = {"--since=": ask.since, "--until=": ask.until}
    found = [f"{option}{text}" for option, text in {**given, **dates}.items() if text]
    if any(given.values()):
        found += ["--fixed-strings", "--regexp-ignore-case"]
    found += [f"--skip={ask.skip}"] if ask.skip else []
    found += ["--branches", "--tags", "--remotes"] if ask.all_refs else []
    names = [] if ask.ref is None else [revision(ask.ref)]
    return [*found, "--end-of-options", *names, "--", *repository_paths(ask.paths, repo.root)]


async def _changes(
    repo: Repository, ask: ReadArguments, commits: Sequence[Commit]
) -> tuple[list[str], Mapping[str, str]]:
    """Return what each commit changes as text, and why files are left out of it."""
    paths = repository_paths(ask.paths, repo.root)
    names = "".join(f"{commit.hash}\n" for commit in commits).encode()
    raw = await repo.git(
        *_TREE, "--no-commit-id", *SAFE_DIFF, *RAW, "--", *paths, stdin=names, keep=_MANY
    )
    hidden = await withheld(repo, parse_raw(raw.data)[:JUDGED])
    kept, env = without(paths, hidden)
    done = await repo.git(
        *(*_TREE, "--always", "--pretty=medium", "--no-show-signature", "--no-notes"),
        *(*SAFE_DIFF, FORMS[ask.form or "patch"], "--", *kept),
        stdin=names,
        keep=PATCH,
        env=env,
    )
    return [*cut_text(done), *withheld_note(hidden)], hidden


async def _stash_entry(repo: Repository, ask: ReadArguments) -> ToolResult:
    name = f"stash@{{{ask.index}}}"
    await repo.git(
        *("rev-parse", "--verify", "--quiet", "--end-of-options", name),
        action="stash",
        unsaid="no stash entries found",
    )
    found = await difference(repo, ask, ("diff", "-M"), (f"{name}^1", name), ())
    lines, facts = found.lines or ["[no tracked file is changed]"], found.to_dict()
    untracked = await repo.git("ls-tree", "-r", "-z", "--name-only", f"{name}^3", accept=(0, 128))
    if not untracked.code:  # new files are in a commit of their own
        names = [decoded(item) for item in untracked.data.split(b"\0") if item]
        lines = [*lines, "Untracked files in it:", *(f"  {item}" for item in names)]
        facts |= {"untracked": names}
    return ToolResult(output="\n".join(lines), structured=facts)


def _head(commit: Commit) -> list[str]:
    lines = [f"commit {commit.hash}", f"author {commit.author} <{commit.email}>, {commit.date}"]
    lines += [f"merge of {' '.join(commit.parents)}"] if len(commit.parents) > 1 else []
    body = ["", *commit.body.splitlines()] if commit.body else []
    return [*lines, "", *(f"    {line}".rstrip() for line in (commit.subject, *body))]
