"""The sandbox of a host: the strictest that works, and never one that opens more than was asked."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from pegboard import Plugin, SandboxError
from pegboard.config.load import load
from pegboard.config.paths import find_paths
from pegboard.contracts.sandbox import SandboxInfo, SandboxSpec
from pegboard.host import HostOptions, open_host
from pegboard.host import workspace as workspace_module
from pegboard.plugins.discovery.first_party import TYPE_PACKAGES
from pegboard.sandboxes.missing import INSTALL, MissingSandbox
from pegboard.testing import HostFactory

pytestmark = pytest.mark.anyio


class Opened(MissingSandbox):
    """A sandbox that says which backend opened it, and whether it is closed."""

    def __init__(self, info: SandboxInfo, spec: SandboxSpec) -> None:
        super().__init__(spec.workspace)
        self.info = info  # type: ignore[misc]
        self.spec = spec
        self.closed = False

    async def aclose(self) -> None:
        self.closed = True


class Backend:
    """A backend that answers as it is told."""

    def __init__(self, name: str, preference: int, *, probe: Any = None, opening: Any = None):
        self.info = SandboxInfo(id=name, confines_commands=True, preference=preference)
        self.opened: list[Opened] = []
        self._probe = probe
        self._opening = opening

    async def probe(self) -> str | None:
        if callable(self._probe):
            await self._probe()
        return self._probe

    async def open(self, spec: SandboxSpec) -> Opened:
        if self._opening is not None:
            await self._opening()
        self.opened.append(Opened(self.info, spec))
        return self.opened[-1]


def sandbox(name: str, backend: Any) -> Plugin:
    plugin = Plugin(summary="Confines")

    @plugin.sandbox(name)
    def make(context: Any, settings: Any) -> Any:
        if isinstance(backend, Exception):
            raise backend
        return backend

    return plugin


def inline(*backends: Backend) -> dict[str, Plugin]:
    return {f"of-{item.info.id}": sandbox(item.info.id, item) for item in backends}


async def crash() -> None:
    raise SystemExit(3)


async def hang() -> None:
    await anyio.sleep(60)


async def refuse() -> None:
    raise SandboxError("the workspace may not be granted", fix="choose another folder")


async def chosen(world: Any) -> str:
    return (await world.host.sandbox_report()).sandbox


async def opened(world: Any) -> Any:
    return await world.host._parts.workspace.sandbox()


async def test_the_strictest_that_works_is_taken_and_opened_once(host: HostFactory):
    loose, strict = Backend("loose", 90), Backend("strict", 10)
    broken = Backend("broken", 1, probe="no kernel for it")
    async with host(inline=inline(loose, strict, broken)) as world:
        first = await opened(world)
        assert await opened(world) is first
        assert strict.opened == [first]
        assert loose.opened == broken.opened == []
    assert first.closed


async def test_what_is_asked_for_by_name_is_taken_even_if_there_is_a_stricter_one(
    host: HostFactory,
):
    loose, strict = Backend("loose", 90), Backend("strict", 10)
    async with host(inline=inline(loose, strict), config={"sandbox.use": "loose"}) as world:
        assert (await opened(world)).info.id == "loose"


@pytest.mark.parametrize(
    ("strict", "words"),
    [
        (Backend("strict", 10, probe="no kernel for it"), "does not work here: no kernel for it"),
        (Backend("strict", 10, probe=crash), "The sandbox strict failed: SystemExit: 3"),
        (Backend("strict", 10, probe=hang), "no answer within 0.2 s"),
        (Backend("strict", 10, opening=crash), "The sandbox strict failed: SystemExit: 3"),
        (Backend("strict", 10, opening=hang), "no answer within 0.2 s"),
        (Backend("strict", 10, opening=refuse), "the workspace may not be granted"),
    ],
    ids=["probe says no", "probe crashes", "probe hangs", "crashes", "hangs", "refuses"],
)
async def test_what_is_asked_for_by_name_and_fails_is_replaced_by_nothing(
    host: HostFactory, monkeypatch: pytest.MonkeyPatch, strict: Backend, words: str
):
    monkeypatch.setattr(workspace_module, "ANSWER_S", 0.2)
    monkeypatch.setattr(workspace_module._answer, "__kwdefaults__", {"within_s": 0.2})
    loose = Backend("loose", 90)
    async with host(inline=inline(loose, strict), config={"sandbox.use": "strict"}) as world:
        found = await opened(world)
        assert isinstance(found, MissingSandbox)
        assert loose.opened == []
        with pytest.raises(SandboxError) as caught:
            await found.read("README.md")
        assert words in caught.value.message
        assert caught.value.fix


async def test_one_that_is_not_there_is_replaced_by_nothing(
    host: HostFactory, monkeypatch: pytest.MonkeyPatch
):
    # the packages of all real types are installed where this is tested
    monkeypatch.setitem(TYPE_PACKAGES["sandbox"], "boxed", "pegboard-sandbox-boxed")
    loose = Backend("loose", 90)
    async with host(inline=inline(loose), config={"sandbox.use": "boxed"}) as world:
        assert await chosen(world) == "missing"
        report = await world.host.sandbox_report()
        assert "pip install pegboard-sandbox-boxed" in " ".join(report.notes)
    assert loose.opened == []


@pytest.mark.parametrize(
    "strict",
    [
        Backend("strict", 10, probe=crash),
        ValueError("its library is broken"),
        object(),
    ],
    ids=["probe crashes", "can't be made", "is no backend"],
)
async def test_of_several_one_that_is_broken_costs_the_others_nothing_and_is_named(
    host: HostFactory, caplog: pytest.LogCaptureFixture, strict: Any
):
    loose = Backend("loose", 90)
    plugins = {**inline(loose), "of-strict": sandbox("strict", strict)}
    with caplog.at_level(logging.WARNING, "pegboard.host"):
        async with host(inline=plugins) as world:
            assert (await opened(world)).info.id == "loose"
    assert "passed over for the sandbox loose: The sandbox" in caplog.text
    assert "strict" in caplog.text


async def test_without_any_the_host_gives_less_and_says_what_to_install(tmp_path: Path):
    options = HostOptions(
        paths=find_paths({"PEGBOARD_HOME": str(tmp_path / "home")}),
        workspace=tmp_path,
        plugin_path=[str(tmp_path / "nothing")],
        env={},
    )
    async with open_host(options) as opened_host:
        found = await opened_host._parts.workspace.sandbox()
        with pytest.raises(SandboxError) as caught:
            await found.read("README.md")
    assert caught.value.fix == INSTALL


async def test_one_that_is_disabled_is_named_with_what_enables_it(
    host: HostFactory, caplog: pytest.LogCaptureFixture
):
    config = {"plugins.disabled": ["of-strict"]}
    async with host(inline=inline(Backend("strict", 10)), config=config) as world:
        notes = " ".join((await world.host.sandbox_report()).notes)
    assert "brought by the plugin of-strict, which is disabled" in notes
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


async def test_grants_are_read_only_unless_they_say_more(host: HostFactory, tmp_path: Path):
    strict = Backend("strict", 10)
    grants = [
        {"path": str(tmp_path / "a")},
        {"path": str(tmp_path / "b"), "mode": "rw"},
        {"path": "beside"},
        {"path": "~/notes"},
    ]
    async with host(inline=inline(strict), config={"sandbox.grants": grants}) as world:
        paths = world.host.config.paths
        # as a host that stays leaves it, whose state folder has too long a path for a socket
        (paths.state / "control.path").write_text(f"{tmp_path}/short/control.sock\n")
        await opened(world)
        (found,) = strict.opened
        folder = world.host.workspace
        assert [(grant.path, grant.mode) for grant in found.spec.grants] == [
            (tmp_path / "a", "ro"),
            (tmp_path / "b", "rw"),
            (folder / "beside", "ro"),
            (Path.home() / "notes", "ro"),
        ]
        assert {paths.config, paths.state, paths.data, paths.cache} <= set(found.spec.protected)
        assert tmp_path / "short" in found.spec.protected


async def test_a_grant_in_the_home_of_nobody_opens_no_sandbox_without_it(host: HostFactory):
    strict = Backend("strict", 10)
    config = {"sandbox.grants": [{"path": "~no-such-person-here/x"}]}
    async with host(inline=inline(strict), config=config) as world:
        notes = " ".join((await world.host.sandbox_report()).notes)
    assert "grants: ~no-such-person-here/x" in notes
    assert strict.opened == []


async def test_a_sandbox_whose_plugin_has_failed_is_used_no_more(host: HostFactory):
    fail = anyio.Event()
    strict = Backend("strict", 10)
    plugin = sandbox("strict", strict)

    @plugin.lifespan
    async def lifespan(context: Any) -> Any:
        async def work() -> None:
            await fail.wait()
            raise ValueError("the container is gone")

        async with anyio.create_task_group() as group:
            group.start_soon(work)
            yield

    async with host(inline={"of-strict": plugin}) as world:
        first = await opened(world)
        fail.set()
        with anyio.fail_after(5):
            while world.host.activator.active("of-strict"):
                await anyio.sleep(0.01)
        second = await opened(world)
        assert second is not first
        with pytest.raises(SandboxError, match="the container is gone"):
            await second.read("x")
    assert first.closed


async def test_other_settings_open_the_sandbox_anew_and_what_runs_keeps_its_own(
    host: HostFactory, tmp_path: Path
):
    strict = Backend("strict", 10)
    async with host(inline=inline(strict)) as world:
        workspace = world.host._parts.workspace
        first = await opened(world)
        workspace.take(world.host.config)
        assert await opened(world) is first
        granted = tmp_path / "granted"
        options = replace(
            world.host.options,
            overrides={**world.host.options.overrides, "sandbox.grants": [{"path": str(granted)}]},
        )
        workspace.take(load(options.paths, overrides=options.overrides))
        second = await opened(world)
        assert second is not first
        assert [grant.path for grant in second.spec.grants] == [granted]
        assert not first.closed
        assert await opened(world) is second
    assert first.closed
    assert second.closed
