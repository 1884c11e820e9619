"""The tool `content_search`."""

from __future__ import annotations

import re
from collections.abc import Sequence
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
from pegboard_files.argument_names import (
    CASE_MATTERS,
    EXCLUDE,
    FOLDER,
    GITIGNORE,
    LIMIT,
    NO_GITIGNORE,
    SHOWN_ANYWAY,
    WHY,
)
from pegboard_files.file_types import names_of_type
from pegboard_files.globs import compile_filter, compile_left_out, filters, plain_names
from pegboard_files.matcher import Matcher
from pegboard_files.path_failures import path_errors
from pegboard_files.search import Where, search_files
from pegboard_files.search_output import search_result
from pegboard_files.window import Mode, Search

LINE_CHARS: Final = 500
MAX_HITS: Final = 2000


@tool(
    effects={"read"},
    category="file",
    capability="orch:read",
    audience="owner",
    aliases=(
        *("grep", "Grep", "grep_search", "grep_files", "rg", "ripgrep"),
        *("search_file_content", "search_files", "search_in_files"),
    ),
    # lines have numbers, files have names, folders are entered: always
    ignored_arguments=(
        *("-n", "line_number", "line_numbers", "lineNumbers", "show_line_numbers"),
        *("-H", "-r", "-R", "recursive", "-E", *SHOWN_ANYWAY, *WHY),
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
            '{"pattern": "TODO", "exclude": ["vendor"], "offset": 200}',
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
            aliases=("query", "regex", "regexp", "search", "search_pattern", "text"),
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
            "Only files with such names, e.g. *.py (in any folder) or src/**/*.ts; several are "
            "separated by commas, and !*.md leaves out.",
            aliases=(
                *("file_pattern", "filePattern", "glob_filter", "glob_pattern"),
                *("include", "include_pattern", "includePattern"),
            ),
        ),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        Arg(
            "Patterns of files to leave out, such as *.min.js or node_modules.",
            aliases=EXCLUDE,
        ),
    ] = None,
    type: Annotated[
        str | None,
        Arg("Only files of a kind: py, ts, rust, md ...", aliases=("file_type", "fileType")),
    ] = None,
    output_mode: Annotated[
        Mode,
        Arg(
            "Lines, the names of files, or how many lines match in each.",
            aliases=("mode", "outputMode"),
        ),
    ] = "content",
    names_only: Annotated[
        bool,
        Arg(
            "The same as output_mode=files_with_matches.",
            aliases=("-l", "files_with_matches", "files_only", "filesOnly", "namesOnly"),
        ),
    ] = False,
    literal: Annotated[
        bool,
        Arg(
            "Take the pattern as plain text.",
            aliases=("-F", "fixed_strings", "is_literal"),
            opposites=("is_regex", "is_regexp", "isRegexp", "use_regex"),
        ),
    ] = False,
    ignore_case: Annotated[
        bool,
        Arg(
            "Let letter case not matter.",
            aliases=("-i", "case_insensitive", "caseInsensitive", "ignoreCase"),
            opposites=CASE_MATTERS,
        ),
    ] = False,
    multiline: Annotated[
        bool, Arg("Let a match go over line ends: \\n, \\s, (?s:.).", aliases=("-U",))
    ] = False,
    context: Annotated[
        int,
        Arg(
            "Lines to show before and after each match.",
            ge=0,
            le=20,
            aliases=("-C", "context_lines", "contextLines"),
        ),
    ] = 0,
    before: Annotated[
        int | None,
        Arg(
            "Lines to show before each match.",
            ge=0,
            le=20,
            aliases=("-B", "before_context", "lines_before"),
        ),
    ] = None,
    after: Annotated[
        int | None,
        Arg(
            "Lines to show after each match.",
            ge=0,
            le=20,
            aliases=("-A", "after_context", "lines_after"),
        ),
    ] = None,
    limit: Annotated[
        int,
        Arg(
            "Matching lines to return at most; files, when no lines are asked for. 0 = 2000.",
            ge=0,
            le=MAX_HITS,
            aliases=LIMIT,
        ),
    ] = 200,
    offset: Annotated[
        int,
        Arg("How many of these to pass over, to go on behind a page.", ge=0, aliases=("skip",)),
    ] = 0,
    per_file: Annotated[
        int | None,
        Arg(
            "Matching lines of one file at most.",
            ge=1,
            aliases=("max_matches_per_file", "max_per_file"),
        ),
    ] = None,
    gitignore: Annotated[
        bool,
        Arg("Leave out what .gitignore files name.", aliases=GITIGNORE, opposites=NO_GITIGNORE),
    ] = True,
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
        limit=limit or MAX_HITS,
        mode="files_with_matches" if names_only else output_mode,
        skip=offset,
        per_file=per_file,
        before=context if before is None else before,
        after=context if after is None else after,
        line_chars=LINE_CHARS,
    )
    where = _where(path, glob, exclude or (), type, gitignore)
    async with path_errors(ctx.sandbox, path):
        by = await search_files(ctx.sandbox, search, where, ripgrep=settings.ripgrep)
    if search.out_of_time and not search.found:
        raise ToolFailure(
            f"The search took longer than it may ({seconds:g} s) and had found nothing yet.",
            fix="Simplify the pattern, or name a folder or a glob.",
            code="timeout",
        )
    return search_result(search, where, seconds=seconds, by=by)


def _where(
    path: str, glob: str | None, exclude: Sequence[str], type: str | None, gitignore: bool
) -> Where:
    of_type = names_of_type(type) if type else ()
    those, others = filters(glob) if glob else ([], [])
    known = [plain_names(pattern) for pattern in those]
    names = of_type or (tuple(name for each in known for name in each) if all(known) else ())
    wanted = [_any_of(patterns) for patterns in (those, of_type) if patterns]
    left_out = [compile_left_out(pattern) for pattern in (*others, *_separated(exclude))]
    return Where(path, tuple(wanted), tuple(left_out), names, gitignore)


def _separated(patterns: Sequence[str]) -> list[str]:
    return [one for pattern in patterns for group in filters(pattern) for one in group]


def _any_of(patterns: Sequence[str]) -> re.Pattern[str]:
    return re.compile("|".join(compile_filter(pattern).pattern for pattern in patterns))
