"""What a search came to, as text and as data."""

from __future__ import annotations

import re
from itertools import groupby
from typing import Any, Final

from pegboard import ToolResult
from pegboard_files.names import plural, shown, size_text, stray_note
from pegboard_files.search import MULTILINE_BELOW, Where
from pegboard_files.unreadable import unreadable_note
from pegboard_files.window import FoundLine, Search

_LINE_END: Final = re.compile(r"(?<!\\)(?:\\\\)*\\[nrR]")


def search_result(search: Search, where: Where, *, seconds: float, by: str) -> ToolResult:
    """Return the result of a search.

    Args:
        search: The search.
        where: Where it looked.
        seconds: Seconds that it was given.
        by: What chose the files, for the details.
    """
    facts = {
        "count": sum(search.counts.values()),
        "files": len(search.counts),
        "truncated": search.over,
        "next_offset": search.skip + search.found if search.more else None,
    }
    structured: dict[str, Any] = {**facts, "unreadable": list(search.unreadable)}
    if search.mode == "content":
        structured["matches"] = [_fact(hit) for hit in search.hits]
    elif search.mode == "count":
        structured["counts"] = dict(search.counts)
    else:
        structured["paths"] = list(search.counts)
    if search.mode == "files_with_matches":
        del structured["count"]  # a file is left at its first match
    return ToolResult(
        output="\n".join([*_lines(search), *_notes(search, where, seconds)]),
        structured=structured,
        details={**facts, "chosen_by": by},
    )


def _notes(search: Search, where: Where, seconds: float) -> list[str]:
    notes: list[str] = []
    noun = "line" if search.mode == "content" else "file"
    if search.skipped and not (search.found or search.out_of_time):
        notes.append(f"[only {plural(search.skipped, noun)} match; choose a smaller offset]")
    elif not search.found:
        also = ", files that .gitignore names" if where.gitignore else ""
        notes.append(f"[no match; binary files, .git{also} are left out]")
        if _goes_over_lines(search):
            notes.append("[a match goes over line ends only with multiline=true]")
    if search.more:
        what, following = plural(search.limit, noun), search.skip + search.found
        first = f"{noun}s {search.skip + 1}-{following} of those that match"
        what = first if search.skip else f"more than {what} match"
        notes.append(f"[{what}; narrow the search, or go on with offset={following}]")
    if search.too_large:
        size = size_text(MULTILINE_BELOW)
        files = plural(search.too_large, "file")
        notes.append(f"[{files} left out: too large; with multiline up to {size} are searched]")
    about_names = (*unreadable_note(search.unreadable), *stray_note(search.counts))
    notes.extend(f"[{note}]" for note in about_names)
    if search.out_of_time:
        notes.append(f"[stopped after {seconds:g} s; there may be more]")
    return notes


def _goes_over_lines(search: Search) -> bool:
    matcher = search.matcher
    return not (matcher.multiline or matcher.literal) and bool(_LINE_END.search(matcher.pattern))


def _lines(search: Search) -> list[str]:
    if search.mode == "files_with_matches":
        return [shown(path) for path in search.counts]
    if search.mode == "count":
        return [f"{shown(path)}:{count}" for path, count in search.counts.items()]
    lines: list[str] = []
    around = bool(search.before or search.after)
    for path, group in groupby(search.hits, key=lambda hit: hit.path):
        hits = list(group)
        if around:
            lines.extend(_with_context(shown(path), hits, first=not lines))
        else:
            name = shown(path)
            lines.extend(f"{name}:{n}:{text}" for hit in hits for n, text in _own(hit))
    return lines


def _own(hit: FoundLine) -> list[tuple[int, str]]:
    return list(enumerate(hit.text.split("\n"), hit.line))


def _with_context(path: str, hits: list[FoundLine], *, first: bool) -> list[str]:
    """Return the lines of one file; what two matches share is shown once."""
    marked = {number for hit in hits for number, _ in _own(hit)}
    texts: dict[int, str] = {}
    for hit in hits:
        around = [
            *enumerate(hit.before, hit.line - len(hit.before)),
            *enumerate(hit.after, hit.last + 1),
        ]
        texts.update((number, text) for number, text in around if number not in marked)
        texts.update(_own(hit))
    lines: list[str] = []
    previous = -1
    for number in sorted(texts):
        if number != previous + 1 and (lines or not first):
            lines.append("--")
        sign = ":" if number in marked else "-"
        lines.append(f"{path}{sign}{number}{sign}{texts[number]}")
        previous = number
    return lines


def _fact(hit: FoundLine) -> dict[str, Any]:
    fact: dict[str, Any] = {"path": hit.path, "line": hit.line, "text": hit.text}
    if hit.last != hit.line:
        fact["last_line"] = hit.last
    if hit.before or hit.after:
        fact |= {"before": list(hit.before), "after": list(hit.after)}
    return fact
