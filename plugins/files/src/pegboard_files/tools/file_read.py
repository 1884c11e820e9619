"""The tool `file_read`."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Final

from pegboard import (
    Arg,
    Image,
    OutputLimits,
    Text,
    ToolContext,
    ToolFailure,
    ToolHelp,
    ToolResult,
    tool,
)
from pegboard_files.argument_names import FIRST_LINE, LAST_LINE, PATH, WHY
from pegboard_files.line_page import LinePage, page_of, read_page
from pegboard_files.lines import MAX_CHARS, ShownLine, numbered, page_notes, show_line
from pegboard_files.names import plural, shown, size_text
from pegboard_files.notebook import MAX_BYTES, Notebook, parse_notebook
from pegboard_files.path_failures import path_errors
from pegboard_files.pdf_text import read_pages
from pegboard_files.recovery import half_changed
from pegboard_files.seen import look_at, mark_seen
from pegboard_files.text_format import PROBE, image_type

MAX_IMAGE: Final = 5 << 20
_LAST: Final = -1
"""As a last line: that of the file."""
_SHOW: Final = "(read|show|print|view) [me] [the]"
_LINES: Final = (
    "lines {offset:number} (to|until|through) {end_line:number}",
    "lines {offset:number}-{end_line:number}",
)


@tool(
    effects={"read"},
    category="file",
    capability="orch:read",
    audience="owner",
    aliases=(
        *("cat", "open_file", "read", "Read", "read_file", "read_text_file", "view"),
        "view_file",
    ),
    # the first page is that of the whole file
    ignored_arguments=("should_read_entire_file", "shouldReadEntireFile", *WHY),
    intents=(
        "(read|open|print|cat|view) {path:path}",
        "(read|show|open|print|cat|display|view) [me] [the] file {path:path}",
        "(what is|what's) in [the] file {path:path}",
        "[show] [me] [the] (content|contents|text) of [the] [file] {path:path}",
        *(f"{_SHOW} [file] {{path:path}} [from] {lines}" for lines in _LINES),
        *(f"{_SHOW} {lines} of [the] [file] {{path:path}}" for lines in _LINES),
        f"{_SHOW} first {{limit:number}} lines of [the] [file] {{path:path}}",
    ),
    limits=OutputLimits(chars=64_000, keep="both"),
    help=ToolHelp(
        when_to_use="To see a file, or a part of it: text, image, PDF, notebook.",
        examples=(
            '{"path": "README.md"}',
            '{"path": "server.log", "offset": 2001, "limit": 500}',
            '{"path": "app.py", "offset": 40, "end_line": 60}',
            '{"path": "report.pdf", "pages": "4-6"}',
        ),
        failure_modes=(
            "not_found: names the files that are near",
            "binary: the file is neither text nor an image, a PDF or a notebook",
            "is_a_folder: use list_dir",
            "past_the_end: `offset` is larger than the number of lines",
        ),
    ),
)
async def file_read(
    ctx: ToolContext,
    path: Annotated[str, Arg("Path of the file.", access="read", min_length=1, aliases=PATH)],
    offset: Annotated[
        int,
        Arg(
            "Number of the first line to show, from 1.",
            ge=0,
            aliases=FIRST_LINE,
        ),
    ] = 1,
    limit: Annotated[
        int | None,
        Arg(
            "Lines to show; 2000 unless told.",
            ge=1,
            aliases=("lines", "line_count", "max_lines", "num_lines"),
        ),
    ] = None,
    end_line: Annotated[
        int | None,
        Arg("Last line to show, instead of limit; -1 = that of the file.", aliases=LAST_LINE),
    ] = None,
    view_range: Annotated[
        list[int] | None,
        Arg(
            "[first, last]: the same as offset and end_line.",
            min_length=2,
            max_length=2,
            aliases=("line_range", "viewRange"),
        ),
    ] = None,
    pages: Annotated[
        str | None,
        Arg('Pages of a PDF, like "3", "2-5" or "7-"; the first 20 unless told.'),
    ] = None,
) -> ToolResult:
    """Read a file: lines of text with numbers, an image, pages of a PDF, cells of a notebook.

    Long lines are clipped and long files come in pages; the end of the output says how to go on.
    """
    if view_range is not None:
        offset, end_line = view_range
    first = max(offset, 1)
    count = _count(first, limit, end_line, ctx.plugin.config.read_lines)
    sighting = await look_at(ctx, [path])
    async with path_errors(ctx.sandbox, path):
        start = await ctx.sandbox.read(path, limit=PROBE)
        image = image_type(start)
        if image is not None:
            result = await _image(ctx, path, image)
        elif start.startswith(b"%PDF-"):
            result = await _pdf(ctx, path, pages)
        else:
            result = await _lines(ctx, path, first, count)
    await mark_seen(ctx, sighting)
    note = await half_changed(ctx, [ctx.sandbox.resolve(path)])
    if note and isinstance(result.output, str):
        return replace(result, output=f"{result.output}\n[{note}]")
    return result


def _count(first: int, limit: int | None, last: int | None, usual: int) -> int:
    """Return how many lines are wanted at most."""
    if last is None:
        return usual if limit is None else limit
    # what is shown at once has a bound of its own
    there = MAX_CHARS if last == _LAST else last - first + 1
    if there < 1:
        raise ToolFailure(
            f"The last line, {last}, is before the first, {first}.",
            fix=f"Choose a last line of {first} or more; -1 is that of the file.",
            code="invalid_arguments",
        )
    return there if limit is None else min(there, limit)


async def _image(ctx: ToolContext, path: str, media_type: str) -> ToolResult:
    data = await ctx.sandbox.read(path, limit=MAX_IMAGE + 1)
    if len(data) > MAX_IMAGE:
        raise ToolFailure(
            f"{shown(path)} is an image of more than {size_text(MAX_IMAGE)}, which models refuse.",
            fix="Make it smaller.",
            code="too_large",
        )
    name = shown(path.rpartition("/")[2])
    blob = await ctx.blobs.put(data, media_type=media_type, name=name)
    facts = {"path": path, "media_type": media_type, "size": len(data)}
    return ToolResult(
        output=[Text(f"{shown(path)}: {media_type}, {size_text(len(data))}"), Image(blob, name)],
        structured={**facts, "blob": blob.to_dict()},
        details=facts,
    )


async def _pdf(ctx: ToolContext, path: str, pages: str | None) -> ToolResult:
    found = await read_pages(ctx.sandbox, path, pages)
    facts = {
        "path": path,
        "media_type": "application/pdf",
        "first_page": found.first,
        "page_count": len(found.texts),
        "total_pages": found.total,
        "next_page": found.following,
    }
    return ToolResult(
        output=found.text(), structured={**facts, "pages": list(found.texts)}, details=facts
    )


async def _lines(ctx: ToolContext, path: str, first: int, count: int) -> ToolResult:
    chars, notebook = ctx.plugin.config.line_chars, None
    if path.endswith(".ipynb"):
        notebook = await _notebook(ctx, path)
    if notebook is not None:
        text = notebook.text()
        page = page_of(text, first=first, count=count, line_chars=chars, max_chars=MAX_CHARS)
    else:
        page = await read_page(
            ctx.sandbox, path, first=first, count=count, line_chars=chars, max_chars=MAX_CHARS
        )
    if not page.lines and first > 1:
        raise ToolFailure(
            f"{shown(path)} has {plural(page.total or 0, 'line')}, so none from line {first} on.",
            fix="Choose a smaller offset.",
            code="past_the_end",
        )
    lines = [show_line(line, chars=chars) for line in page.lines]
    result = _result(path, page, lines)
    if notebook is not None:
        result.details["cells"] = len(notebook.cells)
    return result


async def _notebook(ctx: ToolContext, path: str) -> Notebook | None:
    """Return the notebook in a file; None when it is none, and is shown as the text it is."""
    data = await ctx.sandbox.read(path, limit=MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        return None
    try:
        return parse_notebook(path, data)
    except ToolFailure:
        return None


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
