"""Turns that other agents lost, held up, leaked or repeated, with what is right."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import anyio
import pytest

from pegboard import InboundMessage, Plugin, ToolContext
from pegboard.contracts.context import RunSpec
from pegboard.contracts.provider import ChatRequest
from pegboard.testing import Call, HostFactory, ScriptedModel
from pegboard.testing.host import HostUnderTest
from pegboard.testing.model import Fail

pytestmark = pytest.mark.anyio

KEY = "quite-a-secret-value"
CHAT = "group"


def clock() -> Plugin:
    """Return a plugin with a tool that never ends, and one whose result is never the same."""
    plugin = Plugin(summary="Time")
    told: list[str] = []

    @plugin.tool(effects={"read"})
    async def wait(ctx: ToolContext) -> str:
        """Wait for ever."""
        await anyio.sleep_forever()
        return ""

    @plugin.tool(effects={"read"})
    def now() -> str:
        """Tell the time."""
        told.append("")
        return f"12:00:{len(told):02}"

    @plugin.tool(effects={"read"})
    def echo(text: str) -> str:
        """Say how long a text is and whether it is the key."""
        return f"{len(text)} {text == KEY}"

    @plugin.tool(effects={"read"}, audience="owner")
    async def delegate(ctx: ToolContext) -> str:
        """Have a worker do it."""
        done = await ctx.runs.start(RunSpec(prompt="work"))
        return f"{done.status}: {done.error}"

    return plugin


async def said(world: HostUnderTest, text: str, *, chat: str = CHAT, guest: bool = False) -> str:
    caller = world.host.local_caller(as_guest=guest)
    message = InboundMessage(channel="test", chat=chat, sender="p", text=text)
    outcome = await world.host.submit(message, world.desk, caller=caller)
    return f"{outcome.status} {outcome.text} {outcome.error}"


async def test_a_message_that_queued_behind_a_run_that_took_too_long_is_answered(
    host: HostFactory,
) -> None:
    def think(request: ChatRequest) -> str | Call:
        return Call("wait") if request.messages[-1].text == "slow" else "here"

    model = ScriptedModel([think], repeat=True)
    config = {"agents.main.timeout_s": 1.0}
    ended: list[str] = []

    async def say(text: str, chat: str = CHAT) -> None:
        ended.append(f"{text}: {(await said(world, text, chat=chat))[:6]}")

    async with (
        host(inline={"clock": clock()}, model=model, config=config) as world,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(say, "slow")
        while not model.requests:
            await anyio.sleep(0.002)
        tasks.start_soon(say, "behind")
        await say("elsewhere", "another chat")
        assert ended == ["elsewhere: done h"], "another conversation waits for nobody"
    assert ended[1:] == ["slow: failed", "behind: done h"]


async def test_owner_and_guest_in_turn_leave_what_each_of_them_is_offered_as_it_was(
    host: HostFactory,
) -> None:
    model = ScriptedModel(["yes"], repeat=True)
    config = {"policy.guest_tools": ["clock:now"]}
    async with host(inline={"clock": clock()}, model=model, config=config) as world:
        for guest in (False, True, False, True, False):
            await said(world, "hello", guest=guest)
    owners, guests = model.requests[::2], model.requests[1::2]
    assert {tool.name for tool in owners[0].tools} > {tool.name for tool in guests[0].tools}

    def beginnings(requests: Sequence[ChatRequest]) -> list[object]:
        return [(request.tools, request.messages[0].text) for request in requests]

    for requests in (owners, guests):
        assert beginnings(requests) == beginnings(requests)[:1] * len(requests)
    # what a provider keeps of a prompt is found again by the objects that are the same
    assert owners[0].tools[0] is owners[1].tools[0]


async def test_a_result_that_differs_each_time_does_not_hide_a_call_that_is_repeated(
    host: HostFactory,
) -> None:
    model = ScriptedModel([Call("now")], repeat=True)
    async with host(inline={"clock": clock()}, model=model) as world:
        assert (await said(world, "what time is it?")).startswith("failed")
    results = [item for message in model.requests[-1].messages for item in message.results]
    assert len({item.text for item in results}) == len(results) == 4


@pytest.mark.parametrize("within", ["turn", "worker"])
async def test_a_key_in_a_providers_error_reaches_no_reply_no_log_and_no_file(
    host: HostFactory, caplog: pytest.LogCaptureFixture, within: str
) -> None:
    def think(request: ChatRequest) -> Fail | Call | str:
        if within == "turn" or request.messages[-1].text == "work":
            return Fail("auth", f"401: the key {KEY} is wrong")
        results = request.messages[-1].results
        return f"It came to: {results[0].text}" if results else Call("delegate")

    model = ScriptedModel([think], repeat=True)
    secrets = {"service_key": KEY}
    with caplog.at_level(logging.DEBUG):
        async with host(inline={"clock": clock()}, model=model, secrets=secrets) as world:
            answer = await said(world, "hi")
            home = world.home
    assert "401: the key" in answer
    assert KEY not in answer
    assert KEY not in caplog.text
    kept = [file for file in home.rglob("*") if file.is_file() and "secret" not in file.name]
    assert any(file.name == "pegboard.db" for file in kept)
    assert not [file for file in kept if KEY.encode() in file.read_bytes()]


async def test_an_argument_that_is_a_key_reaches_the_tool_as_it_is(host: HostFactory) -> None:
    model = ScriptedModel([Call("echo", text=KEY), "done"])
    secrets = {"service_key": KEY}
    async with host(inline={"clock": clock()}, model=model, secrets=secrets) as world:
        await said(world, "hi")
    assert model.requests[-1].messages[-1].results[0].text.splitlines()[1] == f"{len(KEY)} True"
