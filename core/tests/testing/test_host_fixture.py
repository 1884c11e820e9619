"""Hosts of the `host` fixture: isolated, with the named plugins only, and real in all else."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path
from typing import Annotated

import pytest

from pegboard import Arg, Plugin, ToolContext
from pegboard.contracts.errors import UsageError
from pegboard.contracts.stream import ToolFinished, TurnFinished, TurnStarted
from pegboard.testing import Call, Fail, FakeClock, HostFactory, ScriptedModel, make_dist
from pegboard.testing.dists import built, hello_code
from pegboard.testing.no_network import NetworkRefused, no_network

pytestmark = pytest.mark.anyio

speaker = Plugin(summary="Says things", secrets=("speaker_key",))


@speaker.tool(effects=())
async def say(ctx: ToolContext, text: Annotated[str, Arg("What to say.")]) -> str:
    """Say a text."""
    return f"{text}!"


@speaker.tool(effects={"state_write"}, audience="owner")
async def whisper(ctx: ToolContext) -> str:
    """Tell the secret, for this test only."""
    return ctx.plugin.secret("speaker_key")


@speaker.tool(effects={"state_write"}, audience="owner")
async def count(ctx: ToolContext) -> str:
    """Count the calls of this tool."""
    return str(await ctx.plugin.storage.update("counts", "calls", lambda old: old + 1, 0))


@speaker.tool(effects=())
async def what_time(ctx: ToolContext) -> str:
    """Tell the time of the plugin's clock."""
    return str(ctx.plugin.clock.now())


INLINE = {"speaker": speaker}


async def test_only_the_named_plugins_are_there(host: HostFactory) -> None:
    async with host(inline=INLINE) as running:
        assert {record.id for record in running.host.records if record.usable} == {
            "speaker",
            "recorder",
        }
    async with host(record=False) as running:
        assert not [record for record in running.host.records if record.usable]


async def test_home_and_workspace_are_folders_of_the_test(
    host: HostFactory, tmp_path: Path
) -> None:
    async with host(inline=INLINE) as running:
        paths = running.host.config.paths
        folders = (paths.config, paths.state, paths.data, paths.cache, running.host.workspace)
        assert all(folder.is_relative_to(tmp_path) for folder in folders)
        assert running.workspace.is_dir()


async def test_a_tool_is_called_by_name(host: HostFactory) -> None:
    async with host(inline=INLINE) as running:
        assert "hello!" in (await running.call("say", text="hello")).text
        assert "hello!" in (await running.call("speaker:say", '{"text": "hello"}')).text
        bad = await running.call("say", "{")
        assert bad.error is not None


async def test_a_model_answers_turns(host: HostFactory) -> None:
    model = ScriptedModel([Call("say", text="hello"), "I said hello."])
    async with host(inline=INLINE, model=model) as running:
        outcome = await running.ask("Say hello")
    assert (outcome.text, outcome.steps, outcome.tool_calls) == ("I said hello.", 2, 1)
    assert running.recorder.text == "I said hello."
    assert isinstance(running.recorder.stream[0], TurnStarted)
    assert isinstance(running.recorder.stream[-1], TurnFinished)
    (finished,) = running.recorder.of(ToolFinished)
    assert "hello!" in finished.output
    assert [tool.name for tool in model.requests[0].tools if tool.name == "say"] == ["say"]
    assert running.desk.sent[-1].text == "I said hello."


async def test_hook_calls_are_recorded_in_order(host: HostFactory) -> None:
    model = ScriptedModel([Call("say", text="hello"), "Done."])
    async with host(inline=INLINE, model=model) as running:
        await running.ask("Say hello")
    names = [name for name in running.recorder.names() if "state_changed" not in name]
    assert names == [
        "pegboard_event:host_started",
        "pegboard_message_in",
        "pegboard_message_guard",
        "pegboard_event:turn_began",
        "pegboard_model_request",
        "pegboard_event:model_called",
        "pegboard_tool_arguments",
        "pegboard_tool_guard",
        "pegboard_tool_result",
        "pegboard_event:tool_called",
        "pegboard_model_request",
        "pegboard_event:model_called",
        "pegboard_message_out",
        "pegboard_event:turn_ended",
        "pegboard_event:host_stopping",
    ]


async def test_a_failing_model_fails_the_turn(host: HostFactory) -> None:
    model = ScriptedModel([Fail("auth", "the key is wrong")])
    async with host(model=model) as running:
        outcome = await running.ask("hello")
    assert outcome.status == "failed"
    assert outcome.error is not None


async def test_a_guest_sees_less(host: HostFactory) -> None:
    async with host(inline=INLINE) as running:
        result = await running.call("whisper", as_guest=True)
    assert result.error is not None


async def test_secrets_are_those_of_the_test(
    host: HostFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPEAKER_KEY", "of whoever runs the tests")
    async with host(inline=INLINE, secrets={"speaker_key": "abc"}) as running:
        assert "abc" in (await running.call("whisper")).text
    assert (host.home / "config" / "secrets.json").stat().st_mode & 0o777 == 0o600


async def test_the_clock_can_be_another(host: HostFactory) -> None:
    async with host(inline=INLINE, clock=FakeClock(start=42.0)) as running:
        assert "42.0" in (await running.call("what_time")).text


async def test_a_plugin_that_is_not_installed_is_an_error(host: HostFactory) -> None:
    with pytest.raises(UsageError, match="no-such-plugin"):
        async with host("no-such-plugin"):
            pytest.fail("it opened")


async def test_generated_distributions_are_found(host: HostFactory, tmp_path: Path) -> None:
    site = tmp_path / "site"
    built(make_dist(site, "pegboard-weather"))
    async with host("weather", path=[site]) as running:
        assert "hello from weather" in (await running.call("weather_hello")).text
    assert str(site) not in sys.path
    assert not [name for name in sys.modules if name.startswith("pegboard_weather")]


async def test_the_next_host_imports_changed_code(host: HostFactory, tmp_path: Path) -> None:
    for number, text in enumerate(("first", "second")):
        site = tmp_path / f"site-{number}"
        code = hello_code("weather").replace("hello from weather", text)
        built(make_dist(site, "pegboard-weather", code=code))
        async with host("weather", path=[site]) as running:
            assert text in (await running.call("weather_hello")).text


async def test_the_next_host_finds_what_plugins_keep(host: HostFactory) -> None:
    for expected in ("1", "2"):
        async with host(inline={"speaker": speaker}) as running:
            assert expected in (await running.call("count")).text.splitlines()
    assert (host.home / "data" / "storage" / "speaker" / "documents.db").is_file()


async def test_settings_are_those_of_the_test(
    host: HostFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PEGBOARD__AGENT__MAX_STEPS", "3")
    monkeypatch.setenv("PEGBOARD_PLUGINS", "nothing-of-this")
    async with host(config={"agent": {"instructions": "Be brief."}}) as running:
        assert running.host.config.get("agent.instructions") == "Be brief."
        assert running.host.config.get("agent.max_steps") == 100
    assert os.environ["PEGBOARD_PLUGINS"] == "nothing-of-this"


@pytest.mark.parametrize("target", ["192.0.2.1", "example.com", "2001:db8::1"])
def test_no_other_machine_is_reached(host: HostFactory, target: str) -> None:
    with pytest.raises(NetworkRefused, match=target):
        socket.create_connection((target, 80), timeout=1)


def test_this_machine_is_reached(host: HostFactory) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()[:2], timeout=5) as client,
    ):
        assert client.getpeername()[0] == "127.0.0.1"


def test_the_network_is_back_after_the_test() -> None:
    before = socket.socket.connect, socket.getaddrinfo
    with no_network():
        assert socket.socket.connect is not before[0]
    assert (socket.socket.connect, socket.getaddrinfo) == before
