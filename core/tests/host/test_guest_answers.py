"""What a guest is told of a tool it can't use is what it is told of one that does not exist."""

from __future__ import annotations

import pytest

from pegboard import InboundMessage, Plugin, ToolContext
from pegboard.testing import Call, HostFactory, ScriptedModel

pytestmark = pytest.mark.anyio

NAMES = ("diary", "set_option", "start_job", "own:diary")

own = Plugin(summary="The owner's own")


@own.tool(effects={"read"}, audience="owner")
async def diary(ctx: ToolContext) -> str:
    """Read the owner's diary."""
    return "dear diary"


@own.tool(effects={"read"}, control="config")
async def set_option(ctx: ToolContext) -> str:
    """Change the configuration."""
    return "changed"


@own.tool(effects={"read"}, capability="orch:cron")
async def start_job(ctx: ToolContext) -> str:
    """Start a job."""
    return "started"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("opened", [[], list(NAMES)])
async def test_a_name_is_answered_alike_with_and_without_the_package(
    host: HostFactory, name: str, opened: list[str]
) -> None:
    config = {"policy.guest_tools": opened, "autonomy.profile": "assistant"}
    answers = []
    for inline in ({}, {"own": own}):
        async with host(inline=inline, config=config) as world:
            for tool in ("tool_describe", "tool_help"):
                answers.append((await world.call(tool, as_guest=True, name=name)).text)
            found = await world.call("tool_search", as_guest=True, query="diary option job")
            called = await world.call(name, as_guest=True)
            assert called.error is not None
            answers.append(repr((called.text, called.error, called.details, found.text)))
    assert answers[:3] == answers[3:]


async def test_trying_names_until_the_breaker_opens_tells_nothing_either(
    host: HostFactory,
) -> None:
    config = {"autonomy.profile": "unattended", "autonomy.denial_breaker": 3}
    seen = []
    for inline in ({}, {"own": own}):
        model = ScriptedModel([Call("diary"), Call("diary"), Call("diary"), "done"])
        async with host(inline=inline, model=model, config=config) as world:
            caller = world.host.local_caller(as_guest=True)
            chat = f"c{len(seen)}"  # each a conversation of its own
            message = InboundMessage(channel="test", chat=chat, sender="p", text="go")
            await world.host.submit(message, world.desk, caller=caller)
        seen.append(
            [
                (result.text, result.error)
                for request in model.requests
                for item in request.messages
                for result in item.results
            ]
        )
    assert seen[0] == seen[1]
    assert len(seen[0]) >= 3
