from __future__ import annotations

import sys
import time

import anyio
import pytest

from pegboard.contracts.errors import PluginError
from pegboard.plugins.decision.failures import FailureStore
from pegboard.plugins.decision.state import State
from pegboard.plugins.running import job
from pegboard.testing.clock import FakeClock

pytestmark = pytest.mark.anyio

LIVED = """
import asyncio
plugin = Plugin()
LOG = []

@plugin.lifespan
async def lifespan(context):
    task = asyncio.current_task()
    LOG.append("start")
    yield {"connection": 1}
    LOG.append("end")
    assert asyncio.current_task() is task
"""


def log(plugin_id: str = "lived"):
    return sys.modules[f"{plugin_id}_pkg.plugin"].LOG


async def test_a_lifespan_spans_the_active_time_in_one_task(environment):
    environment.add("lived", LIVED)
    async with environment.activator() as activator:
        contexts = []

        async def ask() -> None:
            contexts.append((await activator.activate("lived")).context)

        async with anyio.create_task_group() as group:
            for _ in range(20):
                group.start_soon(ask)
        assert log() == ["start"]
        assert {id(context.state) for context in contexts} == {id(contexts[0].state)}
        assert contexts[0].state == {"connection": 1}
    assert log() == ["start", "end"]
    assert environment.reports == []


async def test_a_lifespan_may_keep_a_task_group_open(environment):
    environment.add(
        "lived",
        """
        import anyio
        plugin = Plugin()
        LOG = []

        @plugin.lifespan
        async def lifespan(context):
            async def work():
                try:
                    await anyio.sleep(60)
                finally:
                    LOG.append("work ended")
            async with anyio.create_task_group() as group:
                group.start_soon(work)
                yield group
                group.cancel_scope.cancel()
        """,
    )
    async with environment.activator() as activator:
        await activator.activate("lived")
        await anyio.sleep(0.01)
    assert log() == ["work ended"]
    assert environment.reports == []


@pytest.mark.parametrize(
    "body, words",
    [
        ("raise ValueError('no connection')\n    yield", "no connection"),
        ("raise SystemExit(3)\n    yield", "SystemExit: 3"),
        ("if False:\n        yield", "didn't yield"),
        ("import anyio\n    await anyio.sleep(60)\n    yield", "did not yield in 1 s"),
    ],
)
async def test_a_lifespan_that_does_not_start_fails_the_plugin(environment, body, words):
    environment.config["plugins"]["import_timeout_s"] = 1
    code = f"plugin = Plugin()\n@plugin.lifespan\nasync def lifespan(context):\n    {body}\n"
    environment.add("lived", code)
    async with environment.activator() as activator:
        with pytest.raises(PluginError) as caught:
            await activator.activate("lived")
        assert activator.record("lived").state is State.FAILED
    assert words in caught.value.message
    assert FailureStore(environment.paths).read()["lived"].phase == "lifespan"


@pytest.mark.parametrize(
    "end, words",
    [
        ("raise ValueError('bad end')", "its lifespan failed at the end: ValueError: bad end"),
        ("yield", "its lifespan failed at the end: RuntimeError: generator didn't stop"),
        (
            "import anyio; await anyio.sleep(60)",
            "its lifespan did not end within 0.2 s and was cut off",
        ),
    ],
)
async def test_a_lifespan_that_does_not_end_well_is_reported(environment, end, words):
    code = (
        f"plugin = Plugin()\n@plugin.lifespan\nasync def lifespan(context):\n    yield\n    {end}\n"
    )
    environment.add("lived", code)
    began = time.monotonic()
    async with environment.activator(stop_timeout_s=0.2) as activator:
        await activator.activate("lived")
    assert time.monotonic() - began < 3
    assert ("lived", words) in environment.reports


async def test_a_lifespan_whose_own_task_fails_takes_its_plugin_down_not_the_host(environment):
    environment.add(
        "lived",
        """
        import anyio
        plugin = Plugin()
        FAIL = anyio.Event()

        @plugin.lifespan
        async def lifespan(context):
            async def work():
                await FAIL.wait()
                raise ValueError("connection lost")
            async with anyio.create_task_group() as group:
                group.start_soon(work)
                yield
        """,
    )
    environment.add("greeter", "plugin = Plugin()")
    async with environment.activator() as activator:
        await activator.activate("lived")
        sys.modules["lived_pkg.plugin"].FAIL.set()
        for _ in range(100):
            await anyio.sleep(0.01)
            if activator.active("lived") is None:
                break
        assert activator.record("lived").state is State.FAILED
        assert "connection lost" in activator.record("lived").details["traceback"]
        assert (await activator.activate("greeter")).record.state is State.ACTIVE


async def test_plugins_stop_in_reverse_order(environment):
    shared = """
    import builtins
    plugin = Plugin()
    @plugin.lifespan
    async def lifespan(context):
        yield
        builtins.pegboard_stopped.append(context.id)
    """
    import builtins

    builtins.pegboard_stopped = []
    for name in ("a", "b", "c"):
        environment.add(name, shared)
    async with environment.activator() as activator:
        for name in ("b", "a", "c"):
            await activator.activate(name)
    assert builtins.pegboard_stopped == ["c", "a", "b"]
    del builtins.pegboard_stopped


async def test_a_host_that_is_cancelled_still_ends_lifespans(environment):
    environment.add("lived", LIVED)
    with anyio.CancelScope() as scope:
        async with environment.activator() as activator:
            await activator.activate("lived")
            scope.cancel()
            await anyio.sleep(60)
    assert log() == ["start", "end"]


SERVICE = """
import anyio
plugin = Plugin()
RUNS = []

@plugin.background("watch", restart={restart!r})
async def watch(context):
    RUNS.append(context.id)
    {body}
"""


def serving(body: str, restart: str = "on_failure") -> str:
    return SERVICE.format(body=body, restart=restart)


async def settle(condition):
    for _ in range(200):
        await anyio.sleep(0.005)
        if condition():
            return


async def test_a_background_service_runs_for_as_long_as_its_plugin(environment):
    environment.add("lived", serving("await anyio.sleep(60)"))
    async with environment.activator() as activator:
        await activator.activate("lived")
        await settle(lambda: activator.background()[0].health == "running")
        (status,) = activator.background()
        assert (status.plugin, status.name, status.health) == ("lived", "watch", "running")
    assert environment.reports == []


@pytest.mark.parametrize(
    "body, restart, runs, health",
    [
        ("raise ValueError('lost')", "on_failure", 4, None),
        ("raise SystemExit(1)", "on_failure", 4, None),
        ("raise ValueError('lost')", "never", 1, "failed"),
        ("return", "on_failure", 1, "stopped"),
        ("return", "never", 1, "stopped"),
        ("return", "always", 4, None),
    ],
)
async def test_a_background_service_is_started_again_as_it_says(
    environment, body, restart, runs, health
):
    clock = FakeClock()
    environment.add("lived", serving(body, restart))
    async with environment.activator(clock=clock) as activator:
        await activator.activate("lived")
        ran = sys.modules["lived_pkg.plugin"].RUNS
        for delay in (1, 2, 4):
            await settle(lambda: clock.sleepers == 1 or health)
            if health:
                break
            await clock.advance(delay)
        await settle(lambda: len(ran) >= runs)
        assert len(ran) == runs
        (status,) = activator.background()
        assert status.restarts == runs - 1
        if health:
            assert status.health == health
        if "raise" in body:
            assert status.error.endswith(("lost", "SystemExit: 1"))
            assert any("background service watch failed" in what for _, what in environment.reports)


async def test_a_background_service_that_does_not_end_is_cut_off(environment):
    body = "\n    ".join(
        [
            "try:",
            "    await anyio.sleep(60)",
            "finally:",
            "    with anyio.CancelScope(shield=True) as scope:",
            "        scope.deadline = anyio.current_time() + 0.5",
            "        await anyio.sleep(60)",
        ]
    )
    environment.add("lived", serving(body))
    async with environment.activator(stop_timeout_s=0.1) as activator:
        await activator.activate("lived")
        await settle(lambda: activator.background()[0].health == "running")
    assert environment.reports == [
        ("lived", "a background service did not end within 0.1 s and was cut off")
    ]


FOR_EVER = "with anyio.CancelScope(shield=True): await anyio.sleep(60)"
STUBBORN = {
    "a background service": f"""
@plugin.background("watch")
async def watch(context):
    try:
        await anyio.sleep(60)
    finally:
        {FOR_EVER}
""",
    "a lifespan": f"""
@plugin.lifespan
async def lifespan(context):
    yield
    {FOR_EVER}
""",
    "a task of a lifespan": f"""
@plugin.lifespan
async def lifespan(context):
    async def work():
        {FOR_EVER}
    async with anyio.create_task_group() as group:
        group.start_soon(work)
        yield
        group.cancel_scope.cancel()
""",
    "a background service and a lifespan": f"""
@plugin.background("watch")
async def watch(context):
    {FOR_EVER}
@plugin.lifespan
async def lifespan(context):
    try:
        yield
    finally:
        {FOR_EVER}
""",
}


@pytest.mark.parametrize("what", STUBBORN)
async def test_what_shields_itself_and_never_ends_keeps_no_host_from_ending(
    environment, what, monkeypatch
):
    monkeypatch.setattr(job, "GRACE_S", 0.2)
    environment.add("stubborn", f"import anyio\nplugin = Plugin()\n{STUBBORN[what]}")
    environment.add("lived", LIVED)
    began = time.monotonic()
    async with environment.activator(stop_timeout_s=0.05) as activator:
        await activator.activate("lived")
        await activator.activate("stubborn")
        await anyio.sleep(0.02)
        environment.config["plugins"]["disabled"] = ["stubborn"]
        await activator.adopt(environment.boot())
        assert activator.active("stubborn") is None
        environment.config["plugins"]["disabled"] = []
        await activator.adopt(environment.boot())
        await activator.activate("stubborn")
    assert time.monotonic() - began < 20
    told = "it did not end when its time was over; it is cut off"
    assert environment.reports.count(("stubborn", told)) == 2
    assert log() == ["start", "end"]
