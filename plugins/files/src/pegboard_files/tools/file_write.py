"""The tool `file_write`."""

from __future__ import annotations

from typing import Annotated, Final

from pegboard import (
    Arg,
    OutputLimits,
    Sandbox,
    SandboxError,
    ToolContext,
    ToolHelp,
    ToolResult,
    tool,
)
from pegboard_files.diff import unified_diff
from pegboard_files.failing import path_errors
from pegboard_files.names import plural, shown, size_text
from pegboard_files.text_format import encoded

_COMPARED: Final = 1 << 20
"""Bytes up to which the old content is read for the difference."""


@tool(
    effects={"read", "fs_write"},
    category="file",
    capability="orch:write",
    aliases=("write_file", "write", "create_file"),
    intents=(
        "(write|put|save) {content:quoted} (to|into|in) [the] [file] {path:path}",
        "create [the|a] [file] {path:path} with [the] [content|contents|text] {content:quoted}",
    ),
    limits=OutputLimits(chars=1_000, keep="tail"),
    help=ToolHelp(
        when_to_use="To create a file, or to replace all of one. For a change, use file_edit.",
        examples=('{"path": "notes/today.md", "content": "# Today\\n"}',),
        failure_modes=(
            "is_a_folder: the path names a folder",
            "A path outside the granted folders is refused, with the command that grants it.",
        ),
    ),
)
async def file_write(
    ctx: ToolContext,
    path: Annotated[str, Arg("Path of the file.", access="fs_write", min_length=1)],
    content: Annotated[str, Arg("The whole new content.")],
) -> ToolResult:
    """Create a file, or replace its whole content, as one step.

    Missing folders are made. Mode and owner of an existing file are kept.
    """
    data = encoded(content, "content")
    async with path_errors(ctx.sandbox, path):
        created, before = await _before(ctx.sandbox, path)
        await ctx.sandbox.write(path, data)
    lines = content.count("\n") + (0 if content.endswith("\n") or not content else 1)
    facts = {"path": path, "created": created, "line_count": lines, "bytes": len(data)}
    diff = unified_diff(path, before, content) if before is not None else None
    return ToolResult(
        output=f"{'Created' if created else 'Replaced'} {shown(path)} "
        f"({plural(lines, 'line')}, {size_text(len(data))}).",
        structured=facts,
        details={**facts, **({"diff": diff} if diff else {})},
    )


async def _before(sandbox: Sandbox, path: str) -> tuple[bool, str | None]:
    """Return whether the file is new, and its old text where it can be compared."""
    try:
        data = await sandbox.read(path, limit=_COMPARED + 1)
    except FileNotFoundError:
        return True, ""
    except (PermissionError, SandboxError):
        # what may be written need not be readable; writing says itself what is refused
        return await sandbox.stat(path) is None, None
    try:
        return False, data.decode() if len(data) <= _COMPARED else None
    except UnicodeDecodeError:
        return False, None
