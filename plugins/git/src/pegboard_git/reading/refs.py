"""`branch`, `tag` and `remote`: what the repository has names for."""

from __future__ import annotations

import re
from typing import Any, Final

from pegboard import ToolResult
from pegboard_git.names import plain, plural, shown
from pegboard_git.reading.arguments import ReadArguments
from pegboard_git.remote.remote_url import without_password
from pegboard_git.repository import Repository

_NAMES: Final = 200
_REMOTE: Final = re.compile(r"remote\.(.+)\.url", re.S)
_FIELDS: Final = (
    "%(refname)%00%(refname:short)%00%(objectname)%00%(HEAD)%00%(upstream:short)%00"
    "%(upstream:track,nobracket)%00%(creatordate:iso-strict)%00%(contents:subject)%00%(symref)%00"
)
_WIDTH: Final = 9


async def branch(repo: Repository, ask: ReadArguments) -> ToolResult:
    """List branches, those of remotes too."""
    limit = ask.limit or _NAMES
    found, more = await _refs(repo, ("refs/heads/", "refs/remotes/"), limit)
    branches = [
        {
            "name": item["short"],
            "hash": item["hash"],
            "current": item["current"],
            "remote": item["name"].startswith("refs/remotes/"),
            "upstream": item["upstream"] or None,
            "track": item["track"] or None,
            "date": item["date"],
            "subject": item["subject"],
        }
        for item in found
        if not item["symref"]
    ]
    lines = [
        f"{'*' if item['current'] else ' '} {item['name']} {item['hash'][:10]}"
        + (
            f" [{item['upstream']}{': ' + item['track'] if item['track'] else ''}]"
            if item["upstream"]
            else ""
        )
        + f" {item['subject']}"
        for item in branches
    ]
    current = next((item["name"] for item in branches if item["current"]), None)
    return _listed(lines, "branch", {"branches": branches, "current": current}, limit, more)


async def tag(repo: Repository, ask: ReadArguments) -> ToolResult:
    """List tags, the newest first."""
    limit = ask.limit or _NAMES
    found, more = await _refs(repo, ("refs/tags/",), limit, "--sort=-creatordate")
    tags = [
        {
            "name": item["short"],
            "hash": item["hash"],
            "date": item["date"],
            "subject": item["subject"],
        }
        for item in found
    ]
    lines = [f"{item['name']} {item['date'][:10]} {item['subject']}" for item in tags]
    return _listed(lines, "tag", {"tags": tags}, limit, more)


async def remote(repo: Repository, ask: ReadArguments) -> ToolResult:
    """List the remotes; what a URL holds of a password is left out."""
    remotes = [
        {"name": shown(match[1]), "url": shown(without_password(value))}
        for name, value in repo.config.items()
        if (match := _REMOTE.fullmatch(name)) is not None
    ]
    lines = [f"{item['name']} {item['url']}" for item in remotes]
    return ToolResult(output="\n".join(lines) or "[no remotes]", structured={"remotes": remotes})


async def _refs(
    repo: Repository, below: tuple[str, ...], limit: int, *options: str
) -> tuple[list[dict[str, Any]], bool]:
    done = await repo.git(
        "for-each-ref", f"--count={limit + 1}", f"--format={_FIELDS}", *options, *below
    )
    fields = [plain(part) for part in done.data.split(b"\0")]
    found = []
    for start in range(0, len(fields) - _WIDTH, _WIDTH):
        name, short, commit, head, upstream, track, date, subject, symref = fields[
            start : start + _WIDTH
        ]
        found.append(
            {
                "name": name.strip(),
                "short": shown(short),
                "hash": commit,
                "current": head == "*",
                "upstream": upstream,
                "track": track,
                "date": date,
                "subject": shown(subject),
                "symref": symref,
            }
        )
    return found[:limit], len(found) > limit or done.cut


def _listed(
    lines: list[str], noun: str, facts: dict[str, Any], limit: int, more: bool
) -> ToolResult:
    text = lines or [f"[no {noun}{'es' if noun.endswith('h') else 's'}]"]
    if more:
        text = [*text, f"[more than {plural(limit, 'name')}; raise the limit]"]
    return ToolResult(
        output="\n".join(text), structured={**facts, "count": len(lines), "more": more}
    )
