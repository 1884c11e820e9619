"""Instances of what plugins contribute: made from config at first use, closed with the host."""

from __future__ import annotations

import inspect
import logging
from typing import Any

import anyio

from pegboard.config.instances import Configured, Instance
from pegboard.contracts.errors import PluginError
from pegboard.plugins.decision.boot import Boot
from pegboard.plugins.decision.kinds import KINDS, configured
from pegboard.plugins.running.activate import Activator

_log = logging.getLogger(__name__)


class Instances:
    """The configured instances of every kind.

    Args:
        boot: What was found and decided.
        activator: Imports plugins.
    """

    def __init__(self, boot: Boot, activator: Activator) -> None:
        self.boot = boot
        self._activator = activator
        self._made: dict[tuple[str, str], Any] = {}
        self._lock = anyio.Lock()

    def configured(self, kind: str) -> Configured:
        """Return the instances of one kind, by name, and what is wrong with others."""
        return configured(self.boot, kind)

    async def get(self, kind: str, name: str) -> Any:
        """Return an instance, made at the first call.

        Raises:
            PluginError: When there is none of that name, or its plugin can't be used.
            ConfigError: When its settings are wrong.
        """
        async with self._lock:
            made = self._made.get((kind, name))
            if made is None:
                made = await self._make(self._find(kind, name))
                self._made[kind, name] = made
            return made

    async def aclose(self) -> None:
        """Close every instance that can be closed; one that fails does not keep the others."""
        for (kind, name), made in reversed(self._made.items()):
            close = getattr(made, "aclose", None)
            if close is None:
                continue
            try:
                await close()
            except Exception:
                _log.warning("%s %s failed to close", kind, name, exc_info=True)
        self._made.clear()

    def _find(self, kind: str, name: str) -> Instance:
        known = self.configured(kind)
        for instance in known.instances:
            if instance.name == name:
                return instance
        problem = next((item for item in known.problems if item.path.endswith(f".{name}")), None)
        if problem is not None:
            raise PluginError(problem.message, fix=problem.fix)
        names = ", ".join(instance.name for instance in known.instances) or "none"
        label = kind.replace("_", " ")
        raise PluginError(
            f"There is no {label} named {name!r}. There is: {names}.",
            fix=f"pegboard plugins list --provides {kind}",
        )

    async def _make(self, instance: Instance) -> Any:
        contribution = await self._activator.resolve(instance.plugin, instance.kind, instance.type)
        section = KINDS[instance.kind].section
        settings = await self._activator.settings(
            instance.plugin, contribution.config, instance.settings, f"{section}.{instance.name}"
        )
        active = self._activator.active(instance.plugin)
        assert active is not None  # resolve activated it
        try:
            made = contribution.factory(active.context, settings)
            return await made if inspect.isawaitable(made) else made
        except PluginError:
            raise
        except Exception as error:
            _log.warning("the %s %s can't be made", instance.kind, instance.name, exc_info=True)
            raise PluginError(
                f"The {instance.kind} {instance.name!r} of the plugin {instance.plugin} can't be "
                f"made: {type(error).__name__}: {error}",
                fix=f"pegboard plugins why {instance.plugin}",
            ) from error
