"""A running host takes over packages that come, go and change, while it works."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from pegboard import InboundMessage
from pegboard.contracts.errors import PluginError
from pegboard.testing.dists import hello_code
from pegboard.testing.host import Desk
from pegboard.tools.fence import unfenced

pytestmark = pytest.mark.anyio

PROVIDER = """
from pegboard import Plugin
from pegboard.testing import ScriptedModel

plugin = Plugin(summary="Answers")
closed = []


class Model(ScriptedModel):
    async def aclose(self):
        closed.append(self)


@plugin.provider("{name}")
def make(context, settings):
    return Model(["I am {name}"], repeat=True)
"""
GUARD = """
@plugin.hook
def pegboard_message_guard(event):
    from pegboard import Deny
    return Deny("the guard says no")
"""


def names(host: Any) -> set[str]:
    return {tool.wire_name for tool in host.registry.list_all() if tool.plugin != "core"}


async def call(host: Any, name: str) -> str:
    result = await host.call_tool(name, {}, host.local_caller())
    return unfenced(result.text if result.error is None else f"error: {result.error.message}")


async def ask(host: Any, text: str = "hello", desk: Any = None) -> Any:
    message = InboundMessage(channel="test", chat="test", sender="person", text=text)
    return await host.submit(message, desk or Desk())


async def test_nothing_changed_is_no_change(installation):
    installation.install("weather")
    async with installation.host() as host:
        assert await host.rescan() == ((), (), ())
        assert await call(host, "weather_hello") == "hello from weather"


async def test_what_was_installed_can_be_used_at_once(installation):
    async with installation.host() as host:
        assert names(host) == set()
        installation.install("weather")
        installation.install("plain", manifest=False)
        changes = await host.rescan()
        assert changes.added == ("plain", "weather")
        assert names(host) == {"plain_hello", "weather_hello"}
        assert await call(host, "weather_hello") == "hello from weather"
        assert await call(host, "plain_hello") == "hello from plain"
        assert await host.rescan() == ((), (), ())


async def test_a_person_takes_over_what_came_from_a_chat(installation):
    async with installation.host() as host:
        assert await host.description.rescan() == "Nothing came or went."
        installation.install("weather")
        assert await host.description.rescan() == "- added: weather"
        assert await call(host, "weather_hello") == "hello from weather"


async def test_what_was_uninstalled_is_gone(installation):
    installation.install("weather")
    installation.install("plain", manifest=False)
    async with installation.host() as host:
        assert await call(host, "weather_hello") == "hello from weather"
        assert await call(host, "plain_hello") == "hello from plain"
        installation.uninstall("acme-weather")
        installation.uninstall("acme-plain")
        changes = await host.rescan()
        assert set(changes.removed) == {"plain", "weather"}
        assert names(host) == set()
        assert (await call(host, "weather_hello")).startswith("error: ")
        with pytest.raises(PluginError, match="no plugin 'weather' is installed"):
            await host.activate("weather")


async def test_a_plugin_that_was_asked_for_by_name_may_go(installation):
    installation.install("weather")
    async with installation.host(only=("weather",)) as host:
        installation.uninstall("acme-weather")
        installation.install("other")
        assert (await host.rescan()).removed == ("weather",)
        assert host.activator.record("other").state == "disabled"
    installation.uninstall("acme-other")
    installation.install("weather")
    installation.env["PEGBOARD_PLUGINS"] = "weather"
    async with installation.host() as host:
        installation.uninstall("acme-weather")
        assert (await host.rescan()).removed == ("weather",)


async def test_a_new_version_of_what_runs_is_told_and_waits(installation):
    installation.install("weather", version="1.0.0")
    async with installation.host() as host:
        assert await call(host, "weather_hello") == "hello from weather"
        code = hello_code("weather").replace("hello from", "greetings from")
        installation.install("weather", version="2.0.0", code=code)
        changes = await host.rescan()
        assert changes == ((), (), ("weather",))
        assert await call(host, "weather_hello") == "hello from weather"
        assert host.activator.record("weather").version == "1.0.0"


async def test_a_new_version_of_what_was_not_used_yet_is_taken(installation):
    installation.install("weather", version="1.0.0")
    async with installation.host() as host:
        code = hello_code("weather").replace("weather_hello", "weather_now")
        installation.install("weather", version="2.0.0", code=code)
        await host.rescan()
        assert names(host) == {"weather_now"}
        assert await call(host, "weather_now") == "hello from weather"


async def test_a_plugin_that_comes_back_in_another_version_runs_that_version(installation):
    installation.install("weather", version="1.0.0")
    async with installation.host() as host:
        assert await call(host, "weather_hello") == "hello from weather"
        installation.uninstall("acme-weather")
        await host.rescan()
        code = hello_code("weather").replace("hello from", "greetings from")
        installation.install("weather", version="2.0.0", code=code)
        assert (await host.rescan()).added == ("weather",)
        assert await call(host, "weather_hello") == "greetings from weather"


async def test_a_plugin_that_failed_gets_another_try(installation):
    broken = installation.install("weather")
    broken.code.write_text("1 / 0")
    async with installation.host() as host:
        assert "ZeroDivisionError" in await call(host, "weather_hello")
        assert names(host) == set()
        installation.install("weather")
        await host.rescan()
        assert await call(host, "weather_hello") == "hello from weather"


async def test_one_that_can_not_be_used_is_not_said_to_be_added(installation):
    async with installation.host() as host:
        installation.install("broken", manifest=False, code="1 / 0")
        installation.install(
            "far", manifest=False, code="from pegboard import Plugin\nplugin = Plugin(api='>=9')"
        )
        assert await host.rescan() == ((), (), ())
        assert host.activator.record("broken").state == "failed"
        assert host.activator.record("far").state == "incompatible"


async def test_providers_come_and_go(installation):
    installation.install("of-beta", code=PROVIDER.format(name="beta"))
    async with installation.host() as host:
        assert (await ask(host)).text == "I am beta"
        beta = await host.instance("provider", "beta")
        installation.install("of-alpha", code=PROVIDER.format(name="alpha"))
        await host.rescan()
        assert (await ask(host)).text == "I am alpha"
        assert await host.instance("provider", "beta") is beta
        installation.uninstall("acme-of-alpha")
        installation.uninstall("acme-of-beta")
        await host.rescan()
        outcome = await ask(host)
        assert (outcome.status, outcome.error["code"]) == ("failed", "no_provider")
        with pytest.raises(PluginError):
            await host.instance("provider", "beta")


async def test_instances_of_what_goes_are_closed(installation):
    installation.install("of-beta", code=PROVIDER.format(name="beta"))
    async with installation.host() as host:
        await ask(host)
        beta = await host.instance("provider", "beta")
        module = sys.modules["acme_of_beta.plugin"]
        installation.uninstall("acme-of-beta")
        await host.rescan()
        assert module.closed == [beta]


async def test_guards_come_and_go(installation):
    installation.install("of-beta", code=PROVIDER.format(name="beta"))
    async with installation.host() as host:
        assert (await ask(host)).status == "done"
        installation.install("guard", code=hello_code("guard", after=GUARD))
        await host.rescan()
        outcome = await ask(host)
        assert "the guard says no" in outcome.error["message"]
        installation.uninstall("acme-guard")
        await host.rescan()
        assert (await ask(host)).status == "done"


async def test_a_sandbox_that_is_installed_later_is_found(installation):
    code = """
    from pegboard import Plugin
    from pegboard.contracts.sandbox import SandboxInfo
    from pegboard.sandboxes.missing import MissingSandbox

    plugin = Plugin(summary="Confines")


    class Own(MissingSandbox):
        pass


    class Backend:
        info = SandboxInfo(id="own", confines_commands=True)

        async def probe(self):
            return None

        async def open(self, spec):
            return Own(spec.workspace)


    @plugin.sandbox("own")
    def make(context, settings):
        return Backend()
    """
    async with installation.host() as host:
        workspace = host._parts.workspace
        before = await workspace.sandbox()
        await host.rescan()
        assert await workspace.sandbox() is not None
        installation.install("own", code="\n".join(line[4:] for line in code.splitlines()))
        await host.rescan()
        found = await workspace.sandbox()
        assert (type(before).__name__, type(found).__name__) == ("MissingSandbox", "Own")
        await host.rescan()
        assert await workspace.sandbox() is found
        installation.uninstall("acme-own")
        await host.rescan()
        assert type(await workspace.sandbox()).__name__ == "MissingSandbox"


async def test_a_turn_that_runs_meanwhile_comes_to_its_end(installation):
    installation.install("of-beta", code=PROVIDER.format(name="beta"))
    installation.install("weather")
    go = installation.work / "go"
    slow = f"""
import anyio
from pegboard import Plugin

plugin = Plugin(summary="Waits")


@plugin.hook
async def pegboard_message_out(event):
    while not await anyio.Path({str(go)!r}).exists():
        await anyio.sleep(0.01)
"""
    installation.install("slow", code=slow)
    outcomes = []
    async with installation.host() as host, anyio.create_task_group() as group:

        async def turn() -> None:
            outcomes.append(await ask(host))

        group.start_soon(turn)
        await anyio.sleep(0.1)
        installation.uninstall("acme-weather")
        installation.install("more")
        await host.rescan()
        assert names(host) == {"more_hello"}
        assert outcomes == []
        go.touch()
    assert outcomes[0].text == "I am beta"


async def test_rescans_at_the_same_time_come_one_after_the_other(installation):
    installation.install("weather", manifest=False)
    found = []
    async with installation.host() as host:
        installation.install("plain", manifest=False)

        async def look() -> None:
            found.append(await host.rescan())

        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(look)
        assert [changes.added for changes in found] == [("plain",), (), (), (), ()]
        assert names(host) == {"weather_hello", "plain_hello"}


async def test_dynamic_tools_go_with_their_plugin_and_without_a_complaint(
    installation, caplog: pytest.LogCaptureFixture
):
    code = """
from pegboard import Plugin, ToolResult, ToolSpec

plugin = Plugin(summary="Grows", activate="boot")
plugin.family("wx_", effects=["read"])


class Grown:
    spec = ToolSpec(name="wx_now", effects=frozenset({"read"}))

    async def __call__(self, ctx, args):
        return ToolResult("grown")


@plugin.lifespan
async def lifespan(context):
    await context.families["wx_"].replace([Grown()])
    yield
"""
    installation.install("grower", code=code)
    async with installation.host() as host:
        assert names(host) == {"wx_now"}
        assert await call(host, "wx_now") == "grown"
        await host.rescan()
        assert names(host) == {"wx_now"}
        installation.uninstall("acme-grower")
        await host.rescan()
        assert names(host) == set()
    assert caplog.text == ""


async def test_what_is_on_the_disk_decides_even_if_a_required_plugin_has_gone(
    installation, tmp_path: Path
):
    installation.install("weather")
    config = {"plugins.required": ["weather"], "plugins.on_failure": "abort"}
    async with installation.host(config) as host:
        installation.uninstall("acme-weather")
        assert (await host.rescan()).removed == ("weather",)
