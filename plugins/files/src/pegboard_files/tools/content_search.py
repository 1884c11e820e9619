"""The tool `content_search`."""

from __future__ import annotations

from itertools import groupby
from typing import Annotated, Any, Final

from pegboard import (
    Arg,
    Intent,
    OutputLimits,
    ToolContext,
    ToolFailure,
    ToolHelp,
    ToolResult,
    tool,
)
from pegboard_files.failing import path_errors
from pegboard_files.globs import compile_filter
from pegboard_files.matcher import Matcher
from pegboard_files.names import plural, shown
from pegboard_files.search import FoundLine, Search, search_files

LINE_CHARS: Final = 500


@tool(
    effects={"read"},
    category="file",
    capability="orch:read",
    audience="owner",
    aliases=("grep", "search_files", "rg"),
    intents=tuple(
        Intent(pattern, {"literal": True})
        for pattern in (
            "(search|grep|look) [all] [the] [files] [for] [the] [word|text|string|phrase] "
            "{pattern:quoted} [in [the] [file|folder|directory] {path:path}]",
            "(search|grep|look) [for] [the] [word|text|string|phrase] {pattern:quoted} "
            "in all [the] files",
            "(find|show) [me] [all] [the] (lines|places|files) "
            "(with|containing|that contain|that mention|matching|where) {pattern:quoted} "
            "[in [the] [file|folder|directory] {path:path}]",
            "find [all] [the] (word|text|string|phrase) {pattern:quoted} "
            "[in [the] [file|folder|directory] {path:path}]",
            "(which|what) files (contain|mention|use) {pattern:quoted}",
            "where is {pattern:quoted} (used|defined|mentioned)",
        )
    ),
    limits=OutputLimits(chars=30_000, keep="tail"),
    help=ToolHelp(
        when_to_use="To find lines in files by what they say.",
        examples=(
            '{"pattern": "def \\\\w+_test"}',
            '{"pattern": "a.b(c)", "literal": true, "glob": "*.py", "context": 2}',
        ),
        failure_modes=(
            "invalid_pattern: says what is wrong with the expression",
            "timeout: the pattern or the folder is too large for the time; narrow them",
        ),
    ),
)
async def content_search(
    ctx: ToolContext,
    pattern: Annotated[str, Arg("Regular expression, looked for in each line.")],
    path: Annotated[str, Arg("A file or a folder.", access="read", min_length=1)] = ".",
    glob: Annotated[
        str | None,
        Arg("Only files with such names, e.g. *.py (in any folder) or src/**/*.ts."),
    ] = None,
    literal: Annotated[bool, Arg("Take the pattern as plain text.")] = False,
    ignore_case: Annotated[bool, Arg("Let letter case not matter.")] = False,
    context: Annotated[int, Arg("Lines to show before and after each match.", ge=0, le=20)] = 0,
    limit: Annotated[int, Arg("Matching lines to return at most.", ge=1, le=2000)] = 200,
    gitignore: Annotated[bool, Arg("Leave out what .gitignore files name.")] = True,
) -> ToolResult:
    """Search the lines of files and return `file:line:content`, sorted by path.

    Binary files and `.git` are left out. Lines of context are `file-line-content`.
    """
    clock = ctx.plugin.clock
    seconds = ctx.plugin.config.search_seconds
    deadline = clock.monotonic() + seconds
    matcher = Matcher(
        pattern,
        literal=literal,
        ignore_case=ignore_case,
        remaining=lambda: deadline - clock.monotonic(),
    )
    search = Search(matcher, limit=limit, context=context, line_chars=LINE_CHARS)
    wanted = compile_filter(glob) if glob else None
    async with path_errors(ctx.sandbox, path):
        await search_files(ctx.sandbox, path, search, wanted=wanted, ignore=gitignore)
    if search.out_of_time and not search.hits:
        raise ToolFailure(
            f"The search took longer than it may ({seconds:g} s) and had found nothing yet.",
            fix="Simplify the pattern, or name a folder or a glob.",
            code="timeout",
        )
    return _result(search, limit, seconds)


def _result(search: Search, limit: int, seconds: float) -> ToolResult:
    lines = _lines(search)
    if not search.hits:
        lines.append(f"[no match in {plural(search.files, 'file')}{_left_out(search)}]")
    if search.more:
        lines.append(f"[more than {plural(limit, 'line')} match; narrow the search]")
    if search.out_of_time:
        lines.append(f"[stopped after {seconds:g} s; there may be more]")
    facts = {
        "count": len(search.hits),
        "files_searched": search.files,
        "ignored": search.ignored,
        "binary": search.binary,
        "unreadable": search.refused,
        "truncated": search.over,
    }
    return ToolResult(
        output="\n".join(lines),
        structured={"matches": [_fact(hit) for hit in search.hits], **facts},
        details=facts,
    )


def _lines(search: Search) -> list[str]:
    if not search.context:
        return [f"{shown(hit.path)}:{hit.line}:{hit.text}" for hit in search.hits]
    lines: list[str] = []
    for path, group in groupby(search.hits, key=lambda hit: hit.path):
        lines.extend(_with_context(shown(path), list(group), first=not lines))
    return lines


def _with_context(path: str, hits: list[FoundLine], *, first: bool) -> list[str]:
    """Return the lines of one file; what two matches share is shown once."""
    marked = {hit.line for hit in hits}
    texts: dict[int, str] = {}
    for hit in hits:
        around = (*hit.before, hit.text, *hit.after)
        for number, text in enumerate(around, hit.line - len(hit.before)):
            if number == hit.line or number not in marked:
                texts[number] = text
    lines: list[str] = []
    previous = -1
    for number in sorted(texts):
        if number != previous + 1 and (lines or not first):
            lines.append("--")
        sign = ":" if number in marked else "-"
        lines.append(f"{path}{sign}{number}{sign}{texts[number]}")
        previous = number
    return lines


def _left_out(search: Search) -> str:
    counts = {
        "ignored by .gitignore": search.ignored,
        "binary": search.binary,
        "unreadable": search.refused,
    }
    parts = [f"{count} {name}" for name, count in counts.items() if count]
    return f"; left out: {', '.join(parts)}" if parts else ""


def _fact(hit: FoundLine) -> dict[str, Any]:
    fact: dict[str, Any] = {"path": hit.path, "line": hit.line, "text": hit.text}
    if hit.before or hit.after:
        fact |= {"before": list(hit.before), "after": list(hit.after)}
    return fact
