"""The laws of guards: they only narrow, and one that can't judge denies and says how to go on."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, Never, cast

from pegboard.contracts.caller import Caller
from pegboard.contracts.hook_names import BEHAVIOUR_HOOKS
from pegboard.contracts.result import ToolError
from pegboard.plugins.declaration import Plugin
from pegboard.testing.contracts.suite import Suite, missing
from pegboard.testing.model import ScriptedModel

if TYPE_CHECKING:
    from pegboard.testing.host import HostFactory, HostUnderTest

GUARDS: Final = tuple(name for name, kind in BEHAVIOUR_HOOKS.items() if kind == "guard")
PROBE: Final = "guard-probe"
REFUSED: Final[tuple[tuple[str, Caller], ...]] = (
    ("probe_excluded", Caller(trust="operator", admin=True, origin="person", attended=True)),
    ("probe_configure", Caller(trust="operator", origin="person", attended=True)),
    ("probe_diary", Caller(trust="guest", origin="person", attended=True)),
    ("probe_read", Caller(trust="guest", origin="person", attended=True)),
    ("probe_none", Caller(trust="guest", origin="person", attended=True)),
)
"""Calls that the gate refuses without any guard, each for another reason."""
NO_JUDGEMENT: Final = "could not judge this"


class GuardContract(Suite):
    """Laws of a plugin that guards calls of tools, or messages.

    Subclass it beside `PluginContract` and set `plugin`; set the rest where the plugin can't be
    activated without.

    Attributes:
        plugin: Its id.
        config: Its settings, as the table `[plugins.<id>]` would give them.
        secrets: The secrets it needs.
        needs: Ids of the plugins it needs.
        path: Folders to find it in, for a plugin that is not installed.
    """

    plugin: str = ""
    config: Mapping[str, Any] = {}
    secrets: Mapping[str, str] = {}
    needs: tuple[str, ...] = ()
    path: tuple[str, ...] = ()

    async def test_it_guards_something(self, host: HostFactory) -> None:
        """It implements a guard; a plugin without one has no use for this suite."""
        async with self._opened(host) as world:
            active = await world.host.activate(self.plugin)
            assert set(active.hooks) & set(GUARDS), f"{self.plugin} implements no guard"

    async def test_it_opens_nothing_that_is_refused(self, host: HostFactory) -> None:
        """What the gate refuses is refused with the same words as without the plugin."""
        async with self._opened(host, without=True) as world:
            before = [await _refusal(world, name, caller) for name, caller in REFUSED]
        async with self._opened(host) as world:
            after = [await _refusal(world, name, caller) for name, caller in REFUSED]
        assert after == before

    async def test_it_judges_calls_and_messages(self, host: HostFactory) -> None:
        """It answers in time with None, Ask or Deny, and does not crash, in a real turn."""
        async with self._opened(host) as world:
            for error in [await _called(world), await _said(world)]:
                assert NO_JUDGEMENT not in error, error

    async def test_when_it_crashes_it_denies(self, host: HostFactory) -> None:
        """What it then would judge is refused, and the person reads which command disables it."""
        async with self._opened(host) as world:
            active = await world.host.activate(self.plugin)
            hooks = cast("dict[str, Any]", active.hooks)
            hooks.update({name: _crash for name in GUARDS if name in hooks})
            await self._all_is_denied(world, tuple(hooks))

    async def test_when_it_can_not_be_loaded_it_denies(self, host: HostFactory) -> None:
        """The same for a plugin that is installed and can't be used, unless it is disabled."""
        wrong = {"no_such_setting_of_any_plugin": 1}
        async with self._opened(host, settings=wrong) as world:
            record = world.host.activator.record(self.plugin)
            assert not record.usable, f"it is {record.state} with an unknown setting"
            assert record.manifest is not None
            await self._all_is_denied(world, tuple(record.manifest.hooks))
        async with self._opened(host, without=True, settings=wrong) as world:
            assert (await _called(world), await _said(world)) == ("", "")

    async def _all_is_denied(self, world: HostUnderTest, hooks: tuple[str, ...]) -> None:
        command = f"pegboard plugins disable {self.plugin}"
        if "pegboard_tool_guard" in hooks:
            assert command in await _called(world), "a call passed that nobody had judged"
        if "pegboard_message_guard" in hooks:
            assert command in await _said(world), "a message passed that nobody had judged"

    @asynccontextmanager
    async def _opened(
        self,
        host: HostFactory,
        *,
        without: bool = False,
        settings: Mapping[str, Any] | None = None,
    ) -> AsyncIterator[HostUnderTest]:
        from pathlib import Path

        if not self.plugin:
            missing(self, "plugin", "the plugin's id (it is an attribute)")
        given = {**self.config, **(settings or {})}
        config: dict[str, Any] = {"tools.excluded": ["probe_excluded"]}
        if given and not without:
            config[f"plugins.{self.plugin}"] = given
        if without:
            config["plugins.disabled"] = [self.plugin]
        async with host(
            self.plugin,
            *self.needs,
            inline={PROBE: _probe()},
            model=ScriptedModel(["hello"], repeat=True),
            config=config,
            secrets=self.secrets,
            path=[Path(folder) for folder in self.path],
            record=False,
        ) as world:
            yield world


def _probe() -> Plugin:
    plugin = Plugin(summary="Tools that a test calls")
    plugin.tool(effects={"read"})(_named("probe_read"))
    plugin.tool(effects={"read"})(_named("probe_excluded"))
    plugin.tool(effects={"read"}, audience="owner")(_named("probe_diary"))
    plugin.tool(effects={"state_write"}, control="config")(_named("probe_configure"))
    return plugin


def _named(name: str) -> Callable[..., Any]:
    async def probe(text: str = "") -> str:
        """Return the text."""
        return text

    probe.__name__ = name
    return probe


async def _refusal(world: HostUnderTest, name: str, caller: Caller) -> ToolError:
    result = await world.host.call_tool(name, {"text": "hello"}, caller)
    assert result.error is not None, f"{name} was called by a {caller.trust}"
    return result.error


async def _called(world: HostUnderTest) -> str:
    """Return what a person reads when a harmless call is refused, or ""."""
    error = (await world.call("probe_read", text="hello")).error
    return "" if error is None else error.text()


async def _said(world: HostUnderTest) -> str:
    """Return what a person reads when a harmless message is refused, or ""."""
    error = (await world.ask("hello")).error
    return "" if error is None else f"{error['message']} {error['fix'] or ''}"


def _crash(event: Any) -> Never:
    raise RuntimeError("a guard that crashes")
