"""`log`, `show`, `diff`, `file` and `stash`: commits and what they change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from pegboard import ToolFailure, ToolResult
from pegboard_git.commits import FORMAT, Commit, parse_commits
from pegboard_git.names import decoded, plain, plural, repository_paths, revision, single_revision
from pegboard_git.reading.arguments import ReadArguments
from pegboard_git.repository import Output, Repository

_COMMITS: Final = 20
_FILES: Final = 1000
_PATCH: Final = 262_144
SAFE_DIFF: Final = ("--no-ext-diff", "--no-textconv", "--ignore-submodules=all", "--no-color")
_FORMS: Final = {"patch": "--patch", "stat": "--stat", "names": "--name-status"}
_MORE: Final = "[there is more; name paths, or a smaller range]"


async def log(repo: Repository, ask: ReadArguments) -> ToolResult:
    """Tell the commits, the newest first."""
    limit = ask.limit or _COMMITS
    selection = _selection(repo, ask)
    done = await repo.git("log", FORMAT, f"--max-count={limit + 1}", *selection, action="log")
    commits = parse_commits(done.data)
    more = len(commits) > limit or done.cut
    commits = commits[:limit]
    lines = [commit.line for commit in commits] or ["[no commits]"]
    if ask.form is not None and commits:
        wanted = ("--format=medium", "--no-show-signature", *SAFE_DIFF, _FORMS[ask.form])
        text = await repo.git(
            "log", *wanted, f"--max-count={limit}", *selection, action="log", keep=_PATCH
        )
        lines = _cut_text(text)
    if more:
        lines.append(f"[more than {plural(limit, 'commit')}; the next with skip {limit}]")
    facts = {"commits": [commit.to_dict() for commit in commits], "more": more}
    return ToolResult(output="\n".join(lines), structured={**facts, "count": len(commits)})


async def show(repo: Repository, ask: ReadArguments) -> ToolResult:
    """Tell one commit and what it changes."""
    name = single_revision(ask.ref or "HEAD")
    paths = repository_paths(ask.paths, repo.root)
    done = await repo.git(
        "log", FORMAT, "--max-count=1", "--end-of-options", name, "--", action="show"
    )
    commits = parse_commits(done.data)
    if not commits:
        raise ToolFailure(
            f"{name} is no commit.", fix='Use action "log" to see some.', code="unknown_revision"
        )
    commit = commits[0]
    # the first parent is what a merge is compared with
    command = ("show", "--format=", "--no-show-signature", "-M", "-m", "--first-parent")
    text, files, more = await _difference(repo, ask, command, (commit.hash,), paths)
    return ToolResult(
        output="\n".join([*_head(commit), "", *(text or ["[it changes no files]"])]),
        structured={"commit": commit.to_dict(), "files": files, "more": more},
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
    command = ("diff", "-M", *(("--cached",) if ask.staged else ()))
    text, files, more = await _difference(repo, ask, command, names, paths)
    return ToolResult(
        output="\n".join(text or ["[no differences]"]),
        structured={"files": files, "count": len(files), "more": more},
    )


async def stash(repo: Repository, ask: ReadArguments) -> ToolResult:
    """List the stash, or show one entry of it."""
    if ask.index is not None:
        name = f"stash@{{{ask.index}}}"
        form = _FORMS[ask.form or "patch"]
        done = await repo.git(
            "stash", "show", "--no-color", *SAFE_DIFF, form, name, action="stash", keep=_PATCH
        )
        return ToolResult(output="\n".join(_cut_text(done)), structured={"more": done.cut})
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
    done = await repo.git("cat-file", "blob", f"{name}:{path}", action="file", keep=_PATCH)
    if b"\0" in done.data[:8192]:
        raise ToolFailure(
            f"{path} is a binary file at {name}.",
            fix='Use action "log" with its path to see when it changed.',
            code="binary",
        )
    lines = _cut_text(done)
    return ToolResult(
        output="\n".join(lines) or "[the file is empty]",
        structured={"ref": name, "path": path, "more": done.cut},
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


async def _difference(
    repo: Repository,
    ask: ReadArguments,
    command: Sequence[str],
    names: Sequence[str],
    paths: Sequence[str],
) -> tuple[list[str], list[dict[str, Any]], bool]:
    """Return a difference as text, its files as data, and whether there is more of it."""
    what = ("--end-of-options", *names, "--", *paths)
    counted = await repo.git(*command, *SAFE_DIFF, "--numstat", "-z", *what)
    files = parse_numstat(counted.data)
    more = counted.cut or len(files) > _FILES
    context = () if ask.context is None else (f"--unified={ask.context}",)
    form = (_FORMS[ask.form or "patch"], *context)
    text = await repo.git(*command, *SAFE_DIFF, *form, *what, keep=_PATCH)
    return _cut_text(text), files[:_FILES], more or text.cut


def parse_numstat(data: bytes) -> list[dict[str, Any]]:
    """Return the files of `--numstat -z`, with the lines that were added and deleted."""
    found: list[dict[str, Any]] = []
    records = iter(data.split(b"\0"))
    for record in records:
        counts = record.lstrip(b"\n").split(b"\t", 2)
        if len(counts) != 3:
            continue
        added, deleted, name = counts
        fact: dict[str, Any] = {"path": decoded(name)}
        if not name:  # a rename names the old and the new path after it
            fact = {"old_path": decoded(next(records, b"")), "path": decoded(next(records, b""))}
        binary = added == b"-"
        fact |= {"binary": True} if binary else {"added": int(added), "deleted": int(deleted)}
        found.append(fact)
    return found


def _head(commit: Commit) -> list[str]:
    lines = [f"commit {commit.hash}", f"author {commit.author} <{commit.email}>, {commit.date}"]
    lines += [f"merge of {' '.join(commit.parents)}"] if len(commit.parents) > 1 else []
    body = ["", *commit.body.splitlines()] if commit.body else []
    return [*lines, "", *(f"    {line}".rstrip() for line in (commit.subject, *body))]


def _cut_text(done: Output) -> list[str]:
    lines = done.text.rstrip("\n").split("\n") if done.data else []
    return [*lines, _MORE] if done.cut else lines
