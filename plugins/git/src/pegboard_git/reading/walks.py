"""`reflog`, `merge_base` and `shortlog`: where names have been, where lines of work part, who."""

from __future__ import annotations

import re
from typing import Any, Final

from pegboard import ToolFailure, ToolResult
from pegboard_git.names import plain, plural, repository_paths, revision, shown, single_revision
from pegboard_git.reading.arguments import ReadArguments
from pegboard_git.repository import Repository

_MOVES: Final = 50
_PEOPLE: Final = 100
_FORMAT: Final = "--format=tformat:%H%x00%gs%x00%cI%x00%s%x00"
_WIDTH: Final = 4
_PERSON: Final = re.compile(r"\s*(\d+)\t(.*?)(?: <([^<>]*)>)?")


async def reflog(repo: Repository, ask: ReadArguments) -> ToolResult:
    """Tell which commits a branch, or HEAD, stood for, the newest first."""
    limit = ask.limit or _MOVES
    name, skip = single_revision(ask.ref or "HEAD"), ask.skip or 0
    done = await repo.git(
        *("log", "--walk-reflogs", _FORMAT, f"--max-count={limit + 1}", f"--skip={skip}"),
        *("--end-of-options", name, "--"),
        action="reflog",
    )
    fields = [plain(part) for part in done.data.split(b"\0")]
    moves: list[dict[str, Any]] = []
    for start in range(0, len(fields) - _WIDTH, _WIDTH):
        commit, what, date, subject = fields[start : start + _WIDTH]
        number = skip + len(moves)
        moves.append(
            {
                "index": number,
                "hash": commit.strip(),
                "what": shown(what),
                "commit_date": date,
                "subject": shown(subject),
            }
        )
    more = done.cut or len(moves) > limit
    moves = moves[:limit]
    lines = [f"{item['index']}: {item['hash'][:10]} {item['what']}" for item in moves]
    lines = lines or [f"[nothing is recorded of {name}]"]
    if more:
        lines.append(f"[there is more; the next with skip {skip + limit}]")
    facts = {"ref": name, "entries": moves, "count": len(moves), "more": more}
    return ToolResult(output="\n".join(lines), structured=facts)


async def merge_base(repo: Repository, ask: ReadArguments) -> ToolResult:
    """Tell the newest commit that two revisions share."""
    if ask.other is None:
        raise ToolFailure(
            "merge_base needs two revisions.",
            fix="Name the second as other.",
            code="invalid_arguments",
        )
    one, other = single_revision(ask.ref or "HEAD"), single_revision(ask.other, "other")
    done = await repo.git("merge-base", "--all", one, other, accept=(0, 1))
    found = done.text.split()
    counted = await repo.git("rev-list", "--left-right", "--count", f"{one}...{other}", "--")
    ahead, behind = map(int, counted.text.split())
    lines = found or ["[they share no commit]"]
    lines = [*lines, f"{one}: {plural(ahead, 'commit')} of its own; {other}: {behind}"]
    facts = {"ref": one, "other": other, "bases": found, "ahead": ahead, "behind": behind}
    return ToolResult(output="\n".join(lines), structured=facts)


async def shortlog(repo: Repository, ask: ReadArguments) -> ToolResult:
    """Tell who has made how many commits."""
    limit = ask.limit or _PEOPLE
    dates = [
        f"{option}={text}"
        for option, text in (("--since", ask.since), ("--until", ask.until))
        if text
    ]
    done = await repo.git(
        *("shortlog", "--summary", "--numbered", "--email", *dates, revision(ask.ref or "HEAD")),
        *("--", *repository_paths(ask.paths, repo.root)),
        action="shortlog",
    )
    people = [
        {"commits": int(match[1]), "author": shown(match[2]), "email": shown(match[3] or "")}
        for line in done.text.splitlines()
        if (match := _PERSON.fullmatch(line)) is not None
    ]
    more = done.cut or len(people) > limit
    people = people[:limit]
    lines = [f"{item['commits']:>6} {item['author']} <{item['email']}>" for item in people]
    lines = lines or ["[no commits]"]
    if more:
        lines.append(f"[more than {plural(limit, 'author')}; raise the limit]")
    return ToolResult(
        output="\n".join(lines),
        structured={"authors": people, "count": len(people), "more": more},
    )
