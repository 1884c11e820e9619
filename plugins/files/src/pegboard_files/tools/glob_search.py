"""The tool `glob_search`."""

from __future__ import annotations

from typing import Annotated

from pegboard import Arg, OutputLimits, ToolContext, ToolFailure, ToolHelp, ToolResult, tool
from pegboard_files.argument_names import (
    CASE_MATTERS,
    FOLDER,
    GITIGNORE,
    LIMIT,
    NO_GITIGNORE,
    SHOWN_ANYWAY,
    WHY,
)
from pegboard_files.found_files import find_files
from pegboard_files.globs import compile_globs
from pegboard_files.names import plural, shown, stray_note
from pegboard_files.path_failures import not_found, path_errors
from pegboard_files.unreadable import unreadable_note


@tool(
    effects={"read"},
    category="file",
    capability="orch:read",
    audience="owner",
    aliases=("find", "find_files", "find_by_name", "glob", "Glob", "file_search", "search_file"),
    ignored_arguments=(*SHOWN_ANYWAY, *WHY),
    intents=(
        "(find|list|show) [me] [all] [the] [files] {pattern:glob} [files] "
        "[(in|under|below) [the] [folder|directory] {path:path}]",
        "(find|list|show) [me] [all] [the] files [(like|matching|named|called)] {pattern:glob} "
        "[(in|under|below) [the] [folder|directory] {path:path}]",
    ),
    limits=OutputLimits(chars=20_000, keep="tail"),
    help=ToolHelp(
        when_to_use="To find files by name. To look into files, use content_search.",
        examples=(
            '{"pattern": "**/*.py"}',
            '{"pattern": "*.{md,txt}", "path": "docs"}',
        ),
        failure_modes=("invalid_pattern: says what is wrong with the pattern",),
    ),
)
async def glob_search(
    ctx: ToolContext,
    pattern: Annotated[
        str,
        Arg(
            "`*` and `?` stay within one name, `**` crosses folders, `[abc]` is one character, "
            "`{a,b}` a choice; relative to `path`. `*.py` looks only in `path` itself, "
            "`**/*.py` everywhere below.",
            aliases=("glob", "glob_pattern", "query"),
        ),
    ],
    path: Annotated[
        str,
        Arg(
            "The folder to look in.",
            access="read",
            min_length=1,
            aliases=FOLDER,
        ),
    ] = ".",
    limit: Annotated[int, Arg("Paths to return at most.", ge=1, le=5000, aliases=LIMIT)] = 200,
    gitignore: Annotated[
        bool,
        Arg("Leave out what .gitignore files name.", aliases=GITIGNORE, opposites=NO_GITIGNORE),
    ] = False,
    ignore_case: Annotated[
        bool,
        Arg(
            "Let letter case not matter.",
            aliases=("case_insensitive", "caseInsensitive"),
            opposites=CASE_MATTERS,
        ),
    ] = False,
) -> ToolResult:
    """Find files whose path matches a pattern, sorted by path.

    Names with a leading dot are found too, except inside `.git`; links to folders are not entered.
    """
    globs = compile_globs(pattern, ignore_case=ignore_case)
    async with path_errors(ctx.sandbox, path):
        place = await ctx.sandbox.stat(ctx.sandbox.resolve(path))
        if place is None:
            raise await not_found(ctx.sandbox, path)
        if place.kind != "dir":
            raise ToolFailure(
                f"{shown(path)} is not a folder.", fix="Name a folder.", code="not_a_folder"
            )
        found = await find_files(ctx.sandbox, path, globs, limit=limit, ignore=gitignore)
        if not found.paths:
            await ctx.sandbox.list_dir(path)  # one that can't be read is not one without a match
    lines = [shown(item) for item in found.paths]
    if not lines:
        lines.append(f"[no file matches {pattern}{_hint(pattern)}]")
    if found.more:
        lines.append(f"[more than {plural(limit, 'file')} match; narrow the pattern]")
    notes = (*unreadable_note(found.unreadable), *stray_note(found.paths))
    lines.extend(f"[{note}]" for note in notes)
    return ToolResult(
        output="\n".join(lines),
        structured={
            "paths": list(found.paths),
            "more": found.more,
            "unreadable": list(found.unreadable),
        },
        details={"count": len(found.paths), "more": found.more},
    )


def _hint(pattern: str) -> str:
    return "" if "/" in pattern or "**" in pattern else f"; **/{pattern} looks in all folders"
