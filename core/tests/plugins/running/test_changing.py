"""What the activator does as things change: packages, settings, versions, the host's end."""

from __future__ import annotations

import asyncio
import threading
import time

import anyio
import pytest

from pegboard.contracts.errors import PluginError
from pegboard.plugins.decision.failures import FailureStore
from pegboard.plugins.decision.state import State

pytestmark = pytest.mark.anyio

GREETER = """
plugin = Plugin()

@plugin.tool(effects=["read"])
async def greet(name: str) -> str:
    \"\"\"Greet somebody.\"\"\"
    return f"hello {name}"
"""
SLOW = "import time; time.sleep(0.5)\n" + GREETER


def version(number: int) -> str:
    return GREETER.replace("hello", f"v{number}")


async def greeting(activator) -> str:
    function = await activator.resolve("greeter", "tool", "greet")
    return await function("you")


async def test_the_end_of_the_host_during_an_import_is_no_crash_of_that_plugin(environment):
    environment.add("sleepy", GREETER)
    environment.rewrite("sleepy", SLOW)
    async with environment.activator() as activator:
        task = asyncio.create_task(activator.activate("sleepy"))
        await anyio.sleep(0.1)
        assert len(list(environment.paths.plugin_failures.iterdir())) == 1
    with pytest.raises(PluginError):
        await task
    assert list(environment.paths.plugin_failures.iterdir()) == []
    await anyio.sleep(0.6)  # the thread that was left alone has ended
    assert list(environment.paths.plugin_failures.iterdir()) == []


async def test_an_end_that_is_asked_for_just_as_the_import_ends_is_not_lost(environment):
    environment.add("greeter", GREETER)
    environment.rewrite("greeter", "import time; time.sleep(0.1)\n" + GREETER)
    async with environment.activator() as activator:
        task = asyncio.create_task(activator.activate("greeter"))
        await anyio.sleep(0.05)
        time.sleep(0.3)  # the thread ends now, and the loop learns of it at its next turn
        asyncio.get_running_loop().call_soon(activator._jobs["greeter"].ask_to_end)
        with anyio.fail_after(5), pytest.raises(PluginError, match="it was stopped"):
            await task
        assert activator.active("greeter") is None


async def test_a_plugin_that_was_asked_for_as_the_host_ends_is_not_imported(environment):
    environment.add("greeter", GREETER)
    environment.rewrite("greeter", "open(__file__ + '.log', 'w')\n" + GREETER)
    async with environment.activator() as activator:
        task = asyncio.create_task(activator.activate("greeter"))
        await asyncio.sleep(0)
    with pytest.raises(PluginError):
        await task
    assert not (environment.site / "greeter_pkg" / "plugin.py.log").exists()


async def test_a_plugin_that_is_disabled_while_it_is_imported_does_not_become_active(environment):
    environment.add("greeter", GREETER)
    environment.rewrite("greeter", SLOW)
    async with environment.activator() as activator:
        task = asyncio.create_task(activator.activate("greeter"))
        await anyio.sleep(0.1)
        environment.config["plugins"]["disabled"] = ["greeter"]
        await activator.adopt(environment.boot())
        with pytest.raises(PluginError, match="disabled"):
            await task
        assert activator.active("greeter") is None
        assert activator.record("greeter").state is State.DISABLED
        assert activator.background() == ()


async def test_what_fails_while_it_is_being_removed_stays_removed(environment):
    environment.add("greeter", GREETER)
    environment.rewrite("greeter", "import time; time.sleep(0.2); 1 / 0")
    environment.add(
        "lived",
        "plugin = Plugin()\n@plugin.lifespan\nasync def lifespan(context):\n"
        "    import anyio\n    yield\n    await anyio.sleep(0.5)\n",
    )
    async with environment.activator() as activator:
        await activator.activate("lived")
        task = asyncio.create_task(activator.activate("greeter"))
        await anyio.sleep(0.05)
        environment.config["plugins"]["disabled"] = ["greeter", "lived"]
        await activator.adopt(environment.boot())
        with pytest.raises(PluginError):
            await task
        assert {activator.record(name).state for name in ("greeter", "lived")} == {State.DISABLED}
    assert FailureStore(environment.paths).read() == {}


async def test_a_plugin_that_is_being_stopped_can_not_be_had_again_meanwhile(environment):
    environment.add(
        "lived",
        "plugin = Plugin()\n@plugin.lifespan\nasync def lifespan(context):\n"
        "    import anyio\n    yield\n    await anyio.sleep(0.3)\n",
    )
    async with environment.activator() as activator, anyio.create_task_group() as group:
        await activator.activate("lived")
        environment.config["plugins"]["disabled"] = ["lived"]
        group.start_soon(activator.adopt, environment.boot())
        await anyio.sleep(0.1)
        with pytest.raises(PluginError, match="disabled"):
            await activator.activate("lived")


async def test_two_changes_at_once_come_one_after_the_other(environment):
    environment.add("greeter", GREETER)
    async with environment.activator() as activator:
        await activator.activate("greeter")
        environment.config["plugins"]["disabled"] = ["greeter"]
        without = environment.boot()
        environment.config["plugins"]["disabled"] = []
        again = environment.boot()
        async with anyio.create_task_group() as group:
            group.start_soon(activator.adopt, without)
            group.start_soon(activator.adopt, again)
        assert activator.record("greeter").state is State.READY
        assert (await activator.activate("greeter")).record.state is State.ACTIVE


async def test_a_new_version_that_was_installed_in_between_is_the_one_that_runs(environment):
    environment.add("greeter", version(1), version="1.0")
    async with environment.activator() as activator:
        assert await greeting(activator) == "v1 you"
        uninstall(environment, "greeter", "1.0")
        await activator.adopt(environment.boot())
        environment.add("greeter", version(2), version="2.0", manifest=False)  # the old one fits
        await activator.adopt(environment.boot())
        assert activator.record("greeter").version == "2.0"
        assert await greeting(activator) == "v2 you"


async def test_an_upgrade_of_what_runs_waits_for_the_next_start(environment):
    environment.add("greeter", version(1), version="1.0")
    async with environment.activator() as activator:
        assert await greeting(activator) == "v1 you"
        uninstall(environment, "greeter", "1.0")
        environment.add("greeter", version(2), version="2.0", manifest=False)  # the old one fits
        await activator.adopt(environment.boot())
        assert (activator.record("greeter").version, await greeting(activator)) == ("1.0", "v1 you")


async def test_a_plugin_without_manifest_is_described_anew_after_an_upgrade(environment):
    environment.add("greeter", version(1), version="1.0", manifest=False)
    async with environment.activator() as activator:
        await activator.build_unmanifested()
        uninstall(environment, "greeter", "1.0")
        renamed = version(2).replace("greet(", "wave(")
        environment.add("greeter", renamed, version="2.0", manifest=False)
        await activator.adopt(environment.boot())
        found = await activator.build_unmanifested()
        manifest = found.record("greeter").manifest
        assert manifest is not None
        assert [tool["name"] for tool in manifest.tools] == ["wave"]
        assert await (await activator.resolve("greeter", "tool", "wave"))("you") == "v2 you"


async def test_a_host_that_can_make_no_thread_loses_that_plugin_only(environment, monkeypatch):
    environment.add("greeter", GREETER)
    environment.add("other", GREETER)

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    async with environment.activator() as activator:
        with monkeypatch.context() as patched:
            patched.setattr(threading.Thread, "start", refuse)
            with pytest.raises(PluginError, match="can't start new thread"):
                await activator.activate("greeter")
        assert (await activator.activate("other")).record.state is State.ACTIVE


async def test_a_value_that_is_refused_is_not_kept_with_the_failure(environment):
    code = GREETER.replace("Plugin()", 'Plugin(config="greeter_pkg.config:Settings")')
    config = """
    from pydantic import BaseModel, SecretStr, field_validator
    class Settings(BaseModel):
        api_key: SecretStr = SecretStr("")
        @field_validator("api_key")
        @classmethod
        def long(cls, value):
            raise ValueError("too short")
    """
    environment.add("greeter", code, config=config)
    environment.config["plugins"]["greeter"] = {"api_key": "sk-live-123"}
    async with environment.activator() as activator:
        with pytest.raises(PluginError, match=r"plugins\.greeter\.api_key: too short"):
            await activator.activate("greeter")
        record = activator.record("greeter")
        assert "sk-live" not in f"{record.reason} {record.details}"
    (file,) = environment.paths.plugin_failures.iterdir()
    assert "too short" in file.read_text()
    assert "sk-live" not in file.read_text()


async def test_what_one_plugin_brings_down_is_its_own_state_only(environment):
    environment.add("greeter", GREETER)
    environment.add("lived", "plugin = Plugin()\n")
    environment.rewrite("lived", "plugin = Plugin()\nplugin.info = None\n")
    async with environment.activator() as activator:
        with pytest.raises(PluginError):
            await activator.activate("lived")
        assert activator.record("lived").state is State.FAILED
        assert await greeting(activator) == "hello you"


def uninstall(environment, plugin_id: str, version: str) -> None:
    info = environment.site / f"{plugin_id}_pkg-{version}.dist-info"
    for file in info.iterdir():
        file.unlink()
    info.rmdir()
