"""Instances: made once, in nobody else's way, and closed whatever becomes of their plugin."""

from __future__ import annotations

import logging
import time
from typing import Any

import anyio
import pytest

from pegboard import Plugin
from pegboard.contracts.errors import PluginError
from pegboard.host import instances as instances_module
from pegboard.plugins.decision import kinds
from pegboard.testing import HostFactory

pytestmark = pytest.mark.anyio


class Thing:
    """Something that a plugin brings."""

    def __init__(self, log: list[str], name: str = "thing", closing: float = 0.0) -> None:
        self.name = name
        self._log = log
        self._closing = closing

    async def aclose(self) -> None:
        self._log.append(f"closing {self.name}")
        await anyio.sleep(self._closing)
        self._log.append(f"closed {self.name}")


def bringing(factory: Any, *, name: str = "thing", kind: str = "skill_source") -> Plugin:
    plugin = Plugin(summary="Brings things")
    plugin.contribute(kind, name, factory)
    return plugin


async def test_an_instance_is_made_once_however_many_ask_at_once(host: HostFactory):
    made: list[Thing] = []

    async def factory(context: Any, settings: Any) -> Thing:
        await anyio.sleep(0.02)
        made.append(Thing([]))
        return made[-1]

    found = []
    async with host(inline={"things": bringing(factory)}) as world:

        async def ask() -> None:
            found.append(await world.host.instance("skill_source", "thing"))

        async with anyio.create_task_group() as group:
            for _ in range(20):
                group.start_soon(ask)
    assert len(made) == 1
    assert found == [made[0]] * 20


async def test_two_tables_of_one_type_are_two_instances_with_their_own_settings(host: HostFactory):
    plugin = bringing(lambda context, settings: dict(settings))
    config = {"skill_sources": {"a": {"type": "thing"}, "b": {"type": "thing"}}}
    async with host(inline={"things": plugin}, config=config) as world:
        first = await world.host.instance("skill_source", "a")
        assert await world.host.instance("skill_source", "a") is first
        assert await world.host.instance("skill_source", "b") is not first


async def test_one_that_takes_its_time_holds_up_nobody_else(host: HostFactory):
    async def slow(context: Any, settings: Any) -> Thing:
        await anyio.sleep(60)
        return Thing([])

    quick = bringing(lambda context, settings: Thing([]), name="quick")
    inline = {"slow": bringing(slow, name="slow"), "quick": quick}
    async with host(inline=inline) as world, anyio.create_task_group() as group:
        group.start_soon(world.host.instance, "skill_source", "slow")
        await anyio.sleep(0.1)
        with anyio.fail_after(2):
            assert await world.host.instance("skill_source", "quick")
        group.cancel_scope.cancel()


async def never(context: Any, settings: Any) -> None:
    await anyio.sleep(60)


def leave(context: Any, settings: Any) -> None:
    raise SystemExit(3)


async def cancel_itself(context: Any, settings: Any) -> None:
    raise anyio.get_cancelled_exc_class()


@pytest.mark.parametrize(
    ("factory", "words"),
    [
        (lambda context, settings: 1 / 0, "ZeroDivisionError"),
        (leave, "SystemExit: 3"),
        (cancel_itself, "CancelledError"),
        (lambda context, settings: None, "its factory returned nothing"),
        (never, "TimeoutError"),
    ],
)
async def test_a_factory_that_fails_in_any_way_is_named_and_tried_again(
    host: HostFactory, factory: Any, words: str
):
    config = {"plugins.import_timeout_s": 1}
    async with host(inline={"things": bringing(factory)}, config=config) as world:
        for _ in range(2):
            with pytest.raises(PluginError) as caught:
                await world.host.instance("skill_source", "thing")
            assert "The skill_source 'thing' of the plugin things" in caught.value.message
            assert words in caught.value.message
            assert caught.value.fix == "pegboard plugins why things"


async def test_an_error_of_pegboards_own_keeps_its_fix(host: HostFactory):
    def factory(context: Any, settings: Any) -> Thing:
        return Thing(context.secret("thing_key"))

    plugin = Plugin(summary="Brings things", secrets=("thing_key",))
    plugin.contribute("skill_source", "thing", factory)
    async with host(inline={"things": plugin}) as world:
        with pytest.raises(PluginError) as caught:
            await world.host.instance("skill_source", "thing")
    assert caught.value.fix == "pegboard secret set thing_key"


async def test_a_first_caller_who_gives_up_does_not_spoil_it_for_the_next(host: HostFactory):
    async def factory(context: Any, settings: Any) -> Thing:
        await anyio.sleep(0.05)
        return Thing([])

    async with host(inline={"things": bringing(factory)}) as world:
        with anyio.move_on_after(0.01):
            await world.host.instance("skill_source", "thing")
        assert await world.host.instance("skill_source", "thing")


async def test_instances_are_closed_before_their_plugin_is_stopped(host: HostFactory):
    log: list[str] = []
    plugin = bringing(lambda context, settings: Thing(log))

    @plugin.lifespan
    async def lifespan(context: Any) -> Any:
        log.append("start")
        yield
        log.append("end")

    async with host(inline={"things": plugin}) as world:
        await world.host.instance("skill_source", "thing")
    assert log == ["start", "closing thing", "closed thing", "end"]


async def test_one_that_does_not_close_keeps_nobody_from_closing(
    host: HostFactory, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(instances_module, "CLOSE_S", 0.2)
    log: list[str] = []

    class Broken:
        async def aclose(self) -> None:
            raise SystemExit(3)

    class Plain:
        def aclose(self) -> None:
            log.append("closed plain")

    inline = {
        "hangs": bringing(lambda context, settings: Thing(log, "hangs", 60), name="hangs"),
        "broken": bringing(lambda context, settings: Broken(), name="broken"),
        "plain": bringing(lambda context, settings: Plain(), name="plain"),
        "things": bringing(lambda context, settings: Thing(log)),
    }
    began = time.monotonic()
    with caplog.at_level(logging.WARNING):
        async with host(inline=inline) as world:
            for name in ("hangs", "broken", "plain", "thing"):
                await world.host.instance("skill_source", name)
    assert time.monotonic() - began < 10
    assert "closed thing" in log
    assert "closed plain" in log
    assert "skill_source hangs did not close within 0.2 s" in caplog.text
    assert "skill_source broken failed to close" in caplog.text


async def test_what_a_plugin_made_is_not_used_after_its_lifespan_has_failed(host: HostFactory):
    log: list[str] = []
    fail = anyio.Event()
    plugin = bringing(lambda context, settings: Thing(log))

    @plugin.lifespan
    async def lifespan(context: Any) -> Any:
        async def work() -> None:
            await fail.wait()
            raise ValueError("connection lost")

        async with anyio.create_task_group() as group:
            group.start_soon(work)
            yield

    async with host(inline={"things": plugin}) as world:
        await world.host.instance("skill_source", "thing")
        fail.set()
        with anyio.fail_after(5):
            while world.host.activator.active("things"):
                await anyio.sleep(0.01)
        with pytest.raises(PluginError, match="connection lost"):
            await world.host.instance("skill_source", "thing")
        assert log == ["closing thing", "closed thing"]


@pytest.mark.parametrize(
    ("config", "words", "fix"),
    [
        ({}, "There is no provider named 'x'. There is: offline.", "pegboard plugins list"),
        (
            {"providers": {"x": {"type": "strange"}}},
            "the provider type 'strange' is brought by pegboard-provider-strange",
            "pip install pegboard-provider-strange",
        ),
        (
            {"providers": {"x": {"type": "offlin"}}},
            "did you mean 'offline'?",
            "leave out the option that sets providers.x.type",
        ),
        (
            {"providers": {"x": {"type": "offline", "speed": 5}}},
            "unknown key providers.x.speed",
            "leave out the option that sets providers.x.speed",
        ),
    ],
)
async def test_an_instance_that_is_not_there_says_why(
    host: HostFactory,
    config: dict[str, Any],
    words: str,
    fix: str,
    monkeypatch: pytest.MonkeyPatch,
):
    # every type that we ship may be installed here
    packages = {"provider": {"strange": "pegboard-provider-strange"}}
    monkeypatch.setattr(kinds, "TYPE_PACKAGES", packages)
    async with host("provider-offline", config=config) as world:
        with pytest.raises(PluginError) as caught:
            await world.host.instance("provider", "x")
    assert words in caught.value.message
    assert (caught.value.fix or "").startswith(fix)
