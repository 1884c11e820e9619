"""The tool `file_read`."""

from __future__ import annotations

from typing import Annotated

from pegboard import Arg, OutputLimits, ToolContext, ToolFailure, ToolHelp, ToolResult, tool
from pegboard_files.failing import path_errors
from pegboard_files.line_page import LinePage, read_page
from pegboard_files.lines import MAX_CHARS, ShownLine, numbered, page_notes, show_line
from pegboard_files.names import plural, shown


@tool(
    effects={"read"},
    category="file",
    capability="orch:read",
    audience="owner",
    aliases=("read_file", "read", "view_file", "cat"),
    intents=(
        "(read|open|print|cat|view) {path:path}",
        "(read|show|open|print|cat|display|view) [me] [the] file {path:path}",
        "(what is|what's) in [the] file {path:path}",
        "[show] [me] [the] (content|contents|text) of [the] [file] {path:path}",
    ),
    limits=OutputLimits(chars=64_000, keep="head"),
    help=ToolHelp(
        when_to_use="To see a text file, or a part of it, with line numbers.",
        examples=(
            '{"path": "README.md"}',
            '{"path": "server.log", "offset": 2001, "limit": 500}',
        ),
        failure_modes=(
            "not_found: names the files that are near",
            "binary: the file is no text",
            "is_a_folder: use list_dir",
            "past_the_end: `offset` is larger than the number of lines",
        ),
    ),
)
async def file_read(
    ctx: ToolContext,
    path: Annotated[str, Arg("Path of the file.", access="read", min_length=1)],
    offset: Annotated[int, Arg("Number of the first line to show, from 1.", ge=1)] = 1,
    limit: Annotated[int | None, Arg("Lines to show; 2000 unless told.", ge=1)] = None,
) -> ToolResult:
    """Read a text file and show its lines with numbers.

    Long lines are clipped and long files come in pages; the end of the output says how to go on.
    """
    settings = ctx.plugin.config
    count = limit if limit is not None else settings.read_lines
    async with path_errors(ctx.sandbox, path):
        page = await read_page(
            ctx.sandbox,
            path,
            first=offset,
            count=count,
            line_chars=settings.line_chars,
            max_chars=MAX_CHARS,
        )
    if not page.lines and offset > 1:
        raise ToolFailure(
            f"{shown(path)} has {plural(page.total or 0, 'line')}, so none from line {offset} on.",
            fix="Choose a smaller offset.",
            code="past_the_end",
        )
    lines = [show_line(line, chars=settings.line_chars) for line in page.lines]
    return _result(path, page, lines)


def _result(path: str, page: LinePage, lines: list[ShownLine]) -> ToolResult:
    body = [numbered(number, line.text) for number, line in enumerate(lines, page.first)]
    notes = page_notes(page, lines)
    encoding = page.format.encoding if not any(line.stray for line in lines) else "unknown"
    facts = {
        "path": path,
        "first_line": page.first,
        "line_count": len(lines),
        "total_lines": page.total,
        "next_offset": page.following,
        "size": page.size,
        "encoding": encoding,
        "byte_order_mark": bool(page.format.mark),
        "line_end": "crlf" if page.crlf else "lf",
    }
    return ToolResult(
        output="\n".join([*body, *(f"[{note}]" for note in notes)]),
        structured={**facts, "lines": [line.text for line in lines]},
        details=facts,
    )
