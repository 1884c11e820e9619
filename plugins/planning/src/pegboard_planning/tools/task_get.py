"""The tool `TaskGet`."""

from __future__ import annotations

from typing import Annotated

from pegboard import Arg, ToolContext, ToolHelp, ToolResult, tool
from pegboard_planning.changes import found
from pegboard_planning.kept import read, talk_of
from pegboard_planning.shown import details, fact


@tool(
    name="TaskGet",
    effects={"read"},
    category="planning",
    aliases=("task_get", "get_task"),
    help=ToolHelp(
        when_to_use="Before work on a task, to read all that belongs to it.",
        examples=('{"taskId": "2"}',),
        failure_modes=("not_found: there is no such task; the list is named",),
    ),
)
async def task_get(
    ctx: ToolContext,
    taskId: Annotated[
        str, Arg("Number of the task.", min_length=1, max_length=20, aliases=("task_id", "id"))
    ],
) -> ToolResult:
    """Return one task of the shared list of work, with all that belongs to it."""
    work = await read(ctx.plugin.storage, talk_of(ctx))
    item = found(work, taskId)
    return ToolResult(output=details(work, item), structured=fact(work, item))
