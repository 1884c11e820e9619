"""The tool `read_many_files`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any, Final

from pegboard import (
    Arg,
    OutputLimits,
    Sandbox,
    SandboxError,
    ToolContext,
    ToolFailure,
    ToolHelp,
    ToolResult,
    tool,
)
from pegboard_files.argument_names import EXCLUDE, GITIGNORE, PATHS, SHOWN_ANYWAY, WHY
from pegboard_files.found_files import find_files
from pegboard_files.globs import compile_globs, compile_left_out, is_glob
from pegboard_files.line_page import read_page
from pegboard_files.lines import MAX_CHARS, numbered, page_notes, show_line
from pegboard_files.names import plural, shown
from pegboard_files.path_failures import path_errors
from pegboard_files.recovery import half_changed
from pegboard_files.seen import look_at, mark_seen
from pegboard_files.unreadable import unreadable_note

MAX_FILES: Final = 100
_LEAST_CHARS: Final = 1000  # for less than this a file is not begun


@tool(
    effects={"read"},
    category="file",
    capability="orch:read",
    audience="owner",
    aliases=("read_files", "read_multiple_files", "batch_read"),
    ignored_arguments=(
        *("recursive", "useDefaultExcludes", "use_default_excludes"),
        *(*GITIGNORE, "file_filtering_options", *SHOWN_ANYWAY, *WHY),
    ),
    intents=("read [all] [the] files {paths:glob}", "read all [the] [files] {paths:glob} [files]"),
    limits=OutputLimits(chars=64_000, keep="both"),
    help=ToolHelp(
        when_to_use="To see several files at once, by path or by pattern.",
        examples=('{"paths": ["README.md", "src/**/*.py"]}',),
        failure_modes=("A file that can't be read has its error in its place.",),
    ),
)
async def read_many_files(
    ctx: ToolContext,
    paths: Annotated[
        list[str],
        Arg(
            "Paths, or patterns like src/**/*.py; a path that exists is never a pattern.",
            access="read",
            min_length=1,
            max_length=MAX_FILES,
            aliases=PATHS,
        ),
    ],
    exclude: Annotated[
        list[str] | None,
        Arg(
            "Patterns of files to leave out of what patterns find, such as *.lock or build.",
            aliases=("ignore", *EXCLUDE),
        ),
    ] = None,
) -> ToolResult:
    """Read several text files, each under a line `=== path ===`.

    What does not fit is named at the end, to be read with file_read.
    """
    left_out = [compile_left_out(pattern) for pattern in exclude or ()]
    names, more, unreadable = await _expanded(ctx.sandbox, paths, left_out)
    room = MAX_CHARS
    output: list[str] = []
    facts: list[dict[str, Any]] = []
    left: list[str] = []
    for name in names:
        if room < _LEAST_CHARS:
            left.append(shown(name))
            continue
        text, fact = await _one(ctx, name, room)
        room -= len(text)
        output.append(f"=== {shown(name)} ===\n{text}")
        facts.append({"path": name, **fact})
    if left:
        output.append(f"[not shown, read them with file_read: {', '.join(left)}]")
    if more:
        output.append(f"[more than {MAX_FILES} files match; the first {MAX_FILES} were taken]")
    output.extend(f"[{note}]" for note in unreadable_note(unreadable))
    failed = sum("error" in fact for fact in facts)
    if failed == len(facts) and not left:
        raise ToolFailure("\n".join(output), fix="Use list_dir or glob_search.", code="not_found")
    return ToolResult(
        output="\n".join(output),
        structured={"files": facts, "left_out": left, "more": more, "unreadable": unreadable},
        details={"files": len(facts), "failed": failed, "left_out": len(left)},
    )


async def _expanded(
    sandbox: Sandbox, paths: Sequence[str], left_out: Sequence[re.Pattern[str]]
) -> tuple[list[str], bool, list[str]]:
    names: dict[str, None] = {}
    unreadable: dict[str, None] = {}
    for path in paths:
        if not is_glob(path) or await _exists(sandbox, path):
            names[path] = None
            continue
        found = await find_files(
            sandbox,
            ".",
            compile_globs(path),
            limit=MAX_FILES + 1,
            ignore=False,
            left_out=left_out,
        )
        # a pattern without a match is told like a missing file
        names.update(dict.fromkeys(found.paths or [path]))
        unreadable.update(dict.fromkeys(found.unreadable))
    return list(names)[:MAX_FILES], len(names) > MAX_FILES, list(unreadable)


async def _exists(sandbox: Sandbox, path: str) -> bool:
    try:
        return await sandbox.stat(path) is not None
    except (SandboxError, OSError):
        return False


async def _one(ctx: ToolContext, path: str, room: int) -> tuple[str, dict[str, Any]]:
    settings = ctx.plugin.config
    sighting = await look_at(ctx, [path])
    try:
        async with path_errors(ctx.sandbox, path):
            page = await read_page(
                ctx.sandbox,
                path,
                first=1,
                count=settings.read_lines,
                line_chars=settings.line_chars,
                max_chars=room,
            )
    except (ToolFailure, SandboxError) as error:
        fix = f" {error.fix}" if error.fix else ""
        return f"Error: {error.message.removesuffix('.')}.{fix}", {"error": error.message}
    await mark_seen(ctx, sighting)
    lines = [show_line(line, chars=settings.line_chars) for line in page.lines]
    body = [numbered(number, line.text) for number, line in enumerate(lines, 1)]
    half = await half_changed(ctx, [ctx.sandbox.resolve(path)])
    notes = [f"[{note}]" for note in (*page_notes(page, lines), *filter(None, [half]))]
    fact = {
        "lines": [line.text for line in lines],
        "total_lines": page.total,
        "next_offset": page.following,
    }
    return "\n".join([*body, *notes]) or f"[{plural(0, 'line')}]", fact
