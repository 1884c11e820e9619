"""The tool `handoff`."""

from __future__ import annotations

from typing import Annotated

from pegboard import Arg, Handoff, ToolContext, ToolFailure, ToolHelp, ToolResult, tool


@tool(
    effects=(),
    # offered only to agents that have somebody to hand over to
    category="handoff",
    outside=False,
    help=ToolHelp(
        when_to_use="When what the person wants is another agent's business altogether. For a "
        "part of the work that you will report on yourself, use `subagents`.",
        examples=('{"agent": "research", "message": "Wants sources on X, in German."}',),
        failure_modes=("not_found: your prompt names the agents that you can hand over to",),
    ),
)
async def handoff(
    ctx: ToolContext,
    agent: Annotated[str, Arg("The agent that goes on, of those that you were told of.")],
    message: Annotated[str, Arg("What it has to know beside what was said so far.")] = "",
) -> ToolResult:
    """Hand this conversation over to another agent, which goes on and answers in your place.

    It sees what was said so far. Say nothing to the person yourself afterwards.
    """
    known = [item.id for item in ctx.runs.delegates if item.talks]
    if agent not in known:
        raise ToolFailure(
            f"There is no agent {agent!r} to hand over to.",
            code="not_found",
            fix=f"Hand over to one of: {', '.join(known)}." if known else "Go on yourself.",
        )
    return ToolResult(f"From now on {agent} answers.", control=Handoff(agent, message))
