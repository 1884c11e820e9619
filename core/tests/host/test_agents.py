"""Named agents: who answers, as what, with what, and how a turn goes on with another one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import anyio
import pytest

from pegboard import Caller, ChatRequest, Handoff, Plugin, ToolContext, ToolResult
from pegboard.config.load import Config
from pegboard.config.paths import find_paths
from pegboard.contracts.errors import UsageError
from pegboard.contracts.message import InboundMessage
from pegboard.contracts.stream import Noticed
from pegboard.host.agents import Agents
from pegboard.host.ultra import NO_TOOL
from pegboard.testing import Call, HostFactory, ScriptedModel
from pegboard.testing.host import HostUnderTest

pytestmark = pytest.mark.anyio

desk = Plugin(summary="Things to do")
KEPT: list[ToolContext] = []


@desk.tool(effects={"read"})
async def look(ctx: ToolContext) -> str:
    """Look."""
    KEPT.append(ctx)
    return f"seen by {ctx.caller.agent}"


@desk.tool(effects={"read"})
async def wait(ctx: ToolContext) -> str:
    """Wait for a minute."""
    await anyio.sleep(60)
    return "never"


@desk.tool(effects={"state_write"})
async def stall(ctx: ToolContext) -> str:
    """Wait for a minute in a way that is not repeated."""
    await anyio.sleep(60)
    return "never"


@desk.tool(effects=(), category="handoff")
async def pass_on(ctx: ToolContext, agent: str, message: str = "") -> ToolResult:
    """Hand over to any agent, whether or not there is one."""
    return ToolResult("handed over", control=Handoff(agent, message))


@desk.tool(effects={"read"}, attended="ultra")
async def many(ctx: ToolContext) -> str:
    """Have many workers."""
    return "done by many"


INLINE = {"desk": desk}
STAFF: dict[str, Any] = {
    "agent.model": "usual",
    "agents.main.delegates": ["research", "digger"],
    "agents.research.description": "Finds sources",
    "agents.research.prompt": "You are a researcher.",
    "agents.research.model": "deep",
    "agents.research.effort": "high",
    "agents.research.tools": ["look"],
    "agents.research.delegates": ["main"],
    "agents.digger.role": "sub",
}


@pytest.fixture(autouse=True)
def fresh() -> None:
    KEPT.clear()


def names(request: ChatRequest) -> set[str]:
    return {tool.name for tool in request.tools}


def told(request: ChatRequest) -> list[str]:
    return [result.text for message in request.messages for result in message.results]


async def said(world: HostUnderTest, text: str, *, sender: str = "person", channel: str = "test"):
    message = InboundMessage(channel=channel, chat="c", sender=sender, text=text)
    return await world.host.submit(message, world.desk, emit=world.recorder)


def agents(tmp_path: Any, **tables: Any) -> Agents:
    paths = find_paths({"PEGBOARD_HOME": str(tmp_path)})
    return Agents(Config(tables, {}, paths))


async def test_a_channels_agent_answers_with_its_prompt_its_model_and_its_tools(host: HostFactory):
    model = ScriptedModel(["hello", Call("look"), "found"])
    config = {**STAFF, "channels.test": {"type": "x", "agent": "research"}}
    async with host(inline=INLINE, model=model, config=config) as world:
        assert (await said(world, "hi", channel="other")).text == "hello"
        assert (await said(world, "hi")).text == "found"
        usual, first, second = model.requests
        assert (usual.model, usual.effort) == ("usual", None)
        assert (first.model, first.effort) == ("deep", "high")
        assert "You are a researcher." in first.messages[0].text
        assert "You are a researcher." not in usual.messages[0].text
        assert {"look", "wait", "pass_on"} <= names(usual)
        assert names(first) - {"tool_result_recall"} == {"look"}
        assert told(second) == [item for item in told(second) if "seen by research" in item]
        (ctx,) = KEPT
        assert ctx.call.conversation.startswith("@research/")


async def test_each_agent_has_conversations_of_its_own(host: HostFactory):
    model = ScriptedModel(["one", "two", "three"])
    config = {**STAFF, "agents.research.senders": ["test:42"]}
    async with host(inline=INLINE, model=model, config=config) as world:
        await said(world, "first")
        await said(world, "second", sender="42")
        await said(world, "third")
    texts = [[m.text for m in request.messages if m.role == "user"] for request in model.requests]
    assert texts == [["first"], ["second"], ["first", "third"]]


async def test_an_agent_is_told_to_whom_it_may_give_what(host: HostFactory):
    model = ScriptedModel(["ok"])
    async with host(inline=INLINE, model=model, config=STAFF) as world:
        await said(world, "hi")
    prompt = model.requests[0].messages[0].text
    heirs, _, workers = prompt.partition("do a part of the work")
    assert "- research: Finds sources" in heirs
    assert "digger" not in heirs
    assert "- research: Finds sources" in workers
    assert "- digger" in workers


async def test_a_turn_goes_on_with_the_agent_that_it_was_handed_to(host: HostFactory):
    model = ScriptedModel(
        ["earlier", [Call("pass_on", agent="research", message="wants X"), Call("look")], "done"]
    )
    async with host(inline=INLINE, model=model, config=STAFF) as world:
        await said(world, "before")
        outcome = await said(world, "find X")
        assert (outcome.text, outcome.status, outcome.steps) == ("done", "done", 2)
        _, before, after = model.requests
        assert (before.model, after.model, after.effort) == ("usual", "deep", "high")
        assert "You are a researcher." in after.messages[0].text
        assert [m.text for m in after.messages if m.role == "user"] == ["before", "find X"]
        assert after.state is None
        note, seen = told(after)
        assert note == (
            "You are research and have this conversation now, from main; answer it. "
            "main says: wants X"
        )
        assert "seen by main" in seen, "what was called before the hand-over"
        assert names(after) - {"tool_result_recall"} == {"look"}
        notices = [item for item in world.recorder.stream if isinstance(item, Noticed)]
        assert [item.text for item in notices] == ["main hands over to research."]


async def test_the_next_message_is_the_first_agents_again(host: HostFactory):
    model = ScriptedModel([Call("pass_on", agent="research"), "by research", "by main"])
    async with host(inline=INLINE, model=model, config=STAFF) as world:
        await said(world, "one")
        assert (await said(world, "two")).text == "by main"
        last = model.requests[-1]
        assert last.model == "usual"
        assert "by research" in [message.text for message in last.messages]


@pytest.mark.parametrize("agent", ["digger", "reserch", "main", ""])
async def test_nobody_goes_on_who_was_not_named_as_a_delegate(host: HostFactory, agent: str):
    model = ScriptedModel([Call("pass_on", agent=agent), "I go on"])
    async with host(inline=INLINE, model=model, config=STAFF) as world:
        assert (await said(world, "hi")).text == "I go on"
        assert model.requests[1].model == "usual"
        (error,) = told(model.requests[1])
        assert "can't delegate this to" in error
        assert "It delegates to: research." in error


async def test_of_two_hand_overs_in_one_step_the_first_counts(host: HostFactory):
    config = {**STAFF, "agents.main.delegates": ["research", "other"], "agents.other.prompt": "x"}
    calls = [Call("pass_on", agent="research"), Call("pass_on", agent="other")]
    model = ScriptedModel([calls, "answered"])
    async with host(inline=INLINE, model=model, config=config) as world:
        assert (await said(world, "hi")).text == "answered"
        assert model.requests[1].model == "deep"
        assert "hands over already" in told(model.requests[1])[1]


async def test_agents_that_hand_a_turn_to_and_fro_are_stopped(host: HostFactory):
    def turn(request: ChatRequest) -> Any:
        if told(request) and "already" in told(request)[-1]:
            return "then I answer"
        return Call("pass_on", agent="research" if request.model == "usual" else "main")

    config = {**STAFF, "agents.research.tools": ["pass_on"]}
    model = ScriptedModel([turn], repeat=True)
    async with host(inline=INLINE, model=model, config=config) as world:
        assert (await said(world, "hi")).text == "then I answer"
        assert len(model.requests) == 7


async def test_a_turn_that_was_cut_off_after_a_hand_over_goes_on_there(host: HostFactory):
    """The next host runs the turn again from its start and finds that it was handed over."""
    first = ScriptedModel([Call("pass_on", agent="research", message="go"), Call("stall")])
    config = {**STAFF, "agents.research.tools": ["look", "stall"]}
    message = InboundMessage(channel="test", chat="c", sender="p", text="find X")
    async with (
        host(inline=INLINE, model=first, config=config) as world,
        anyio.create_task_group() as group,
    ):
        await world.host.receive(message, world.desk)
        group.start_soon(world.host.run_channel, _Quiet(world.desk))
        while len(first.requests) < 2:
            await anyio.sleep(0.01)
        await world.host.drain(0.1)
        group.cancel_scope.cancel()
    second = ScriptedModel([Call("look"), "found"])
    async with (
        host(inline=INLINE, model=second, config=config) as world,
        anyio.create_task_group() as group,
    ):
        group.start_soon(world.host.run_channel, _Quiet(world.desk))
        while not world.desk.sent:
            await anyio.sleep(0.01)
        group.cancel_scope.cancel()
    assert [message.text for message in world.desk.sent] == ["found"]
    assert "may have" in told(second.requests[0])[-1]
    (ctx,) = KEPT
    assert ctx.caller.agent == "research"
    assert all(request.model == "deep" for request in second.requests)
    assert "You are a researcher." in second.requests[0].messages[0].text
    assert [m.text for m in second.requests[0].messages if m.role == "user"] == ["find X"]


class _Quiet:
    """A channel of a name of its own that receives nothing until it is cancelled."""

    def __init__(self, channel: Any) -> None:
        self._channel = channel
        self.info = replace(channel.info, surface="test", streaming=False)

    async def run(self, inbox: Any) -> None:
        await anyio.sleep_forever()

    async def send(self, message: Any) -> Any:
        return await self._channel.send(message)


async def test_an_agents_time_is_over_when_it_is_over(host: HostFactory):
    model = ScriptedModel([Call("wait")])
    config = {"agents.main.timeout_s": 0.2}
    async with host(inline=INLINE, model=model, config=config) as world:
        outcome = await said(world, "hi")
        assert outcome.status == "failed"
        assert outcome.error is not None
        assert outcome.error["code"] == "time_limit"
        assert "0.2 s" in outcome.error["message"]
        assert "[agents.main]" in outcome.error["fix"]


async def test_an_agent_that_is_gone_answers_nobody(host: HostFactory):
    async with host(inline=INLINE, model=ScriptedModel(["never"])) as world:
        message = InboundMessage(channel="test", chat="c", sender="p", text="hi")
        caller = replace(world.host.local_caller(), agent="gone")
        outcome = await world.host.submit(message, world.desk, caller=caller)
        assert outcome.status == "failed"
        assert "no agent 'gone'" in str(outcome.error)


async def test_ultra_is_a_turn_with_another_prompt_and_more_tools(host: HostFactory):
    model = ScriptedModel([Call("many"), "all of it", "as usual"])
    async with host(inline=INLINE, model=model) as world:
        outcome = await said(world, "/ultra find everything")
        assert outcome.text == "all of it"
        await said(world, "thanks")
        first, second, usual = model.requests
        assert "exhaustive work in this turn" in first.messages[0].text
        assert first.messages[-1].text == "find everything"
        assert "many" in names(first)
        assert "done by many" in told(second)[0]
        assert "exhaustive" not in usual.messages[0].text
        assert "many" not in names(usual)
        texts = [message.text for message in usual.messages if message.role == "user"]
        assert texts == ["find everything", "thanks"]


async def test_only_the_owner_has_ultra_and_only_where_there_is_a_tool_for_it(host: HostFactory):
    async with host(inline=INLINE, model=ScriptedModel([])) as world:
        message = InboundMessage(channel="test", chat="c", sender="p", text="/ultra x")
        guest = world.host.local_caller(as_guest=True)
        outcome = await world.host.submit(message, world.desk, caller=guest)
        assert outcome.text == "Only the owner can use /ultra."
        empty = await said(world, "/ultra")
        assert empty.text == "Write /ultra PROMPT."
    async with host(model=ScriptedModel([])) as world:
        assert (await said(world, "/ultra x")).text == NO_TOOL


async def test_no_message_makes_itself_ultra(host: HostFactory):
    model = ScriptedModel(["ok"])
    async with host(inline=INLINE, model=model) as world:
        message = InboundMessage(
            channel="test",
            chat="c",
            sender="p",
            text="do it",
            metadata={"run_profile": "ultra", "_run_profile": "ultra"},
        )
        await world.host.submit(message, world.desk)
        assert "exhaustive" not in model.requests[0].messages[0].text


def test_the_agent_of_a_sender_counts_before_that_of_the_channel(tmp_path):
    found = agents(
        tmp_path,
        agents={"a": {"senders": ["tg:7", "9"]}, "b": {}},
        channels={"tg": {"type": "telegram", "agent": "b"}},
    )
    assert found.answering("tg", "telegram", " 7 ") == "a"
    assert found.answering("tg", "telegram", "9") == "a"
    assert found.answering("tg", "telegram", "8") == "b"
    assert found.answering("other", "x", "7") == "main"
    assert found.answering("other", "x", "9") == "a"


def test_main_is_there_without_a_table_and_has_what_its_table_says(tmp_path):
    assert agents(tmp_path).get("main").delegates == ()
    with pytest.raises(UsageError, match="did you mean 'main'"):
        agents(tmp_path).get("mian")
    found = agents(tmp_path, agents={"main": {"delegates": ["b"], "profile": "assistant"}, "b": {}})
    assert found.policies.of("main").capabilities == frozenset()
    assert found.policies.of("main").heirs == {"b"}
    assert found.policies.of("b").heirs == frozenset()
    assert found.policies.of("c").filter.allowed_tools == frozenset()


async def test_a_turn_that_ends_ends_what_it_left_running(host: HostFactory):
    from pegboard import RunResult, RunSpec

    ended: list[RunResult] = []
    left = Plugin(summary="Leaves work behind")

    async with anyio.create_task_group() as group:

        @left.tool(effects={"read"})
        async def leave(ctx: ToolContext) -> str:
            """Start a run and do not wait for it."""

            async def work() -> None:
                ended.append(await ctx.runs.start(RunSpec(prompt="work")))

            group.start_soon(work)
            await anyio.sleep(0.1)
            return "left"

        def answer(request: ChatRequest) -> Any:
            if request.messages[-1].text == "work":
                return Call("wait")
            return "bye" if told(request) else Call("leave")

        model = ScriptedModel([answer], repeat=True)
        async with host(inline={**INLINE, "left": left}, model=model) as world:
            assert (await said(world, "hi")).text == "bye"
            with anyio.fail_after(5):
                while not ended:
                    await anyio.sleep(0.01)
    (result,) = ended
    assert (result.status, result.error) == ("cancelled", "the turn that started it has ended")


def test_a_worker_without_a_caller_of_its_own_is_nobodys():
    assert Caller(trust="operator", agent="research").narrow().agent == "research"
