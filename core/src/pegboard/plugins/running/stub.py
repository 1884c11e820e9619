"""A stand-in that pluggy orders in place of a plugin that is not imported yet."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any

import pluggy

from pegboard.contracts import hookspecs

Hook = Callable[[Any], Any]
"""An implementation of a behaviour hook: `def` or `async def`, with one event."""
ResolveHook = Callable[[str, str], Awaitable[Hook]]
"""`await resolve(plugin_id, hook)` activates the plugin and returns its implementation."""


class LazyPlugin:
    """Implements the hooks of one manifest by activating the plugin at the first call.

    It stays registered for good, so that the plugin keeps its place however late it is imported.
    pluggy sees only plain functions in the instance's own dict: it ignores callable objects, and
    what `__getattr__` answers, from version 1.7 on.
    """

    def __init__(self, plugin_id: str, hooks: Iterable[str], resolve: ResolveHook) -> None:
        self.id = plugin_id
        self._hooks = tuple(hooks)
        for hook in self._hooks:
            setattr(self, hook, hookspecs.hookimpl(_stub(plugin_id, hook, resolve)))

    def __dir__(self) -> Sequence[str]:
        # pluggy looks at every name: without this, 200 stand-ins take 60 times as long
        return self._hooks


def _stub(plugin_id: str, hook: str, resolve: ResolveHook) -> Hook:
    async def stub(event: Any) -> Any:
        result = (await resolve(plugin_id, hook))(event)
        return await result if hasattr(result, "__await__") else result

    return stub


def ordered_manager(plugins: Sequence[LazyPlugin]) -> pluggy.PluginManager:
    """Return a manager that calls `plugins` in their order."""
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    for plugin in reversed(plugins):  # pluggy calls the last one first
        manager.register(plugin, plugin.id)
    return manager


def callers_in_order(manager: pluggy.PluginManager, hook: str) -> list[LazyPlugin]:
    """Return who implements `hook`, the first to be called first."""
    found = getattr(manager.hook, hook).get_hookimpls()
    return [implementation.plugin for implementation in reversed(found)]
