"""The tool `file_write`."""

from __future__ import annotations

from typing import Annotated

from pegboard import Arg, OutputLimits, ToolContext, ToolFailure, ToolHelp, ToolResult, tool
from pegboard_files import argument_names as names
from pegboard_files.diff import unified_diff
from pegboard_files.file_change import Content, FileChange
from pegboard_files.names import plural, shown, size_text
from pegboard_files.path_failures import path_errors
from pegboard_files.recovery import recover
from pegboard_files.seen import require_seen
from pegboard_files.text_format import encoded
from pegboard_files.undoable_changes import change_files, read_content

_COMPARED = 1 << 20
"""Bytes up to which the old content is compared for the difference."""


@tool(
    effects={"read", "fs_write"},
    category="file",
    capability="orch:write",
    aliases=("write_file", "write", "Write", "create_file", "write_to_file", "save_file"),
    ignored_arguments=("create_dirs", "create_directories", "create_parents", *names.WHY),
    intents=(
        "(write|put|save) {content:quoted} (to|into|in) [the] [file] {path:path}",
        "create [the|a] [file] {path:path} with [the] [content|contents|text] {content:quoted}",
    ),
    limits=OutputLimits(chars=1_000, keep="tail"),
    help=ToolHelp(
        when_to_use="To create a file, or to replace all of one. For a change, use file_edit.",
        examples=(
            '{"path": "notes/today.md", "content": "# Today\\n"}',
            '{"path": "notes/today.md", "content": "# Today\\n", "must_be_new": true}',
        ),
        failure_modes=(
            "is_a_folder: the path names a folder",
            "not_read: the file exists and was not read in this conversation",
            "stale: the file was changed since it was read",
            "exists: with must_be_new, there is a file already",
            "A path outside the granted folders is refused, with the command that grants it.",
        ),
    ),
)
async def file_write(
    ctx: ToolContext,
    path: Annotated[
        str, Arg("Path of the file.", access="fs_write", min_length=1, aliases=names.PATH)
    ],
    content: Annotated[str, Arg("The whole new content.", aliases=names.CONTENT)],
    must_be_new: Annotated[
        bool,
        Arg(
            "Fail when the file exists.",
            aliases=("create_only", "new_file"),
            opposites=("overwrite",),
        ),
    ] = False,
) -> ToolResult:
    """Create a file, or replace its whole content, as one step.

    Missing folders are made. Mode and owner of an existing file are kept. A file that exists must
    have been read in this conversation, and not been changed since.
    """
    data = encoded(content, "content")
    recovered = await recover(ctx)
    async with path_errors(ctx.sandbox, path):
        target = ctx.sandbox.resolve(path, write=True)
        before = await read_content(ctx, target, unreadable=True)
        if before is not None:
            await _may_replace(ctx, path, target, before, must_be_new)
        else:
            await _refuse_folder(ctx, path)
        change = FileChange(path, target, before, Content(data))
        notes = await change_files(ctx, [change], tool="file_write", known=[target])
    lines = content.count("\n") + (0 if content.endswith("\n") or not content else 1)
    facts = {"path": path, "created": before is None, "line_count": lines, "bytes": len(data)}
    diff = _diff(path, before, content)
    return ToolResult(
        output=f"{'Created' if before is None else 'Replaced'} {shown(path)} "
        f"({plural(lines, 'line')}, {size_text(len(data))})."
        + "".join(f"\n[{note}]" for note in (*recovered, *notes)),
        structured=facts,
        details={**facts, **({"diff": diff} if diff else {})},
    )


async def _may_replace(
    ctx: ToolContext, path: str, target: str, before: Content, must_be_new: bool
) -> None:
    if must_be_new:
        raise ToolFailure(
            f"{shown(path)} exists already.",
            fix="Choose another name, or leave out must_be_new after reading the file.",
            code="exists",
        )
    if before.stat is not None:
        await require_seen(ctx, path, target, before.stat)


async def _refuse_folder(ctx: ToolContext, path: str) -> None:
    if path.endswith("/"):
        raise ToolFailure(
            f"{shown(path)} ends in a slash, so it names a folder.",
            fix="Name a file in it.",
            code="is_a_folder",
        )


def _diff(path: str, before: Content | None, content: str) -> str | None:
    if before is None:
        return unified_diff(path, "", content)
    if not before.whole or len(before.data) > _COMPARED:
        return None
    try:
        return unified_diff(path, before.data.decode(), content)
    except UnicodeDecodeError:
        return None
