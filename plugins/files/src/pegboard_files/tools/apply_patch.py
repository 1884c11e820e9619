"""The tool `apply_patch`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Final

from pegboard import Arg, OutputLimits, ToolContext, ToolFailure, ToolHelp, ToolResult, tool
from pegboard_files import argument_names as names
from pegboard_files.diff import unified_diff
from pegboard_files.edit import plain_ends
from pegboard_files.editable import editable, presentable
from pegboard_files.file_change import Content
from pegboard_files.names import plural, shown
from pegboard_files.patch_format import PATHS, PatchSyntaxError
from pegboard_files.patch_parser import parse_patch
from pegboard_files.patch_plan import (
    LETTERS,
    MissingFile,
    NamedFile,
    PlannedChange,
    paths_of,
    plan_patch,
)
from pegboard_files.path_failures import not_found, path_errors
from pegboard_files.recovery import recover
from pegboard_files.seen import has_seen
from pegboard_files.undoable_changes import change_files, read_content

_DIFF_CHARS: Final = 200_000

_DESCRIPTION_EXAMPLE: Final = (
    "*** Begin Patch\\n*** Update File: app.py\\n@@ def main():\\n-    debug = True\\n"
    "+    debug = False\\n*** End Patch"
)


@tool(
    effects={"read", "fs_write"},
    category="file",
    capability="orch:write",
    aliases=("applypatch", "patch", "patch_files"),
    limits=OutputLimits(chars=10_000, keep="tail"),
    help=ToolHelp(
        when_to_use="To change several places or files at once, or to move and delete files.",
        examples=(f'{{"patch": "{_DESCRIPTION_EXAMPLE}"}}',),
        failure_modes=(
            "invalid_patch: the text is no patch; names the line",
            "no_match: lines are not there; shows the nearest text",
            "several_matches: lines nearly fit several places; add an `@@` line",
            "exists: a file to add, or to move to, is there already",
            "not_found: a file to change or delete is not there",
            "Whatever fails, no file is changed.",
        ),
    ),
)
async def apply_patch(
    ctx: ToolContext,
    patch: Annotated[
        str,
        Arg(
            "The patch, from `*** Begin Patch` to `*** End Patch`.",
            access="fs_write",
            path_pattern=PATHS,
            aliases=names.PATCH,
            freeform=True,
        ),
    ],
) -> ToolResult:
    """Change, add, delete and move files by a patch: all of it is done, or nothing.

    Between `*** Begin Patch` and `*** End Patch` stand, for each file, `*** Add File: path` with
    lines that begin with +, `*** Delete File: path`, or `*** Update File: path`, after which
    `*** Move to: path` may rename it. An update has one or more places, from top to bottom: `@@`,
    or `@@ line` with a line that stands before the place, then lines that begin with a blank
    (stays), - (goes) or + (is new). `*** End of File` after them says that the place is at the end.
    """
    operations = _parsed(patch)
    recovered = await recover(ctx)
    named = {path: await _named(ctx, path) for path in paths_of(operations)}
    try:
        planned = plan_patch(operations, named)
    except MissingFile as error:
        if error.taken:
            raise
        missing = await not_found(ctx.sandbox, error.path)
        raise ToolFailure(
            error.message,
            fix=f"{missing.fix} Use `*** Add File:` for a new file. No file was changed.",
            code="not_found",
            **error.details,
        ) from error
    if not planned:
        raise ToolFailure(
            "The patch leaves every file as it is.",
            fix="Nothing needs to be changed.",
            code="no_change",
        )
    async with path_errors(ctx.sandbox, planned[0].change.path):
        notes = await change_files(
            ctx,
            [item.change for item in planned],
            tool="apply_patch",
            known=await _known(ctx, planned),
        )
    return _result(planned, (*recovered, *notes))


def _parsed(patch: str) -> tuple[Any, ...]:
    try:
        return parse_patch(patch)
    except PatchSyntaxError as error:
        raise ToolFailure(
            error.message, fix=error.fix, code="invalid_patch", line=error.line
        ) from error


async def _named(ctx: ToolContext, path: str) -> NamedFile:
    async with path_errors(ctx.sandbox, path):
        target = ctx.sandbox.resolve(path, write=True)
        stat = await ctx.sandbox.stat(path)
        link = stat is not None and stat.kind == "symlink"
        return NamedFile(path, target, await read_content(ctx, target), link)


async def _known(ctx: ToolContext, planned: Sequence[PlannedChange]) -> list[str]:
    """Return the files whose whole content the conversation knows behind the patch."""
    known: list[str] = []
    for item in planned:
        change = item.change
        before = change.before or change.source
        if change.after is None:
            continue
        place = change.moved_from or change.target
        if before is None or (before.stat and await has_seen(ctx, place, before.stat)):
            known.append(change.target)
    return known


def _result(planned: Sequence[PlannedChange], notes: Sequence[str]) -> ToolResult:
    lines = [f"Changed {plural(len(planned), 'file')}."]
    files: list[dict[str, Any]] = []
    diffs: list[str] = []
    for item in planned:
        lines.append(_line(item))
        lines.extend(f"  [{note}]" for note in item.notes)
        files.append(
            {
                "path": item.change.path,
                "change": item.kind,
                "moved_from": item.moved_from,
                "added": item.added,
                "removed": item.removed,
                "notes": list(item.notes),
            }
        )
        diff = _diff(item)
        if diff:
            diffs.append(diff)
    lines.extend(f"[{note}]" for note in notes)
    diff = "".join(diffs)
    details = {"files": files}
    return ToolResult(
        output="\n".join(lines),
        structured={"files": files},
        details={**details, "diff": diff} if diff and len(diff) <= _DIFF_CHARS else details,
    )


def _line(item: PlannedChange) -> str:
    name = shown(item.change.path)
    if item.moved_from is not None:
        name = f"{shown(item.moved_from)} -> {name}"
    counts = " ".join(
        f"{mark}{count}" for mark, count in (("+", item.added), ("-", item.removed)) if count
    )
    return f"{LETTERS[item.kind]} {name}{f' ({counts})' if counts else ''}"


def _diff(item: PlannedChange) -> str | None:
    change = item.change
    before, after = change.before or change.source, change.after
    if after is before:
        return None
    texts = [_text(change.path, content) for content in (before, after)]
    if texts[0] is None or texts[1] is None:
        return None
    return unified_diff(change.path, texts[0], texts[1])


def _text(path: str, content: Content | None) -> str | None:
    """Return a content as a text to compare, or None when it can't be shown."""
    if content is None:
        return ""
    try:
        return presentable(plain_ends(editable(path, content.data)[0].text))
    except ToolFailure:
        return None
