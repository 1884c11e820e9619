"""The tool `session_search`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from pegboard import Arg, SessionHit, ToolContext, ToolHelp, ToolResult, tool
from pegboard_sessions.service import sessions_of
from pegboard_sessions.shown import facts, when


@tool(
    effects={"read"},
    category="sessions",
    capability="orch:read",
    aliases=("sessions_search",),
    intents=(
        "(search|look) [in|through] [my|the|our] [past|earlier] (conversations|sessions|chats) for "
        "{query:rest}",
    ),
    outside=True,
    help=ToolHelp(
        when_to_use="To find where something was talked about before.",
        examples=('{"query": "boat paint"}', '{"query": "invoice", "session": "1f3a"}'),
        failure_modes=("not_found: no conversation of this person has that id",),
    ),
)
async def session_search(
    ctx: ToolContext,
    query: Annotated[str, Arg("Words to look for.", min_length=1, max_length=400)],
    session: Annotated[str, Arg("Id of a conversation to keep to; all unless told.")] = "*",
    limit: Annotated[int, Arg("How many turns at most.", ge=1, le=50)] = 10,
) -> ToolResult:
    """Search what was said in the conversations of the person you talk with.

    Turns with all the words come first; where there is none, those with some of them.
    """
    with sessions_of(ctx) as sessions:
        hits = await sessions.search(query, session=session, limit=limit)
    return ToolResult(
        output="\n".join(map(_line, hits)) or f"Nobody has said {query!r} before.",
        structured={"hits": [{**asdict(hit), "session": facts(hit.session)} for hit in hits]},
    )


def _line(hit: SessionHit) -> str:
    return f"{hit.session.id} turn {hit.seq}, {when(hit.at)}: {hit.excerpt}"
