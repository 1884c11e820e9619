"""Whom a host asks: what is configured, else what has settings, else any; offline last."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pegboard import Plugin, PluginError
from pegboard.config.paths import find_paths
from pegboard.contracts.errors import NoProviderError
from pegboard.contracts.stream import Noticed
from pegboard.host import HostOptions, open_host
from pegboard.plugins.decision import kinds
from pegboard.testing import HostFactory, ScriptedModel

pytestmark = pytest.mark.anyio


def providers(*names: str) -> dict[str, Plugin]:
    return {f"of-{name}": provider(name) for name in names}


def provider(name: str, factory: Any = None) -> Plugin:
    plugin = Plugin(summary="Answers")
    make = factory or (lambda context, settings: ScriptedModel([f"I am {name}"], repeat=True))
    plugin.contribute("provider", name, make)
    return plugin


async def asked(world: Any) -> str:
    return (await world.ask("who are you?")).text


@pytest.mark.parametrize(
    ("config", "answer"),
    [
        ({}, "I am beta"),
        ({"providers.gamma": {"type": "gamma"}}, "I am gamma"),
        ({"providers.own": {"type": "gamma"}}, "I am gamma"),
        ({"providers.offline": {"type": "offline"}}, "I am beta"),
        ({"agent.provider": "offline"}, "I am offline"),
        ({"agent.provider": "gamma", "providers.beta": {"type": "beta"}}, "I am gamma"),
    ],
)
async def test_the_choice(host: HostFactory, config: dict[str, Any], answer: str):
    inline = providers("beta", "gamma", "offline")
    async with host(inline=inline, config=config) as world:
        assert await asked(world) == answer


async def test_offline_answers_when_there_is_no_other(host: HostFactory):
    async with host(inline=providers("offline")) as world:
        assert await asked(world) == "I am offline"


async def test_a_provider_that_is_asked_for_and_broken_is_replaced_by_no_other(host: HostFactory):
    def broken(context: Any, settings: Any) -> Any:
        raise RuntimeError("no library")

    inline = {**providers("beta"), "of-gamma": provider("gamma", broken)}
    async with host(inline=inline, config={"agent.provider": "gamma"}) as world:
        for _ in range(2):
            outcome = await world.ask("who are you?")
            assert outcome.status == "failed"
            assert "no library" in (outcome.error or {})["message"]


async def test_a_provider_that_is_asked_for_and_not_there_says_what_to_install(
    host: HostFactory, monkeypatch: pytest.MonkeyPatch
):
    # every type that we ship may be installed here
    packages = {"provider": {"strange": "pegboard-provider-strange"}}
    monkeypatch.setattr(kinds, "TYPE_PACKAGES", packages)
    async with host(inline=providers("beta"), config={"agent.provider": "strange"}) as world:
        with pytest.raises(PluginError) as caught:
            await world.host._parts.models.route()
    assert caught.value.fix == "pip install pegboard-provider-strange"


async def test_nothing_that_answers_is_one_message_with_the_next_step(tmp_path: Path):
    options = HostOptions(
        paths=find_paths({"PEGBOARD_HOME": str(tmp_path / "home")}),
        workspace=tmp_path,
        plugin_path=[str(tmp_path / "nothing")],
        env={},
    )
    async with open_host(options) as opened:
        with pytest.raises(NoProviderError) as caught:
            await opened._parts.models.route()
    assert caught.value.message == "No model provider is installed."
    assert caught.value.fix == "pip install pegboard-standard"


def needing_keys(tmp_path: Path) -> dict[str, Plugin]:
    """Return a provider `alpha` that needs a key, and the one without a model."""
    (tmp_path / "keyed_settings.py").write_text(
        "from pydantic import BaseModel, Field\n\n\nclass Settings(BaseModel):\n"
        '    key: str = Field("alpha_key", json_schema_extra={"x-secret-name": True})\n'
    )

    def make(context: Any, settings: Any) -> Any:
        return ScriptedModel([f"I am alpha with {context.secret(settings.key)}"], repeat=True)

    plugin = Plugin(summary="Answers", secrets=["alpha_key"])
    plugin.contribute("provider", "alpha", make, config="keyed_settings:Settings")
    return {"of-alpha": plugin, **providers("offline")}


async def told(world: Any) -> list[str]:
    """Return the notices of a turn about who answers it."""
    before = len(world.recorder.of(Noticed))
    await asked(world)
    notices = world.recorder.of(Noticed)[before:]
    return [notice.text for notice in notices if notice.code == "provider_chosen"]


async def test_a_provider_whose_key_is_not_set_is_no_default(
    host: HostFactory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.syspath_prepend(tmp_path)
    async with host(inline=needing_keys(tmp_path)) as world:
        assert await told(world) == []
        assert await asked(world) == "I am offline"


async def test_a_provider_whose_key_is_set_answers_and_says_so_once(
    host: HostFactory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.syspath_prepend(tmp_path)
    async with host(inline=needing_keys(tmp_path), secrets={"alpha_key": "k1"}) as world:
        assert await told(world) == [
            "alpha answers, because its key alpha_key is set. "
            "To choose for good: pegboard config set agent.provider alpha"
        ]
        assert await told(world) == []
        world.host._parts.models.forget()
        assert await told(world) == []
        assert await asked(world) == "I am alpha with k1"


@pytest.mark.parametrize(
    "config", [{"agent.provider": "alpha"}, {"providers.alpha": {"type": "alpha"}}]
)
async def test_a_provider_that_is_chosen_by_name_needs_no_announcement(
    host: HostFactory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, config: dict[str, Any]
):
    monkeypatch.syspath_prepend(tmp_path)
    inline = needing_keys(tmp_path)
    async with host(inline=inline, secrets={"alpha_key": "k1"}, config=config) as world:
        assert await told(world) == []
        assert await asked(world) == "I am alpha with k1"


@pytest.mark.parametrize(
    "config", [{"agent.provider": "alpha"}, {"providers.alpha": {"type": "alpha"}}]
)
async def test_a_provider_that_is_chosen_by_name_is_not_replaced_for_want_of_its_key(
    host: HostFactory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, config: dict[str, Any]
):
    monkeypatch.syspath_prepend(tmp_path)
    async with host(inline=needing_keys(tmp_path), config=config) as world:
        outcome = await world.ask("who are you?")
    assert outcome.status == "failed"
    assert (outcome.error or {})["fix"] == "pegboard secret set alpha_key"


async def test_where_nobody_can_answer_all_ways_to_a_model_are_named(
    host: HostFactory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.syspath_prepend(tmp_path)
    inline = {"of-alpha": needing_keys(tmp_path)["of-alpha"]}
    async with host(inline=inline) as world:
        outcome = await world.ask("who are you?")
    error = outcome.error or {}
    assert error["code"] == "no_provider"
    assert error["message"] == "No model answers here: alpha lacks its key."
    lines = error["fix"].splitlines()
    for place, part in enumerate(
        ("pegboard config set providers.home", "smollm2", "export ALPHA_KEY=...", "no model"), 1
    ):
        assert part in lines[place]


async def test_what_was_only_installed_does_not_take_over_unsaid(host: HostFactory):
    async with host(inline=providers("beta", "gamma", "offline")) as world:
        assert await told(world) == [
            "beta answers, because it is installed and needs no key, and its name comes before "
            "gamma. To choose for good: pegboard config set agent.provider beta"
        ]
        assert await told(world) == []


async def test_a_file_of_secrets_that_is_broken_chooses_nobody(
    host: HostFactory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.syspath_prepend(tmp_path)
    async with host(inline=needing_keys(tmp_path), secrets={"alpha_key": "k1"}) as world:
        (found,) = host.home.rglob("secrets.json")
        found.write_text("{broken")
        assert await asked(world) == "I am offline"


async def test_two_plugins_with_one_type_of_provider_are_both_named(host: HostFactory):
    inline = {"one": provider("beta"), "two": provider("beta")}
    async with host(inline=inline) as world:
        with pytest.raises(NoProviderError) as caught:
            await world.host._parts.models.route()
        assert "the plugins one and two both bring a type 'beta'" in caught.value.message
        assert caught.value.fix == "pegboard config set providers.beta.type one:beta"
    async with host(inline=inline, config={"providers.beta.type": "two:beta"}) as world:
        assert await asked(world) == "I am beta"


async def test_a_provider_that_needs_settings_says_which(host: HostFactory, tmp_path: Path):
    (tmp_path / "needy_settings.py").write_text(
        "from pydantic import BaseModel\n\n\nclass Settings(BaseModel):\n    url: str\n"
    )
    plugin = Plugin(summary="Answers")
    plugin.contribute(
        "provider",
        "needy",
        lambda context, settings: ScriptedModel([settings.url]),
        config="needy_settings:Settings",
    )
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(tmp_path)
        async with host(inline={"needy": plugin}) as world:
            with pytest.raises(NoProviderError) as caught:
                await world.host._parts.models.route()
            assert "providers.needy.url is missing" in caught.value.message
            assert caught.value.fix == "pegboard config set providers.needy.url VALUE"
        async with host(inline={"needy": plugin}, config={"providers.needy.url": "u"}) as world:
            assert await asked(world) == "u"


async def test_the_model_that_is_asked_for_is_asked_for(host: HostFactory):
    model = ScriptedModel(["hi"])
    async with host(model=model, config={"agent.model": "large"}) as world:
        await world.ask("hello")
    assert model.requests[0].model == "large"
