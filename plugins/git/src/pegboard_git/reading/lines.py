"""`blame` and `grep`: lines of files, and where they come from."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any, Final

from pegboard import ToolFailure, ToolResult
from pegboard_git.names import decoded, plain, plural, repository_paths, shown, single_revision
from pegboard_git.reading.arguments import ReadArguments
from pegboard_git.reading.history import one_path
from pegboard_git.reading.trees import find_entry, parse_tree, require_commits
from pegboard_git.repository import Repository
from pegboard_git.withheld import (
    Version,
    closed_places,
    require_shown,
    withheld,
    withheld_facts,
    withheld_note,
    without,
    working_version,
)

_MATCHES: Final = 200
_LINE: Final = 500
_BLAMED: Final = 2000
_SHORT: Final = 10
_MANY: Final = 67_108_864
_HIT: Final = re.compile(
    rb"--\n|(?P<name>[^\0]+)\0(?P<line>\d+)\0(?:(?P<column>\d+)\0)?(?P<text>[^\n]*)(?:\n|\Z)"
)
_LINK_MODE: Final = b"120000"
_MODULE_MODE: Final = b"160000"


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
    await require_shown(repo, await _version(repo, path, names))
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
        output="\n".join(text), structured={"path": shown(path), "lines": lines, "more": more}
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
    await require_commits(repo, names, "grep")
    paths = repository_paths(ask.paths, repo.root)
    hidden = await withheld(repo, await _possible_keys(repo, names, paths))
    kept, env = without(paths, hidden)
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
        *kept,
        accept=(0, 1),
        env=env,
    )
    prefix = f"{names[0]}:".encode() if names else b""
    # before they are counted: how many there are would tell what is in a closed one
    matches = await _open(repo, parse_grep(done.data, prefix))
    hits = [item for item in matches if item["match"]]
    more = len(hits) > limit or done.cut
    first = _first(matches, limit)
    lines = [_grep_line(item) for item in first] or ["[no match]"]
    if more:
        lines.append(f"[more than {plural(limit, 'line')} match; narrow the search]")
    lines += withheld_note(hidden)
    found = [
        {"path": item["path"], "line": item["line"], "text": item["text"]}
        for item in first
        if item["match"]
    ]
    return ToolResult(
        output="\n".join(lines),
        structured={
            "matches": found,
            "count": len(found),
            "more": more,
            **({"withheld": withheld_facts(hidden)} if hidden else {}),
        },
    )


def parse_grep(data: bytes, prefix: bytes = b"") -> list[dict[str, Any]]:
    """Return the lines of `grep --null --line-number --column`.

    Each is name, line and text with NUL between them; a line that matches has its column before the
    text, a line of context has none. A name may hold the end of a line.
    """
    found: list[dict[str, Any]] = []
    at = 0
    while (hit := _HIT.match(data, at)) is not None:
        at = hit.end()
        if hit["name"] is None:  # the line between two groups of context
            continue
        name = hit["name"].removeprefix(prefix)
        found.append(
            {
                "path": decoded(name),
                "name": name.decode("utf-8", "surrogateescape"),
                "line": int(hit["line"]),
                "text": shown(plain(hit["text"]))[:_LINE],
                "match": hit["column"] is not None,
            }
        )
    return found


async def _version(repo: Repository, path: str, names: tuple[str, ...]) -> Version:
    if names:
        return (await find_entry(repo, names[0], path, "blame")).version
    return await working_version(repo, path)


async def _possible_keys(
    repo: Repository, names: tuple[str, ...], paths: list[str]
) -> list[Version]:
    """Return the files that a search goes through whose names are those of private keys.

    All of them, not only those that match: what matches would tell what is in them.
    """
    if names:
        done = await repo.git(
            *("ls-tree", "-r", "-z", "--full-tree", names[0], "--"),
            *(path for path in paths if path != "."),
            action="grep",
            keep=_MANY,
        )
        versions = [entry.version for entry in parse_tree(done.data) if entry.kind == "blob"]
    else:
        # git may look into the index in place of the working tree
        done = await repo.git("ls-files", "-z", "-s", "--", *paths, action="grep", keep=_MANY)
        staged = [record.partition(b"\t") for record in done.data.split(b"\0")[:-1]]
        versions = [
            Version(name.decode("utf-8", "surrogateescape"), blob)
            for facts, _, name in staged
            for blob in ("", facts.split()[1].decode())
            if facts[:6] not in (_LINK_MODE, _MODULE_MODE)
        ]
    return [item for item in versions if item.may_be_key]


async def _open(repo: Repository, matches: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the lines of files whose place is not closed."""
    names = dict.fromkeys(item["name"] for item in matches)
    closed = await closed_places(repo, [Version(name) for name in names])
    return [item for item in matches if item["name"] not in closed]


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
    from pegboard_git.failures import failure

    if "has only" in said:
        return ToolFailure(
            f"{shown(path)} has fewer lines than that.",
            fix="Begin with a smaller start.",
            code="past_the_end",
        )
    return failure(said, repo.root, "blame")
