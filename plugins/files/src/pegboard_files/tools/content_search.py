"""The tool `content_search`."""

from __future__ import annotations

import re
from typing import Annotated, Final

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
from pegboard_files.argument_names import FOLDER, LIMIT
from pegboard_files.failing import path_errors
from pegboard_files.file_types import names_of_type
from pegboard_files.globs import compile_filter, plain_names
from pegboard_files.matcher import Matcher
from pegboard_files.search import Where, search_files
from pegboard_files.search_output import search_result
from pegboard_files.window import Mode, Search

LINE_CHARS: Final = 500


@tool(
    effects={"read"},
    category="file",
    capability="orch:read",
    audience="owner",
    aliases=(
        *("grep", "grep_search", "grep_files", "rg", "ripgrep"),
        *("search_file_content", "search_files", "search_in_files"),
    ),
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
            '{"pattern": "TODO", "type": "py", "output_mode": "count"}',
        ),
        failure_modes=(
            "invalid_pattern: says what is wrong with the expression",
            "timeout: the pattern or the folder is too large for the time; narrow them",
        ),
    ),
)
async def content_search(
    ctx: ToolContext,
    pattern: Annotated[
        str,
        Arg(
            "Regular expression, looked for in each line.",
            aliases=("query", "regex", "search", "text"),
        ),
    ],
    path: Annotated[
        str,
        Arg(
            "A file or a folder.",
            access="read",
            min_length=1,
            aliases=("file_path", *FOLDER),
        ),
    ] = ".",
    glob: Annotated[
        str | None,
        Arg(
            "Only files with such names, e.g. *.py (in any folder) or src/**/*.ts.",
            aliases=("file_pattern", "glob_filter", "include", "include_pattern"),
        ),
    ] = None,
    type: Annotated[
        str | None, Arg("Only files of a kind: py, ts, rust, md ...", aliases=("file_type",))
    ] = None,
    output_mode: Annotated[
        Mode, Arg("Lines, the names of files, or how many lines match in each.", aliases=("mode",))
    ] = "content",
    literal: Annotated[
        bool, Arg("Take the pattern as plain text.", aliases=("fixed_strings", "is_literal"))
    ] = False,
    ignore_case: Annotated[
        bool, Arg("Let letter case not matter.", aliases=("-i", "case_insensitive"))
    ] = False,
    multiline: Annotated[bool, Arg("Let a match go over line ends: \\n, \\s, (?s:.).")] = False,
    context: Annotated[
        int,
        Arg(
            "Lines to show before and after each match.",
            ge=0,
            le=20,
            aliases=("-C", "context_lines"),
        ),
    ] = 0,
    before: Annotated[
        int | None, Arg("Lines to show before each match.", ge=0, le=20, aliases=("-B",))
    ] = None,
    after: Annotated[
        int | None, Arg("Lines to show after each match.", ge=0, le=20, aliases=("-A",))
    ] = None,
    limit: Annotated[
        int,
        Arg(
            "Matching lines to return at most; files, when no lines are asked for.",
            ge=1,
            le=2000,
            aliases=("max_matches", *LIMIT),
        ),
    ] = 200,
    gitignore: Annotated[bool, Arg("Leave out what .gitignore files name.")] = True,
) -> ToolResult:
    """Search the lines of files and return `file:line:content`, sorted by path.

    Binary files and `.git` are left out. Lines of context are `file-line-content`.
    """
    clock, settings = ctx.plugin.clock, ctx.plugin.config
    seconds = settings.search_seconds
    deadline = clock.monotonic() + seconds
    matcher = Matcher(
        pattern,
        literal=literal,
        ignore_case=ignore_case,
        multiline=multiline,
        remaining=lambda: deadline - clock.monotonic(),
    )
    search = Search(
        matcher,
        limit=limit,
        mode=output_mode,
        before=context if before is None else before,
        after=context if after is None else after,
        line_chars=LINE_CHARS,
    )
    where = _where(path, glob, type, gitignore)
    async with path_errors(ctx.sandbox, path):
        by = await search_files(ctx.sandbox, search, where, ripgrep=settings.ripgrep)
    if search.out_of_time and not search.found:
        raise ToolFailure(
            f"The search took longer than it may ({seconds:g} s) and had found nothing yet.",
            fix="Simplify the pattern, or name a folder or a glob.",
            code="timeout",
        )
    return search_result(search, where, seconds=seconds, by=by)


def _where(path: str, glob: str | None, type: str | None, gitignore: bool) -> Where:
    of_type = names_of_type(type) if type else ()
    names = of_type or (plain_names(glob) if glob else ())
    wanted = [compile_filter(glob)] if glob else []
    if of_type:
        wanted.append(re.compile("|".join(compile_filter(name).pattern for name in of_type)))
    return Where(path, tuple(wanted), names, gitignore)
