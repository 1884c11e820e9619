"""The tool `TaskList`."""

from __future__ import annotations

from pegboard import ToolContext, ToolHelp, ToolResult, tool
from pegboard_planning.kept import read, talk_of
from pegboard_planning.shown import checklist, facts


@tool(
    name="TaskList",
    effects={"read"},
    category="planning",
    aliases=("task_list", "list_tasks"),
    intents=("(list|show) [me] [my|the] (tasks|plan)",),
    help=ToolHelp(
        when_to_use="To see what is done, what is in progress, and what can be begun next.",
        examples=("{}",),
    ),
)
async def task_list(ctx: ToolContext) -> ToolResult:
    """List the tasks of this conversation: how far each is, whose it is, what it waits for."""
    work = await read(ctx.plugin.storage, talk_of(ctx))
    return ToolResult(output=checklist(work), structured=facts(work))
