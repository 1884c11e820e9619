"""Open and close: what runs at the start, what is given back at the end, and whose fault counts."""

from __future__ import annotations

import asyncio
import gc
import logging
import sys
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import pytest

from pegboard import Plugin
from pegboard.contracts.errors import ConfigError, PluginError, UsageError
from pegboard.host import host as host_module
from pegboard.testing import HostFactory
from pegboard.testing.dists import hello_code

pytestmark = pytest.mark.anyio

LOGGED = """
from pathlib import Path
from pegboard import Plugin

LOG = Path({log!r})
plugin = Plugin(summary="Logs", activate={activate!r})


def note(text):
    with LOG.open("a") as file:
        file.write(f"{{text}} of {plugin_id}\\n")


@plugin.lifespan
async def lifespan(context):
    note("start")
    yield
    note("end")


@plugin.hook(events=["host_started", "host_stopping"])
def pegboard_event(event):
    note(event.type)
"""


def logging_code(installation: Any, plugin_id: str, activate: str = "boot") -> str:
    log = str(installation.work / "log")
    return LOGGED.format(log=log, activate=activate, plugin_id=plugin_id)


def logged(installation: Any) -> list[str]:
    return (installation.work / "log").read_text().splitlines()


async def test_nothing_is_imported_that_need_not_run_from_the_start(installation):
    installation.install("weather")
    async with installation.host() as host:
        assert "acme_weather" not in sys.modules
        assert [str(record.state) for record in host.records] == ["ready"]


async def test_observers_hear_of_start_and_end_and_plugins_end_last_in_reverse_order(installation):
    for name in ("first", "second"):
        installation.install(name, code=logging_code(installation, name))
    async with installation.host():
        pass
    assert logged(installation) == [
        "start of first",
        "start of second",
        "host_started of first",
        "host_started of second",
        "host_stopping of first",
        "host_stopping of second",
        "end of second",
        "end of first",
    ]


@pytest.mark.parametrize("how", ["error", "cancelled", "exit"])
async def test_however_a_host_ends_it_ends_in_order(installation, how):
    installation.install("first", code=logging_code(installation, "first"))
    with anyio.CancelScope() as scope:
        try:
            async with installation.host():
                if how == "error":
                    raise LookupError("mine")
                if how == "exit":
                    raise GeneratorExit
                scope.cancel()
                await anyio.sleep(60)
        except (LookupError, GeneratorExit) as error:
            assert how in ("error", "exit")
            assert str(error) in ("mine", "")
    assert logged(installation)[-2:] == ["host_stopping of first", "end of first"]


async def test_a_plugin_that_fails_at_the_start_is_told_and_the_host_goes_on(
    installation, caplog: pytest.LogCaptureFixture
):
    broken = installation.install("broken", code=logging_code(installation, "broken"))
    broken.code.write_text("import sys; sys.exit(3)")
    installation.install("weather", code=hello_code("weather"))
    async with installation.host() as host:
        assert str(host.activator.record("broken").state) == "failed"
        result = await host.call_tool("weather_hello", {}, host.local_caller())
        assert result.error is None
    assert "plugin broken: failed: import failed: SystemExit: 3" in caplog.text


ABORT = {"plugins.required": ["broken"], "plugins.on_failure": "abort"}


@pytest.mark.parametrize("manifest", [True, False], ids=["at the start", "without manifest"])
async def test_a_required_plugin_that_can_not_be_loaded_aborts_and_all_is_given_back(
    installation, manifest: bool
):
    installation.install("first", code=logging_code(installation, "first"))
    broken = installation.install(
        "broken", manifest=manifest, code=logging_code(installation, "broken")
    )
    broken.code.write_text("1 / 0")
    with pytest.raises(PluginError, match="the required plugin broken is failed") as caught:
        async with installation.host(ABORT):
            pytest.fail("it opened")
    assert caught.value.fix
    assert logged(installation) == ["start of first", "end of first"]
    async with installation.host({"plugins.required": ["broken"]}):
        pass


async def test_a_required_plugin_that_is_not_installed_aborts(installation):
    config = {"plugins.required": ["telegram"], "plugins.on_failure": "abort"}
    with pytest.raises(PluginError) as caught:
        async with installation.host(config):
            pytest.fail("it opened")
    assert caught.value.fix == "pip install pegboard-telegram"


async def test_settings_that_are_wrong_open_no_host(installation):
    with pytest.raises(ConfigError, match=r"agent\.max_steps must be a whole number"):
        async with installation.host({"agent.max_steps": "many"}):
            pytest.fail("it opened")


async def test_a_name_in_the_variable_that_nobody_has_opens_no_host(installation):
    installation.install("weather")
    installation.env["PEGBOARD_PLUGINS"] = "wether"
    with pytest.raises(UsageError) as caught:
        async with installation.host():
            pytest.fail("it opened")
    assert caught.value.fix == "export PEGBOARD_PLUGINS=weather"


async def test_only_what_is_named_is_loaded_and_no_plugin_may_be_named(installation):
    for name in ("first", "second"):
        installation.install(name)
    async with installation.host(only=("second",)) as host:
        assert {record.id for record in host.records if record.usable} == {"second"}
    async with installation.host(only=()) as host:
        assert not [record for record in host.records if record.usable]
        assert host.boot.problems == ()


async def test_safe_mode_loads_nothing_of_a_third_party(installation):
    installation.install("weather")
    async with installation.host(safe=True) as host:
        assert str(host.activator.record("weather").state) == "untrusted"


async def test_slow_observers_do_not_keep_what_must_be_closed_from_closing(
    host: HostFactory, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(host_module, "GOODBYE_S", 0.2)
    closed = []

    class Thing:
        async def aclose(self) -> None:
            await anyio.sleep(0.01)
            closed.append(self)

    slow = Plugin(summary="Slow")

    @slow.hook(events=["host_stopping"])
    async def pegboard_event(event: Any) -> None:
        await anyio.sleep(60)

    things = Plugin(summary="Things")
    things.contribute("skill_source", "thing", lambda context, settings: Thing())
    began = time.monotonic()
    async with host(inline={"slow": slow, "things": things}) as world:
        await world.host.instance("skill_source", "thing")
    assert len(closed) == 1
    assert time.monotonic() - began < 5


async def test_two_hosts_at_once_do_not_know_of_each_other(installation):
    installation.install("first", code=logging_code(installation, "first"))
    async with installation.host() as one, installation.host() as two:
        assert (await one.activate("first")).context is not (await two.activate("first")).context
        async with installation.host() as three:
            await three.activate("first")
        assert one.activator.active("first") is not None
    assert logged(installation).count("start of first") == 3
    assert logged(installation).count("end of first") == 3


def test_a_host_in_a_thread_of_its_own(installation):
    installation.install("weather")
    found = []

    async def work() -> None:
        async with installation.host() as host:
            result = await host.call_tool("weather_hello", {}, host.local_caller())
            found.append(result.error)

    threads = [threading.Thread(target=anyio.run, args=(work,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert found == [None, None]


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="counts descriptors in /proc")
async def test_hosts_that_come_and_go_leave_nothing_behind(installation):
    installation.install("first", code=logging_code(installation, "first"))
    installation.install("weather")
    installation.install("plain", manifest=False)

    async def one() -> None:
        async with installation.host() as host:
            for name in ("weather_hello", "tool_search"):
                given = {"query": "hello"} if name == "tool_search" else {}
                result = await host.call_tool(name, given, host.local_caller())
                assert result.error is None
            await host.rescan()

    await one()
    before = held()
    for _ in range(5):
        await one()
    for _ in range(50):
        # what tests before this one have left may go meanwhile: only what has come counts
        more = held() - before
        if not more:
            break
        await anyio.sleep(0.05)  # a thread holds for a moment what it has just worked on
    assert more == Counter()


def held() -> Counter[str]:
    """Return how many there are of each open file, thread and task of this process."""
    gc.collect()
    names = [thread.name for thread in threading.enumerate()]
    threads = [name.rstrip("-_0123456789") for name in names if "AnyIO worker" not in name]
    files = []
    for path in Path("/proc/self/fd").iterdir():
        with suppress(OSError):  # the listing's own
            files.append(str(path.readlink()).partition("[")[0])
    return Counter([*files, *threads, *("a task" for _ in asyncio.all_tasks())])


async def test_a_failure_of_the_lifespan_takes_what_the_plugin_brought_out_of_use(
    installation, caplog: pytest.LogCaptureFixture
):
    code = """
import anyio
from pegboard import Plugin

plugin = Plugin(summary="Breaks down")
FAIL = anyio.Event()


@plugin.tool(effects=())
async def works() -> str:
    "Work."
    return "done"


@plugin.hook
def pegboard_tool_guard(event):
    return None


@plugin.lifespan
async def lifespan(context):
    async def connection():
        await FAIL.wait()
        raise ConnectionError("the line is dead")

    async with anyio.create_task_group() as group:
        group.start_soon(connection)
        yield
"""
    installation.install("fragile", code=code)
    installation.install("weather")
    async with installation.host() as host:
        caller = host.local_caller()
        assert (await host.call_tool("works", {}, caller)).error is None
        sys.modules["acme_fragile.plugin"].FAIL.set()
        with anyio.fail_after(5):
            while host.activator.active("fragile"):
                await anyio.sleep(0.01)
        await anyio.sleep(0.05)
        assert "works" not in {tool.wire_name for tool in host.registry.list_all()}
        assert (await host.call_tool("works", {}, caller)).error is not None
        # its guard can't judge any more, so it denies, and says what to do about it
        denied = await host.call_tool("weather_hello", {}, caller)
        assert denied.error is not None
        assert denied.error.code == "denied"
        assert "The guard of plugin fragile can't be loaded (failed)" in denied.error.message
        assert "the line is dead" in denied.error.message
        assert denied.error.fix == "pegboard plugins disable fragile"
    assert "the line is dead" in caplog.text


@pytest.mark.parametrize(
    ("profile", "level", "words"),
    [
        ("standard", "INFO", "The agent holds orch:analyze"),
        ("unattended", "INFO", "Nobody is asked"),
        ("max", "WARNING", "the same as standard for now"),
    ],
)
async def test_the_profile_in_force_is_logged_at_the_start(
    installation, caplog, profile, level, words
):
    with caplog.at_level(logging.INFO, "pegboard.host"):
        async with installation.host({"autonomy.profile": profile}):
            pass
    (told,) = [item for item in caplog.records if item.message.startswith("profile ")]
    assert told.levelname == level
    assert told.message.startswith(f"profile {profile} ([autonomy] profile): ")
    assert words in told.message
