"""The tool `session_history`."""

from __future__ import annotations

from typing import Annotated

from pegboard import Arg, OutputLimits, ToolContext, ToolHelp, ToolResult, tool
from pegboard_sessions.service import sessions_of
from pegboard_sessions.shown import said, talk


@tool(
    effects={"read"},
    category="sessions",
    capability="orch:read",
    aliases=("sessions_history",),
    outside=True,
    limits=OutputLimits(chars=40_000, keep="tail"),
    help=ToolHelp(
        when_to_use="To read again what was said, also what a summary stands for by now.",
        examples=('{"session": "1f3a"}', '{"before": 12, "limit": 10}'),
        failure_modes=("not_found: no conversation of this person has that id",),
    ),
)
async def session_history(
    ctx: ToolContext,
    session: Annotated[str, Arg("Id of a conversation; this one unless told.")] = "",
    before: Annotated[int | None, Arg("Only turns before this number.", ge=1)] = None,
    limit: Annotated[int, Arg("How many turns at most, the latest of them.", ge=1, le=100)] = 20,
) -> ToolResult:
    """Read what was said in a conversation: its last turns, the oldest of them first.

    Results of tools are left out, and long messages are shortened.
    """
    with sessions_of(ctx) as sessions:
        turns = await sessions.history(session, before=before, limit=limit)
    if not turns:
        return ToolResult("Nothing was said before that.", structured={"turns": []})
    first = turns[0].seq
    more = f"\n\nEarlier turns: before={first}." if first > 1 else ""
    return ToolResult(
        output="\n\n".join(map(talk, turns)) + more,
        structured={"turns": [said(turn) for turn in turns]},
    )
