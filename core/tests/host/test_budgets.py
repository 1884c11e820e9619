"""Budgets of runs, conversations and days, and what requests are recorded to cost."""

from __future__ import annotations

import pytest

from pegboard import ChannelInfo, Plugin, RunSpec, ToolContext
from pegboard.contracts.channel import Delivery
from pegboard.contracts.message import InboundMessage
from pegboard.contracts.spending import Spending
from pegboard.contracts.stream import Noticed
from pegboard.testing import Call, Fail, ScriptedModel

pytestmark = pytest.mark.anyio


def asking() -> Plugin:
    plugin = Plugin(summary="Asks")

    @plugin.tool(effects={"read"})
    async def think(ctx: ToolContext) -> str:
        """Ask the model."""
        return (await ctx.model.complete("what?")).text

    @plugin.tool(effects={"read"})
    async def hand_on(ctx: ToolContext) -> str:
        """Let another one do it."""
        return str((await ctx.runs.start(RunSpec(prompt="do it"))).status)

    return plugin


async def spent(world) -> list[Spending]:
    return list(await world.host._parts.store.spent(since=0))


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel([Call("think"), "thought", "It is done."])


async def test_what_a_request_cost_is_recorded_and_who_asked(host, model) -> None:
    config = {'models."scripted-model/scripted"': {"price": {"input": 1.0, "output": 2.0}}}
    async with host(inline={"asker": asking()}, model=model, config=config) as world:
        assert (await world.ask("go")).text == "It is done."
        found = await spent(world)
    assert [item.plugin for item in found] == ["", "asker", ""]
    assert {(item.provider, item.model) for item in found} == {("scripted-model", "scripted")}
    for item in found:
        assert item.cost == pytest.approx((item.input + 2 * item.output) / 1_000_000)


async def test_a_price_that_nobody_knows_is_none(host, model) -> None:
    async with host(inline={"asker": asking()}, model=model) as world:
        await world.ask("go")
        assert [item.cost for item in await spent(world)] == [None, None, None]


async def test_a_run_stops_before_it_asks_beyond_its_budget(host) -> None:
    model = ScriptedModel([Call("think"), "It is done."])
    config = {"budgets.tokens_per_run": 1}
    async with host(inline={"asker": asking()}, model=model, config=config) as world:
        outcome = await world.ask("go")
        assert outcome.status == "failed"
        assert outcome.error["code"] == "budget_spent"
        assert "The budget of this run is used up: 1 tokens" in outcome.error["message"]
        assert outcome.error["fix"].startswith("pegboard config set budgets.tokens_per_run ")
        assert len(await spent(world)) == 1, "neither its tool nor its next step asks once more"
        assert (await world.ask("again")).text == "It is done.", "another run has its own"


async def test_a_run_that_a_tool_starts_has_what_is_left_of_its_parent(host) -> None:
    model = ScriptedModel([Call("hand_on"), "never", "never"])
    config = {"budgets.tokens_per_run": 1}
    async with host(inline={"asker": asking()}, model=model, config=config) as world:
        outcome = await world.ask("go")
        assert outcome.error["code"] == "budget_spent"
        assert len(await spent(world)) == 1


@pytest.mark.parametrize("scope", ["conversation", "day"])
async def test_what_was_used_before_counts_for_the_next_turn(host, scope: str) -> None:
    model = ScriptedModel(["one", "two"])
    async with host(model=model, config={f"budgets.tokens_per_{scope}": 1}) as world:
        assert (await world.ask("go")).text == "one"
        outcome = await world.ask("go on")
    assert outcome.error["budget"] == f"budgets.tokens_per_{scope}"


async def test_money_without_a_price_stops_and_says_so_unless_it_is_allowed(host) -> None:
    model = ScriptedModel(["one", "two", "three"])
    async with host(model=model, config={"budgets.cost_per_day": 5}) as world:
        assert (await world.ask("go")).text == "one"
        error = (await world.ask("go on")).error
    assert "nobody says what the model scripted-model/scripted costs" in error["message"]
    assert "budgets.unpriced allow" in error["fix"]
    allowed = {"budgets.cost_per_day": 5, "budgets.unpriced": "allow"}
    async with host(model=model, config=allowed) as world:
        assert (await world.ask("go on")).text == "two"


async def test_a_model_without_a_price_is_not_even_asked_once(host) -> None:
    model = ScriptedModel(["one"], repeat=True)
    config = {"budgets.cost_per_day": 5, "agent.model": "odd-1"}
    async with host(model=model, config=config) as world:
        error = (await world.ask("go")).error
        assert (error["code"], error["budget"]) == ("budget_spent", "budgets.cost_per_day")
        assert "scripted-model/odd-1 costs" in error["message"]
        assert model.requests == []
        assert await spent(world) == []


@pytest.mark.parametrize("scope", ["run", "conversation", "day"])
async def test_one_call_without_a_price_does_not_stop_the_models_that_have_one(host, scope) -> None:
    model = ScriptedModel(["one"], repeat=True)
    allowed = {"budgets.unpriced": "allow", "agent.model": "odd-1"}
    async with host(model=model, config=allowed) as world:
        assert (await world.ask("go")).text == "one"
    said = {'models."dear"': {"price": {"input": 1.0, "output": 1.0}}}
    config = {f"budgets.cost_per_{scope}": 5, "agent.model": "dear", **said}
    async with host(model=model, config=config) as world:
        assert (await world.ask("go on")).text == "one"
        assert [item.cost is None for item in await spent(world)] == [True, False]


async def test_a_fallback_without_a_price_is_not_asked_either(host) -> None:
    model = ScriptedModel([Fail("billing")], repeat=True)
    said = {'models."dear"': {"price": {"input": 1.0, "output": 1.0}}}
    config = {"budgets.cost_per_day": 5, "agent.model": "dear", **said}
    config["agent.fallbacks"] = ["scripted-model/odd-1"]
    async with host(model=model, config=config) as world:
        error = (await world.ask("go")).error
    assert "scripted-model/odd-1 costs" in error["message"]
    assert [request.model for request in model.requests] == ["dear"]


async def test_a_fallback_with_a_price_answers_for_a_model_without_one(host) -> None:
    model = ScriptedModel(["one"], repeat=True)
    said = {'models."dear"': {"price": {"input": 1.0, "output": 1.0}}}
    config = {"budgets.cost_per_day": 5, "agent.model": "odd-1", **said}
    config["agent.fallbacks"] = ["scripted-model/odd-2", "scripted-model/dear"]
    async with host(model=model, config=config) as world:
        assert (await world.ask("go")).text == "one"
        told = [notice.text for notice in world.recorder.of(Noticed) if notice.code == "failover"]
    assert [request.model for request in model.requests] == ["dear"]
    assert ["odd-1 costs" in told[0], "odd-2 costs" in told[1]] == [True, True]


async def test_a_price_that_is_given_later_counts_for_what_was_asked_before(host) -> None:
    model = ScriptedModel(["one", "two", "three"], repeat=True)
    async with host(model=model, config={"budgets.cost_per_day": 0.5}) as world:
        await world.ask("go")
        assert (await world.ask("go on")).error is not None
    said = {'models."scripted"': {"price": {"input": 0.0, "output": 0.0}}}
    async with host(model=model, config={"budgets.cost_per_day": 0.5, **said}) as world:
        assert (await world.ask("go on")).text == "two"


async def test_the_operators_word_of_a_model_is_what_the_host_goes_by(host, model) -> None:
    config = {'models."scripted-model/x"': {"context": 5_000, "tools": False}}
    async with host(model=model, config={**config, "agent.model": "x"}) as world:
        route = await world.host.models.route()
        caps = route.primary.capabilities("x")
        assert (caps.context, caps.max_output, caps.tools, caps.parallel) == (
            5_000,
            5_000,
            False,
            False,
        )
        assert route.primary.capabilities("y").context == 128_000


RECORD = "The record, one JSON object a line"
SUMMARY = "<summary>They paint a boat.</summary>"


class Chat:
    """A channel of one conversation."""

    def __init__(self) -> None:
        self.info = ChannelInfo(surface="chat", local=True, slash_commands=True)
        self.texts: list[str] = []

    async def run(self, inbox) -> None:
        return None

    async def send(self, message) -> Delivery:
        self.texts.append(message.text)
        return Delivery()


async def said(world, chat: Chat, text: str) -> str:
    message = InboundMessage(channel="chat", chat="1", sender="ann", text=text)
    await world.host.submit(message, chat)
    return chat.texts[-1]


async def test_a_summary_that_a_person_asks_for_counts_for_its_conversation(host) -> None:
    model, chat = ScriptedModel(["answer"] * 3 + [SUMMARY]), Chat()
    async with host("sandbox-local", model=model) as world:
        for number in range(3):
            await said(world, chat, f"request {number} " + "word " * 350)
        assert "was made shorter" in await said(world, chat, "/compact")
        *_, last = await spent(world)
    assert RECORD in model.requests[-1].messages[-1].text
    assert last.input > 300
    assert (last.turn, last.key != "") == ("", True)


async def test_no_summary_is_asked_for_beyond_a_budget(host) -> None:
    model, chat = ScriptedModel(["answer"], repeat=True), Chat()
    config = {"budgets.tokens_per_day": 1_200}
    async with host("sandbox-local", model=model, config=config) as world:
        for number in range(3):
            await said(world, chat, f"request {number} " + "word " * 350)
        asked = len(model.requests)
        assert "The budget of 24 hours is used up" in await said(world, chat, "/compact")
        assert len(model.requests) == asked
