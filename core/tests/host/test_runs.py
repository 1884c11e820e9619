"""Calls without a turn, the decisions about them, and runs that a tool starts."""

from __future__ import annotations

from typing import Any

import pytest

from pegboard import Caller, Needs, Plugin, RunSpec, ToolContext
from pegboard.contracts.channel import ChannelInfo
from pegboard.contracts.errors import UsageError
from pegboard.contracts.message import InboundMessage
from pegboard.contracts.result import Suspend
from pegboard.contracts.verdict import Ask, Outcome
from pegboard.host.ingress import Ingress
from pegboard.policy.senders import Senders
from pegboard.testing import Call, HostFactory, ScriptedModel
from pegboard.tools.fence import unfenced

pytestmark = pytest.mark.anyio

crew = Plugin(summary="Has others work")
CALLERS: list[Caller] = []
WANTED: list[tuple[str, ...] | None] = []


@crew.tool(effects={"read"})
async def delegate(ctx: ToolContext) -> str:
    """Start a run with the tools that the test wants."""
    result = await ctx.runs.start(RunSpec(prompt="work", tools=WANTED[0], timeout_s=5))
    return f"{result.status}: {result.text}{result.error}"


@crew.tool(effects={"read"}, aliases=["glance"])
async def look(ctx: ToolContext) -> str:
    """Look."""
    CALLERS.append(ctx.caller)
    assert ctx.reply is None
    return "seen"


@crew.tool(effects={"read"})
async def other(ctx: ToolContext) -> str:
    """Do something else."""
    return "other done"


@crew.tool(effects={"read"}, audience="owner")
async def diary(ctx: ToolContext) -> str:
    """Read the diary."""
    return "dear diary"


INLINE = {"crew": crew}


async def delegated(
    host: HostFactory, tools: tuple[str, ...] | None, caller: Any = None
) -> tuple[set[str], str]:
    """Start a child run; return what it was offered and what came of its call of `look`."""
    CALLERS.clear()
    WANTED[:] = [tools]
    model = ScriptedModel([Call("look"), "child done"])
    async with host(inline=INLINE, model=model) as world:
        who = caller(world.host) if caller else world.host.local_caller()
        result = await world.host.call_tool("delegate", {}, who)
        assert result.error is None
        assert "done: child done" in result.text
    offered = {tool.name for tool in model.requests[0].tools}
    return offered - {"tool_result_recall"}, model.requests[1].messages[-1].results[0].text


async def test_a_child_acts_for_nobody_who_is_there(host: HostFactory):
    offered, answer = await delegated(host, None)
    assert {"look", "other", "diary", "delegate"} <= offered
    assert unfenced(answer) == "seen"
    (child,) = CALLERS
    assert (child.trust, child.admin, child.depth, child.origin) == ("operator", False, 1, "agent")
    assert (child.attended, child.live_reply, child.slash_commands) == (False, False, False)


@pytest.mark.parametrize("name", ["look", "crew:look", "crew__look", "glance"])
async def test_a_child_has_the_tools_that_it_was_given_by_any_of_their_names(
    host: HostFactory, name: str
):
    offered, answer = await delegated(host, (name,))
    assert offered == {"look"}
    assert unfenced(answer) == "seen"


@pytest.mark.parametrize("mine", ["look", "crew:look", "crew__look"])
@pytest.mark.parametrize("asked", ["look", "crew:look", "glance"])
async def test_two_lists_have_a_tool_in_common_however_each_spells_it(
    host: HostFactory, mine: str, asked: str
):
    def narrowed(opened: Any) -> Caller:
        return opened.local_caller().narrow(tools=[mine, "delegate"], delegated=False)

    offered, answer = await delegated(host, (asked, "other"), narrowed)
    assert offered == {"look"}
    assert unfenced(answer) == "seen"


async def test_a_child_of_a_guest_is_a_guest(host: HostFactory):
    model = ScriptedModel([Call("diary"), "child done"])
    WANTED[:] = [None]
    config = {"policy.guest_tools": ["delegate", "look", "diary"]}
    async with host(inline=INLINE, model=model, config=config) as world:
        await world.host.call_tool("delegate", {}, world.host.local_caller(as_guest=True))
    assert "diary" not in {tool.name for tool in model.requests[0].tools}
    assert "dear diary" not in str(model.requests[1].messages)


async def test_a_child_with_no_tools_has_none(host: HostFactory):
    offered, answer = await delegated(host, ())
    assert offered == set()
    assert "seen" not in answer


async def test_a_child_that_takes_too_long_is_stopped(host: HostFactory):
    slow = Plugin(summary="Slow")

    @slow.tool(effects={"read"})
    async def wait(ctx: ToolContext) -> str:
        """Wait."""
        import anyio

        await anyio.sleep(60)
        return "never"

    @slow.tool(effects={"read"})
    async def hurry(ctx: ToolContext) -> str:
        """Start a run that has no time."""
        result = await ctx.runs.start(RunSpec(prompt="work", timeout_s=0.2))
        return f"{result.status}: {result.error}"

    model = ScriptedModel([Call("wait"), "never"])
    async with host(inline={"slow": slow}, model=model) as world:
        assert "timed_out: stopped after 0.2 s" in (await world.call("hurry")).text


async def test_a_call_takes_any_name_and_the_same_path_as_a_models(host: HostFactory):
    async with host(inline=INLINE) as world:
        seen = []
        caller = world.host.local_caller()
        for name in ("look", "crew:look", "crew__look", "glance"):
            result = await world.host.call_tool(
                name, "{}", caller, trace=lambda stage, **facts: seen.append(stage)
            )
            assert unfenced(result.text) == "seen"
        assert seen[: len(seen) // 4] == seen[-len(seen) // 4 :]
        assert {"find", "arguments", "decide", "guards", "run", "end"} <= set(seen)
        assert "pegboard_tool_guard" in world.recorder.names()


async def test_a_call_that_needs_a_person_waits_until_one_has_agreed(host: HostFactory):
    careful = Plugin(summary="Asks")

    @careful.hook
    def pegboard_tool_guard(event: Any) -> Ask:
        return Ask("May it look?")

    async with host(inline={**INLINE, "careful": careful}) as world:
        caller = world.host.local_caller()
        asked = await world.host.call_tool("look", {}, caller)
        assert isinstance(asked.control, Suspend)
        assert "May it look?" in asked.control.question
        agreed = await world.host.call_tool("look", {}, caller, agreed=[asked.control.subject])
        assert unfenced(agreed.text) == "seen"
        other = await world.host.call_tool("look", {}, caller, agreed=["something else"])
        assert isinstance(other.control, Suspend)


async def test_secrets_that_can_not_be_read_cost_only_the_tools_that_need_one(host: HostFactory):
    keyed = Plugin(summary="Needs a key")

    @keyed.tool(effects={"read"}, needs=Needs(secrets=("some_key",)))
    async def unlock(ctx: ToolContext) -> str:
        """Unlock."""
        return ctx.plugin.secret("some_key")

    async with host(inline={**INLINE, "keyed": keyed}) as world:
        file = world.home / "config" / "secrets.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("{")
        assert unfenced((await world.call("look")).text) == "seen"
        refused = await world.call("unlock")
        assert refused.error is not None
        assert "the secret some_key can't be read" in refused.error.message


async def test_why_says_the_rule_for_each_caller(host: HostFactory):
    async with host(inline=INLINE, config={"tools.excluded": ["other"]}) as world:
        local = world.host.local_caller
        assert world.host.why("look", local()).outcome is Outcome.ALLOW
        assert world.host.why("diary", local(as_guest=True)).outcome is Outcome.DENY
        assert world.host.why("crew:other", local()).rule == "filter.excluded_names"
        with pytest.raises(UsageError, match="did you mean 'look'"):
            world.host.why("lok", local())


def test_the_person_here_has_what_their_channel_has_and_no_more():
    ingress = Ingress(Senders(roles={}), {})
    message = InboundMessage(channel="desk", chat="c", sender="x", text="hi")

    def stamped(**facts: bool) -> tuple[bool, bool, bool]:
        caller = ingress.caller(ChannelInfo(surface="terminal", local=True, **facts), message)
        return caller.attended, caller.live_reply, caller.slash_commands

    assert stamped(attended=True, live_reply=False) == (True, False, False)
    assert stamped(attended=False, live_reply=False) == (False, False, False)
    assert stamped(slash_commands=True) == (True, True, True)


async def test_the_person_at_the_command_line_has_no_chat_commands(host: HostFactory):
    async with host() as world:
        caller = world.host.local_caller()
        assert (caller.attended, caller.live_reply, caller.slash_commands) == (True, True, False)
        alone = world.host.local_caller(attended=False)
        assert (alone.attended, alone.live_reply, alone.slash_commands) == (False, False, False)
        assert world.host.local_caller(as_guest=True).admin is False
