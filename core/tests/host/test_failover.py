"""Providers that stand in for each other: which, in which order, for whom, and who is told."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pegboard import ChannelInfo, Delivery, Plugin
from pegboard.config.load import Config
from pegboard.contracts.context import RunSpec
from pegboard.contracts.errors import PluginError
from pegboard.contracts.message import InboundMessage, OutboundMessage
from pegboard.contracts.stream import Noticed, StreamEvent, TextRestarted
from pegboard.host.model_choice import ModelChoice, read_fallback
from pegboard.host.turn_options import TurnOptions
from pegboard.testing import HostFactory, ScriptedModel
from pegboard.testing.model import Call, Cut, Fail

pytestmark = pytest.mark.anyio
LIMIT = Fail("rate_limit", retry_after=1_800.0)


def inline(**models: ScriptedModel | PluginError) -> dict[str, Plugin]:
    return {f"of-{name}": provider(name, model) for name, model in models.items()}


def provider(name: str, model: ScriptedModel | PluginError) -> Plugin:
    plugin = Plugin(summary="Answers")

    def make(context: Any, settings: Any) -> ScriptedModel:
        if isinstance(model, PluginError):
            raise model
        return model

    plugin.contribute("provider", name, make)
    return plugin


def chain(*fallbacks: str, **more: Any) -> Mapping[str, Any]:
    return {"agent.provider": "one", "agent.fallbacks": list(fallbacks), **more}


def notices(world: Any, code: str = "failover") -> list[str]:
    return [event.text for event in world.recorder.of(Noticed) if event.code == code]


async def test_a_fallback_answers_with_its_own_model(host: HostFactory):
    models = inline(one=ScriptedModel([LIMIT]), two=ScriptedModel(["Hi"]))
    async with host(inline=models, config=chain("two/maker/large")) as world:
        assert (await world.ask("hello")).text == "Hi"
        two = await world.host._parts.instances.get("provider", "two")
    assert two.requests[0].model == "maker/large"


async def test_who_failed_is_left_alone_by_the_next_turn_and_that_is_told(host: HostFactory):
    one, two = ScriptedModel([LIMIT]), ScriptedModel(["Hi"], repeat=True)
    async with host(inline=inline(one=one, two=two), config=chain("two")) as world:
        await world.ask("hello")
        await world.ask("hello again", chat="another")
        assert (len(one.requests), len(two.requests)) == (1, 2)
        (skipped,) = notices(world, "skipped")
        assert "about 30 min" in skipped
        world.host._parts.models.take(world.host.config)  # settings were read again
        await world.ask("and again")
        assert len(one.requests) == 2


async def test_when_nobody_is_left_the_limit_is_told_with_its_time(host: HostFactory):
    models = inline(one=ScriptedModel([LIMIT]), two=ScriptedModel([Fail("auth")]))
    async with host(inline=models, config=chain("two")) as world:
        outcome = await world.ask("hello")
    assert outcome.status == "failed"
    error = outcome.error or {}
    assert error["message"].endswith("Try again in about 30 min.")
    assert error["kind"] == "rate_limit"
    assert "fails here" in error["cause"]


async def test_what_is_told_of_a_provider_holds_no_secret(host: HostFactory):
    broken = PluginError("The key topsecretkey1 is wrong.", fix="check topsecretkey1")
    models = inline(one=broken, two=ScriptedModel(["Hi"], repeat=True))
    async with host(inline=models, config=chain("two"), secrets={"k": "topsecretkey1"}) as world:
        await world.ask("hello")
        (told,) = notices(world)
    assert told.startswith("The key") and "topsecretkey1" not in told


async def test_a_provider_that_can_not_be_asked_at_all_is_told_in_every_turn(host: HostFactory):
    broken = PluginError("The key one_key is not set.", fix="pegboard secret set one_key")
    models = inline(one=broken, two=ScriptedModel(["Hi"], repeat=True))
    async with host(inline=models, config=chain("two")) as world:
        for _ in range(2):
            assert (await world.ask("hello")).text == "Hi"
        told = notices(world)
    assert (
        told
        == ["The key one_key is not set. Asking two instead. Run: pegboard secret set one_key"] * 2
    )


async def test_a_fallback_is_made_only_when_it_is_needed(host: HostFactory):
    models = inline(one=ScriptedModel(["Hi"]), two=PluginError("never made"))
    async with host(inline=models, config=chain("two", "nobody")) as world:
        assert (await world.ask("hello")).text == "Hi"


async def test_when_none_can_be_asked_the_last_reason_is_told(host: HostFactory):
    models = inline(one=PluginError("no key"), two=PluginError("no library"))
    async with host(inline=models, config=chain("two")) as world:
        outcome = await world.ask("hello")
    assert "no library" in (outcome.error or {})["message"]


async def test_an_agent_with_a_provider_of_its_own_has_only_its_own_fallbacks(host: HostFactory):
    one, two = ScriptedModel([LIMIT], repeat=True), ScriptedModel(["Hi"])
    models = inline(one=one, two=two, three=ScriptedModel(["From three"]))
    own = {"agents.private": {"provider": "one"}, "agents.open": {"fallbacks": ["three"]}}
    config = {**chain("two"), **own}
    async with host(inline=models, config=config) as world:
        agents, route = world.host._parts.agents, world.host._parts.models.route
        private = await route(*agents.get("private").model_choice)
        assert [hop.name for hop in private.hops] == ["one"]
        assert [hop.name for hop in (await route(*agents.get("open").model_choice)).hops] == [
            "one",
            "three",
        ]
        assert [hop.name for hop in (await route(*agents.get("main").model_choice)).hops] == [
            "one",
            "two",
        ]


@pytest.mark.parametrize(
    ("own", "outer", "model_choice"),
    [
        (ModelChoice(), ModelChoice("a", "m", ("b",)), ModelChoice("a", "m", ("b",))),
        (ModelChoice("c"), ModelChoice("a", "m", ("b",)), ModelChoice("c")),
        (ModelChoice("", "n"), ModelChoice("a", "m", ("b",)), ModelChoice("a", "n")),
        (ModelChoice("", "", ("d",)), ModelChoice("a", "m", ("b",)), ModelChoice("a", "m", ("d",))),
        # it was asked for alone
        (ModelChoice("", "", ("d",)), ModelChoice("a", "m", ()), ModelChoice("a", "m", ())),
    ],
)
def test_a_worker_asks_as_its_run_does_where_its_agent_says_nothing(
    own: ModelChoice, outer: ModelChoice, model_choice: ModelChoice
):
    assert own.within(outer) == model_choice


@pytest.mark.parametrize(
    ("text", "read"),
    [("a", ("a", "")), ("a/m", ("a", "m")), ("a/maker/m:free", ("a", "maker/m:free"))],
)
def test_a_fallback_names_a_provider_and_may_name_a_model(text: str, read: tuple[str, str]):
    assert read_fallback(text) == read


def test_what_a_turn_asks_for_is_kept_with_its_message():
    message = InboundMessage(channel="c", chat="1", sender="me", text="hello")
    turn_options = TurnOptions.of_options(Path("/w"), {"agent.model": "m", "agent.effort": "high"})
    kept = {"_folder": "/w", "_model": "m", "_effort": "high"}
    assert turn_options.marked(message).metadata == kept
    # options that name fallbacks too say what the settings are, not what is asked alone
    chained = {"agent.provider": "one", "agent.fallbacks": ["two"]}
    assert TurnOptions.of_options(Path("/w"), chained) == TurnOptions(folder=Path("/w"))


async def test_what_a_turn_names_is_asked_alone(host: HostFactory):
    models = inline(one=ScriptedModel([LIMIT]), two=ScriptedModel(["Hi"]))
    # as `pegboard ask --provider one` does
    async with host(inline=models, config={"agent.provider": "one"}) as world:
        world.host._parts.models._config.data["agent"]["fallbacks"] = ["two"]
        assert (await world.ask("hello")).status == "failed"


async def test_effort_is_that_of_the_agent_else_of_all(host: HostFactory):
    one = ScriptedModel(["Hi"], repeat=True)
    for own, effort in (({"agents.main": {"effort": "low"}}, "low"), ({}, "high")):
        # not as an option, which counts before all
        async with host(inline=inline(one=one), config={**chain(), **own}) as world:
            world.host.config.data["agent"]["effort"] = "high"
            await world.ask("hello")
        assert one.requests[-1].effort == effort
    async with host(inline=inline(one=one), config={**chain(), "agent.effort": "medium"}) as world:
        await world.ask("hello")
    assert one.requests[-1].effort == "medium"


class Phone:
    """A channel that shows only whole replies."""

    def __init__(self, *, streaming: bool = False) -> None:
        self.info = ChannelInfo(surface="chat", local=True, streaming=streaming)
        self.shown: list[StreamEvent] = []
        self.sent: list[str] = []

    async def run(self, inbox: Any) -> None:
        return None

    async def send(self, message: OutboundMessage) -> Delivery:
        self.sent.append(message.text)
        return Delivery()


class LivePhone(Phone):
    """A channel that shows text as it comes and can't take it back."""

    def __init__(self) -> None:
        super().__init__(streaming=True)

    async def stream(self, chat: str, event: StreamEvent) -> None:
        self.shown.append(event)


@pytest.mark.parametrize("streaming", [True, False])
async def test_nobody_gets_a_second_text_that_can_not_be_taken_back(
    host: HostFactory, streaming: bool
):
    models = inline(one=ScriptedModel([Cut("Half")]), two=ScriptedModel(["Whole"]))
    phone = LivePhone() if streaming else Phone()
    async with host(inline=models, config=chain("two")) as world:
        message = InboundMessage(channel="phone", chat="1", sender="me", text="hello")
        outcome = await world.host.submit(message, phone)
    # one that shows nothing while a turn runs has shown nothing: the next one may answer
    assert outcome.status == ("failed" if streaming else "done")
    assert phone.sent == ([] if streaming else ["Whole"])
    assert not any(isinstance(event, TextRestarted) for event in phone.shown)


async def test_workers_ask_in_the_same_chain_and_nobody_sees_them_begin_again(host: HostFactory):
    models = inline(
        one=ScriptedModel([Call("work"), Cut("Half"), "Found it."]),
        two=ScriptedModel(["From two"]),
    )
    plugin = Plugin(summary="Works")

    @plugin.tool(effects={"read"})
    async def work(ctx: Any) -> str:
        """Have somebody work."""
        return (await ctx.runs.start(RunSpec(prompt="Look"))).text

    async with host(inline={**models, "workers": plugin}, config=chain("two")) as world:
        outcome = await world.ask("hello")
        assert outcome.text == "Found it."
        one = await world.host._parts.instances.get("provider", "one")
        (result,) = one.requests[-1].messages[-1].results
    assert "From two" in result.text


async def test_a_run_keeps_to_the_chain_that_it_began_with(host: HostFactory):
    """Settings that change in the middle of a run count from the next one on."""
    one, two = ScriptedModel([Call("change"), "one, still"]), ScriptedModel(["two"])
    plugin = Plugin(summary="Changes")

    @plugin.tool(effects={"read"})
    async def change() -> str:
        """Let another one answer."""
        config = world.host.config
        data = {**config.data, "agent": {**config.data["agent"], "provider": "two"}}
        world.host.models.take(Config(data, config.sources, config.paths))
        return "changed"

    given = {**inline(one=one, two=two), "changes": plugin}
    async with host(inline=given, config=chain()) as world:
        assert (await world.ask("go")).text == "one, still"
        assert (await world.ask("go")).text == "two"
