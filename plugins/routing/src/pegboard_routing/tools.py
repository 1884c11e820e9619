"""The tool `model_routing_config`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Literal

from pegboard import Arg, PegboardError, ToolContext, ToolFailure, ToolHelp, ToolResult, tool

if TYPE_CHECKING:
    from pegboard import ModelChoice, RouteInfo, Routing


@tool(
    effects={"state_write"},
    category="config",
    audience="owner",
    control="config",
    on_interrupt="rerun",  # it only asks; the host makes the change, and once it is made says so
    outside=False,
    help=ToolHelp(
        when_to_use="When the person asks which model answers them, or wants another model, "
        "another provider, more or less thinking, or others to stand in when one fails.",
        examples=(
            "{}",
            '{"action": "set", "provider": "anthropic", "model": "claude-sonnet-4-5"}',
            '{"action": "set", "effort": "high"}',
            '{"action": "set", "fallbacks": ["openai/gpt-5-mini", "local"]}',
        ),
        failure_modes=(
            "usage: nothing was given to set, or a provider that is not configured.",
            "denied: the person said no, or did not answer within a minute.",
        ),
    ),
)
async def model_routing_config(
    ctx: ToolContext,
    action: Annotated[Literal["view", "set"], Arg("view = only look.")] = "view",
    provider: Annotated[str | None, Arg("Provider instance to ask first.", min_length=1)] = None,
    model: Annotated[str | None, Arg("Model to ask it for; empty = its default.")] = None,
    effort: Annotated[
        Literal["low", "medium", "high", "default"] | None,
        Arg("How much to think before answering; default = as the model does."),
    ] = None,
    fallbacks: Annotated[
        list[str] | None,
        Arg("Who is asked when that fails, in order: PROVIDER or PROVIDER/MODEL; [] = nobody."),
    ] = None,
) -> ToolResult:
    """Show which provider and model you ask, with what effort, and who stands in; or change it.

    For a change the owner is asked at once. It counts from the next message on.
    """
    routing: Routing = ctx.plugin.service("routing")
    if action == "view":
        info = await routing.view()
        chain = [asdict(choice) for choice in info.chain]
        facts = {**asdict(info), "chain": chain, "providers": list(info.providers)}
        return ToolResult("\n".join(_lines(info)), structured=facts)
    try:
        change = await routing.change(
            provider=provider,
            model=model,
            effort="" if effort == "default" else effort,
            fallbacks=fallbacks,
        )
    except PegboardError as error:
        if error.code != "usage":
            raise
        raise ToolFailure(error.message, fix=error.fix, code="usage") from error
    if change is None:
        return ToolResult("It is so already. Nothing was changed.")
    return ToolResult("The owner agreed: it counts from the next message on.", control=change)


def _lines(info: RouteInfo) -> list[str]:
    first, *others = map(_choice, info.chain)
    return [
        f"The agent {info.agent} asks {first}.",
        f"effort: {info.effort or 'as the model does'}",
        f"when that fails: {', then '.join(others) or 'nobody else'}",
        f"providers that can be chosen: {', '.join(info.providers)}",
    ]


def _choice(choice: ModelChoice) -> str:
    model = f" ({choice.model})" if choice.model else " (its default model)"
    return f"{choice.provider}{model}{f'; {choice.rests}' if choice.rests else ''}"
