"""The tool `sessions_list`."""

from __future__ import annotations

from typing import Annotated

from pegboard import Arg, ToolContext, ToolHelp, ToolResult, tool
from pegboard_sessions.service import sessions_of
from pegboard_sessions.shown import facts, line


@tool(
    effects={"read"},
    category="sessions",
    capability="orch:read",
    aliases=("list_sessions",),
    intents=("(list|show) [me] [my|the] [past|earlier] (conversations|sessions|chats)",),
    outside=True,
    help=ToolHelp(
        when_to_use="To find out which conversations there were, before reading one of them.",
        examples=('{"limit": 10}',),
    ),
)
async def sessions_list(
    ctx: ToolContext,
    limit: Annotated[int, Arg("How many at most, the latest of them.", ge=1, le=100)] = 20,
) -> ToolResult:
    """List the conversations of the person you talk with, the latest first.

    Each has a short id, which the other session tools take.
    """
    with sessions_of(ctx) as sessions:
        found = await sessions.list(limit=limit)
    return ToolResult(
        output="\n".join(map(line, found)) or "There are no conversations yet.",
        structured={"sessions": [facts(session) for session in found]},
    )
