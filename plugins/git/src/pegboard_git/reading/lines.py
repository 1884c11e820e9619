"""`blame` and `grep`: lines of files, and where they come from."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

from pegboard import ToolFailure, ToolResult
from pegboard_git.names import decoded, plain, plural, repository_paths, shown, single_revision
from pegboard_git.reading.arguments import ReadArguments
from pegboard_git.reading.history import one_path
from pegboard_git.repository import Repository

_MATCHES: Final = 200
_LINE: Final = 500
_BLAMED: Final = 2000
_SHORT: Final = 10


async def blame(repo: Repository, ask: ReadArguments) -> ToolResult:
    """Tell for each line of a file which commit wrote it."""
    path = one_path(repo, ask, "blame")
    names = () if ask.ref is None else (single_revision(ask.ref),)
    start = ask.start or 1
    if ask.end is not None and ask.end < start:
        raise ToolFailure(
            f"end ({ask.end}) is before start ({start}).",
            fix="Give them in order.",
            code="invalid_arguments",
        )
    span = (f"-L{start},{ask.end or start + _BLAMED - 1}",)
    done = await repo.git("blame", "--porcelain", *span, *names, "--", path, accept=(0, 128))
    if done.code:
        raise _blame_failure(repo, done.said, path)
    lines = parse_blame(done.data)
    text = [
        f"{item['line']:>5} {item['hash'][:_SHORT]} {item['date'][:10]} {item['author']}: "
        f"{item['text']}"
        for item in lines
    ]
    more = done.cut or (ask.end is None and len(lines) == _BLAMED)
    if more:
        text.append(f"[there may be more; go on with start {start + len(lines)}]")
    return ToolResult(
        output="\n".join(text), structured={"path": path, "lines": lines, "more": more}
    )


def parse_blame(data: bytes) -> list[dict[str, Any]]:
    """Return the lines of `blame --porcelain`."""
    known: dict[str, dict[str, str]] = {}
    found: list[dict[str, Any]] = []
    commit, number = "", 0
    for record in data.split(b"\n"):
        if record.startswith(b"\t"):
            facts = known.get(commit, {})
            stamp = int(facts.get("author-time", "0"))
            found.append(
                {
                    "line": number,
                    "hash": commit,
                    "author": shown(facts.get("author", "")),
                    "date": _date(stamp),
                    "text": shown(plain(record[1:]))[:_LINE],
                }
            )
            continue
        name, _, value = plain(record).partition(" ")
        if len(name) in (40, 64) and name.strip("0123456789abcdef") == "":
            commit, number = name, int(value.split()[1])
            known.setdefault(commit, {})
        elif commit:
            known[commit].setdefault(name, value)
    return found


async def grep(repo: Repository, ask: ReadArguments) -> ToolResult:
    """Search tracked files, or those of one commit."""
    if not ask.pattern:
        raise ToolFailure(
            "grep needs a pattern.", fix="Say what to look for.", code="invalid_arguments"
        )
    limit = ask.limit or _MATCHES
    names = () if ask.ref is None else (single_revision(ask.ref),)
    options = [
        "--fixed-strings" if ask.literal else "--extended-regexp",
        *(("--ignore-case",) if ask.ignore_case else ()),
        *((f"--context={ask.context}",) if ask.context else ()),
    ]
    done = await repo.git(
        "grep",
        "--no-textconv",
        "-I",
        "--line-number",
        "--column",
        "--null",
        "--full-name",
        *options,
        "-e",
        ask.pattern,
        *names,
        "--",
        *repository_paths(ask.paths, repo.root),
        accept=(0, 1),
    )
    prefix = f"{names[0]}:".encode() if names else b""
    matches = parse_grep(done.data, prefix)
    hits = [item for item in matches if item["match"]]
    more = len(hits) > limit or done.cut
    kept = _first(matches, limit)
    lines = [_grep_line(item) for item in kept] or ["[no match]"]
    if more:
        lines.append(f"[more than {plural(limit, 'line')} match; narrow the search]")
    found = [
        {"path": item["path"], "line": item["line"], "text": item["text"]}
        for item in kept
        if item["match"]
    ]
    return ToolResult(
        output="\n".join(lines),
        structured={"matches": found, "count": len(found), "more": more},
    )


def parse_grep(data: bytes, prefix: bytes = b"") -> list[dict[str, Any]]:
    """Return the lines of `grep --null --line-number --column`.

    Each is name, line and text with NUL between them; a line that matches has its column before the
    text, a line of context has none.
    """
    found: list[dict[str, Any]] = []
    for record in data.split(b"\n"):
        fields = record.split(b"\0", 3)
        if len(fields) < 3 or not fields[1].isdigit():
            continue
        found.append(
            {
                "path": decoded(fields[0].removeprefix(prefix)),
                "line": int(fields[1]),
                "text": shown(plain(fields[-1]))[:_LINE],
                "match": len(fields) == 4,
            }
        )
    return found


def _date(stamp: int) -> str:
    """Return a time for people; a commit may say one that no calendar has."""
    try:
        return datetime.fromtimestamp(stamp, UTC).isoformat()
    except (OverflowError, OSError, ValueError):
        return f"@{stamp}"


def _first(matches: list[dict[str, Any]], limit: int) -> list[dict[str, Any]]:
    hits = 0
    for place, item in enumerate(matches):
        hits += item["match"]
        if hits > limit:
            return matches[:place]
    return matches


def _grep_line(item: dict[str, Any]) -> str:
    sign = ":" if item["match"] else "-"
    return f"{item['path']}{sign}{item['line']}{sign}{item['text']}"


def _blame_failure(repo: Repository, said: str, path: str) -> ToolFailure:
    from pegboard_git.failing import failure

    if "has only" in said:
        return ToolFailure(
            f"{shown(path)} has fewer lines than that.",
            fix="Begin with a smaller start.",
            code="past_the_end",
        )
    return failure(said, repo.root, "blame")
