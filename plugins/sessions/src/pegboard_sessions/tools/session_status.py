"""The tool `session_status`."""

from __future__ import annotations

from typing import Annotated

from pegboard import Arg, ToolContext, ToolHelp, ToolResult, tool
from pegboard_sessions.service import sessions_of
from pegboard_sessions.shown import facts, line, when


@tool(
    effects={"read"},
    category="sessions",
    capability="orch:read",
    aliases=("sessions_status",),
    outside=True,
    help=ToolHelp(
        when_to_use="To see how long a conversation is, when it began, and whether work is open.",
        examples=("{}", '{"session": "1f3a"}'),
        failure_modes=("not_found: no conversation of this person has that id",),
    ),
)
async def session_status(
    ctx: ToolContext,
    session: Annotated[str, Arg("Id of a conversation; this one unless told.")] = "",
) -> ToolResult:
    """Report on a conversation: age, turns, open turns, size of its last request in tokens."""
    with sessions_of(ctx) as sessions:
        found = await sessions.status(session)
    tokens = "not known" if found.tokens is None else str(found.tokens)
    return ToolResult(
        output="\n".join(
            (
                line(found),
                f"agent: {found.agent}",
                f"began: {when(found.created_at)}",
                f"open turns: {found.open}",
                f"tokens of its last request: {tokens}",
            )
        ),
        structured=facts(found),
    )
