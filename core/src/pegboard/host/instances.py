"""Instances of what plugins contribute: made from config at first use, closed with the host."""

from __future__ import annotations

import inspect
import logging
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

import anyio

from pegboard.config.instances import Configured, Instance
from pegboard.config.schema import Problem
from pegboard.contracts.errors import PegboardError, PluginError
from pegboard.plugins.building.isolation import is_plugin_fault, one_line
from pegboard.plugins.decision.boot import Boot
from pegboard.plugins.decision.kinds import KINDS, configured, why_absent, why_none
from pegboard.plugins.running.activate import Activator, ActivePlugin
from pegboard.plugins.running.guard_stdout import quiet

CLOSE_S: Final = 5.0
"""Seconds that one instance has to close."""
_log = logging.getLogger(__name__)


class _Made(NamedTuple):
    """An instance: what it was made from, by which activation, and the object itself."""

    instance: Instance
    plugin: ActivePlugin
    made: Any


class Instances:
    """The configured instances of every kind.

    Args:
        boot: What was found and decided; may be exchanged at any time.
        activator: Imports plugins.
        make_timeout_s: Seconds that a factory may take.
    """

    def __init__(self, boot: Boot, activator: Activator, *, make_timeout_s: float) -> None:
        self.boot = boot
        self._activator = activator
        self._make_timeout_s = make_timeout_s
        self._made: dict[tuple[str, str], _Made] = {}
        self._locks: defaultdict[tuple[str, str], anyio.Lock] = defaultdict(anyio.Lock)

    def configured(self, kind: str) -> Configured:
        """Return the instances of one kind, by name, and what is wrong with others."""
        return configured(self.boot, kind)

    def why_none(self, kind: str) -> Problem | None:
        """Return why there is no instance of a kind; None when nothing brings any."""
        return why_none(self.boot, kind)

    async def get(self, kind: str, name: str) -> Any:
        """Return an instance, made at the first call and anew when its plugin was stopped since.

        Raises:
            PluginError: When there is none of that name, or its plugin can't be used.
            ConfigError: When its settings are wrong.
        """
        key = (kind, name)
        async with self._locks[key]:  # its own: one that takes its time holds up nobody else
            found = self._made.get(key)
            if found is None or not self._lives(found):
                await self._drop(lambda item: item is found)
                found = await self._make(self._find(kind, name))
                self._made[key] = found
            return found.made

    async def made(self, kind: str, name: str) -> Any:
        """Make an instance for one who keeps it, closes it, and has it whatever is configured then.

        Raises:
            PluginError: When there is none of that name, or its plugin can't be used.
            ConfigError: When its settings are wrong.
        """
        return (await self._make(self._find(kind, name))).made

    async def tidy(self) -> None:
        """Close what is configured otherwise than when it was made, or whose plugin is gone."""
        kept = {kind: self.configured(kind).instances for kind in {kind for kind, _ in self._made}}
        await self._drop(
            lambda item: not self._lives(item) or item.instance not in kept[item.instance.kind]
        )

    async def release(self, plugins: Iterable[str]) -> None:
        """Close the instances of some plugins, which are about to be stopped."""
        ids = frozenset(plugins)
        await self._drop(lambda item: item.plugin.id in ids)

    async def discard(self, kind: str, name: str) -> None:
        """Close one instance, so that it is made anew when it is asked for again."""
        await self._drop(lambda item: (item.instance.kind, item.instance.name) == (kind, name))

    async def aclose(self) -> None:
        """Close every instance that can be closed; one that fails does not keep the others."""
        await self._drop(lambda item: True)

    def _lives(self, found: _Made) -> bool:
        return self._activator.active(found.plugin.id) is found.plugin

    async def _drop(self, which: Callable[[_Made], bool]) -> None:
        """Close and forget instances; one that takes its time costs the others none."""
        dropped = [key for key, found in self._made.items() if which(found)]
        async with anyio.create_task_group() as group:
            for found in [self._made.pop(key) for key in dropped]:
                group.start_soon(_close, found)

    def _find(self, kind: str, name: str) -> Instance:
        known = self.configured(kind)
        instance = known.named(name)
        if instance is not None:
            return instance
        problem = why_absent(self.boot, kind, name)
        if problem is not None:
            raise PluginError(problem.message, fix=problem.fix)
        names = ", ".join(instance.name for instance in known.instances) or "none"
        label = kind.replace("_", " ")
        raise PluginError(
            f"There is no {label} named {name!r}. There is: {names}.",
            fix=f"pegboard plugins list --provides {kind}",
        )

    async def _make(self, instance: Instance) -> _Made:
        contribution = await self._activator.resolve(instance.plugin, instance.kind, instance.type)
        section = KINDS[instance.kind].section
        settings = await self._activator.settings(
            instance.plugin, contribution.config, instance.settings, f"{section}.{instance.name}"
        )
        active = await self._activator.activate(instance.plugin)  # as it is already
        assert contribution.factory is not None, "only chat commands have none"
        try:
            with quiet(instance.plugin):
                context = active.context.with_secrets(instance.secrets)
                made = contribution.factory(context, settings)
                if inspect.isawaitable(made):
                    with anyio.fail_after(self._make_timeout_s):
                        made = await made
        except BaseException as error:
            if isinstance(error, PegboardError) or not is_plugin_fault(error):
                raise
            _log.warning("the %s %s can't be made", instance.kind, instance.name, exc_info=True)
            raise _unmade(instance, one_line(error)) from error
        if made is None:
            raise _unmade(instance, "its factory returned nothing")
        return _Made(instance, active, made)


async def _close(found: _Made) -> None:
    close = getattr(found.made, "aclose", None)
    if close is None:
        return
    kind, name = found.instance.kind, found.instance.name
    try:
        with anyio.move_on_after(CLOSE_S) as scope, quiet(found.plugin.id):
            closing = close()
            if inspect.isawaitable(closing):
                await closing
    except BaseException as error:
        if not is_plugin_fault(error):
            raise
        _log.warning("%s %s failed to close", kind, name, exc_info=True)
    else:
        if scope.cancelled_caught:
            _log.warning("%s %s did not close within %g s", kind, name, CLOSE_S)


def _unmade(instance: Instance, why: str) -> PluginError:
    return PluginError(
        f"The {instance.kind} {instance.name!r} of the plugin {instance.plugin} can't be made: "
        f"{why}",
        fix=f"pegboard plugins why {instance.plugin}",
    )
