"""The owner sees which model answers, and agrees before another one does."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from pegboard import Plugin
from pegboard.testing import Call, HostFactory, HostUnderTest, ScriptedModel

pytestmark = pytest.mark.anyio
TOOL = "model_routing_config"


def providers(**models: ScriptedModel) -> dict[str, Plugin]:
    made = {}
    for name, model in models.items():
        plugin = Plugin(summary="Answers")
        plugin.contribute("provider", name, lambda context, settings, model=model: model)
        made[f"of-{name}"] = plugin
    return made


def started(host: HostFactory, models: dict[str, Plugin], **config: Any) -> Any:
    file = host.home / "config" / "config.toml"
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text('# mine\n[agent]\nprovider = "one"\nmodel = "small"\n')
    return host("routing", "sandbox-local", inline=models, config=config)


def settings(host: HostFactory) -> dict[str, Any]:
    return tomllib.loads((host.home / "config" / "config.toml").read_text())


def result(model: ScriptedModel) -> str:
    (found,) = model.requests[-1].messages[-1].results
    return found.text


async def ask(world: HostUnderTest, *, agreed: bool | None = None) -> None:
    if agreed is not None:
        world.desk.answers.append(agreed)
    assert (await world.ask("go on")).status == "done"


async def test_it_tells_who_is_asked_and_who_stands_in(host: HostFactory) -> None:
    one = ScriptedModel([Call(TOOL), "Told."])
    config = {"agent.fallbacks": ["two/large", "one"]}
    async with started(host, providers(one=one, two=ScriptedModel([])), **config) as world:
        await ask(world)
        assert result(one) == (
            "The agent main asks one (small).\n"
            "effort: as the model does\n"
            "when that fails: two (large), then one (its default model)\n"
            "providers that can be chosen: one, two"
        )
        assert world.desk.questions == []


async def test_the_owner_agrees_and_the_next_message_goes_there(host: HostFactory) -> None:
    call = Call(TOOL, action="set", provider="two", effort="high", fallbacks=["one/small"])
    one, two = ScriptedModel([call, "Changed."]), ScriptedModel(["From two."])
    async with started(host, providers(one=one, two=two)) as world:
        await ask(world, agreed=True)
        assert "from the next message on" in result(one)
        (question,) = world.desk.questions
        assert 'agent.provider = "two"' in question
        assert 'agent.effort = "high"' in question
        assert (await world.ask("hello")).text == "From two."
    assert (two.requests[0].model, two.requests[0].effort) == ("", "high")
    assert settings(host)["agent"] == {
        "provider": "two",
        "model": "",
        "effort": "high",
        "fallbacks": ["one/small"],
    }
    assert "# mine" in (host.home / "config" / "config.toml").read_text()


async def test_without_a_yes_nothing_changes(host: HostFactory) -> None:
    one = ScriptedModel([Call(TOOL, action="set", provider="two"), "Not changed."])
    async with started(host, providers(one=one, two=ScriptedModel([]))) as world:
        before = settings(host)
        await ask(world, agreed=False)
        assert settings(host) == before
    assert "did not agree" in result(one)


async def test_what_is_so_already_is_not_asked(host: HostFactory) -> None:
    one = ScriptedModel([Call(TOOL, action="set", model="small"), "It is."])
    async with started(host, providers(one=one)) as world:
        await ask(world)
        assert world.desk.questions == []
    assert "so already" in result(one)


async def test_effort_can_be_left_to_the_model_again(host: HostFactory) -> None:
    one = ScriptedModel(
        [
            Call(TOOL, action="set", effort="high"),
            "Yes.",
            Call(TOOL, action="set", effort="default"),
            "Yes.",
        ]
    )
    async with started(host, providers(one=one)) as world:
        await ask(world, agreed=True)
        assert settings(host)["agent"]["effort"] == "high"
        await ask(world, agreed=True)
        assert "agent.effort is removed" in world.desk.questions[-1]
    assert "effort" not in settings(host)["agent"]


async def test_what_is_set_elsewhere_is_not_asked_for(host: HostFactory) -> None:
    one = ScriptedModel([Call(TOOL, action="set", effort="high"), "I can't."])
    config = {"agent.effort": "low"}
    async with started(host, providers(one=one), **config) as world:
        await ask(world)
        assert world.desk.questions == []
    assert "agent.effort is set in" in result(one)


async def test_an_agent_with_a_table_of_its_own_changes_that(host: HostFactory) -> None:
    one = ScriptedModel([Call(TOOL, action="set", model="large"), "Yes."])
    file = host.home / "config" / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text('[agent]\nprovider = "one"\n[agents.main]\nprovider = "one"\nmodel = "m"\n')
    async with started(host, providers(one=one)) as world:
        await ask(world, agreed=True)
    assert settings(host) == {
        "agent": {"provider": "one"},
        "agents": {"main": {"provider": "one", "model": "large"}},
    }


async def test_nobody_but_the_owner_has_it(host: HostFactory) -> None:
    config = {"policy.guest_tools": [TOOL]}
    async with started(host, providers(one=ScriptedModel([])), **config) as world:
        denied = await world.call(TOOL, as_guest=True)
    assert denied.error is not None
