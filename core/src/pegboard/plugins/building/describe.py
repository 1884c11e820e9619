"""All that a plugin's code says about itself, asked once."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import ModuleType
from typing import Any

from pegboard.config.nearest import did_you_mean
from pegboard.contracts.errors import BuildError
from pegboard.contracts.hook_events import OBSERVED_TYPES
from pegboard.contracts.hookspecs import BEHAVIOUR_HOOKS, CONTRIBUTION_HOOKS
from pegboard.contracts.tool import ToolSpec
from pegboard.plugins.building.isolation import told_where
from pegboard.plugins.building.verify import verified_hooks
from pegboard.plugins.declaration import TOOL_MARK, Plugin
from pegboard.plugins.declared import (
    BackgroundFacts,
    Contribution,
    FamilyFacts,
    PluginInfo,
    ToolFacts,
)
from pegboard.plugins.discovery.chat_command import KIND as CHAT_COMMAND
from pegboard.plugins.discovery.first_party import HOST_SERVICES

OBSERVER = "pegboard_event"


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """All that a plugin's code says, its contribution hooks called once.

    Args:
        info: What it says about itself.
        tools: Functions marked with `tool`, or `Tool` objects, by tool name.
        contributions: By kind and name.
        families: Tools that come and go.
        backgrounds: Its background services.
        services: What it offers to other plugins: name to `make(context)`.
        lifespan: An async generator function, or None.
        hooks: Behaviour hook to its implementation.
        hook_events: Behaviour hook to the event types wanted; empty = all.
    """

    info: PluginInfo
    tools: Mapping[str, Any]
    contributions: Mapping[tuple[str, str], Contribution]
    families: tuple[FamilyFacts, ...]
    backgrounds: tuple[BackgroundFacts, ...]
    services: Mapping[str, Callable[..., Any]]
    lifespan: Callable[..., Any] | None
    hooks: Mapping[str, Callable[..., Any]]
    hook_events: Mapping[str, tuple[str, ...]]

    @property
    def secrets(self) -> tuple[str, ...]:
        """Every secret that the plugin may read: those it lists, and what it or a tool needs."""
        facts = [getattr(tool, TOOL_MARK, None) or tool.spec for tool in self.tools.values()]
        needed = [name for item in facts for name in item.needs.secrets]
        return tuple(sorted({*self.info.secrets, *self.info.needs.secrets, *needed}))


def load_entry(entry: str) -> object:
    """Import what an entry point names, `module` or `module:attribute`.

    Raises:
        BuildError: When the module has no such attribute.
    """
    module_name, _, attributes = entry.partition(":")
    found: Any = importlib.import_module(module_name)
    for attribute in filter(None, attributes.split(".")):
        try:
            found = getattr(found, attribute)
        except AttributeError as error:
            names = [name for name, value in vars(found).items() if isinstance(value, Plugin)]
            names = names or [name for name in dir(found) if not name.startswith("_")]
            raise BuildError(
                f"entry point {entry}: {module_name} has no {attribute!r}"
                f"{did_you_mean(attribute, names)}"
            ) from error
    return found


def describe(plugin_id: str, obj: object) -> Declaration:
    """Ask a `Plugin`, or a module with `@hookimpl` functions, for all that it brings.

    A module may say more about itself with `pegboard_plugin = PluginInfo(...)`.

    Raises:
        BuildError: When it is neither, or a declaration is wrong.
    """
    plugin, info = _plugin_of(plugin_id, obj)
    hooks = verified_hooks(plugin_id, obj)
    if plugin is None and not hooks:
        raise BuildError(f"plugin {plugin_id}: the module implements no hook", fix=_hint(obj))
    items = [
        (hook, item)
        for hook in CONTRIBUTION_HOOKS
        if hook in hooks
        for item in _returned(plugin_id, hook, hooks[hook]())
    ]
    _check_members(plugin_id, plugin)
    return Declaration(
        info=info,
        tools=_by_name(
            plugin_id, "tool", [(_tool_name(plugin_id, t), t) for h, t in items if _is_tools(h)]
        ),
        contributions=_by_name(
            plugin_id,
            "contribution",
            [_contribution(plugin_id, hook, item) for hook, item in items if not _is_tools(hook)],
        ),
        families=tuple(plugin.families) if plugin else (),
        backgrounds=tuple(plugin.backgrounds) if plugin else (),
        services=dict(plugin.services) if plugin else {},
        lifespan=plugin.lifespan_function if plugin else None,
        hooks={name: function for name, function in hooks.items() if name in BEHAVIOUR_HOOKS},
        hook_events=_events(plugin_id, hooks, plugin.hook_events if plugin else {}),
    )


def _plugin_of(plugin_id: str, obj: object) -> tuple[Plugin | None, PluginInfo]:
    if isinstance(obj, Plugin):
        return obj, obj.info
    if not isinstance(obj, ModuleType):
        raise BuildError(
            f"plugin {plugin_id}: the entry point names a {type(obj).__name__}; "
            "it must name a `Plugin` or a module with `@hookimpl` functions"
        )
    info = getattr(obj, "pegboard_plugin", PluginInfo())
    if not isinstance(info, PluginInfo):
        raise BuildError(f"plugin {plugin_id}: `pegboard_plugin` must be a PluginInfo")
    return None, info


def _hint(module: object) -> str | None:
    """Return the line that helps when the entry point forgot the `Plugin` of its module."""
    for name, value in vars(module).items():
        if isinstance(value, Plugin):
            return f'point the entry point at "{getattr(module, "__name__", "")}:{name}"'
    return None


def _returned(plugin_id: str, hook: str, found: Any) -> Sequence[Any]:
    if not isinstance(found, list | tuple):
        raise BuildError(
            f"plugin {plugin_id}: {hook} returned {type(found).__name__}, not a list or tuple"
        )
    return found


def _is_tools(hook: str) -> bool:
    return CONTRIBUTION_HOOKS[hook] == "tool"


def _tool_name(plugin_id: str, item: Any) -> str:
    facts = getattr(item, TOOL_MARK, None)
    if isinstance(facts, ToolFacts):
        return facts.name
    spec = getattr(item, "spec", None)
    if isinstance(spec, ToolSpec) and callable(item):
        return spec.name
    raise BuildError(
        f"plugin {plugin_id}: {item!r} is no tool",
        fix="mark the function with `@tool`, or give the object `spec` and `__call__`",
    )


def _contribution(plugin_id: str, hook: str, item: Any) -> tuple[tuple[str, str], Contribution]:
    if not isinstance(item, Contribution):
        raise BuildError(f"plugin {plugin_id}: {hook} returned {item!r}, which is no Contribution")
    kind = CONTRIBUTION_HOOKS[hook]
    if kind and item.kind != kind:
        raise BuildError(
            f"plugin {plugin_id}: {hook} returned {item.name}, a {item.kind}; "
            "further kinds come from pegboard_contributions"
        )
    if not kind and (item.kind in CONTRIBUTION_HOOKS.values() or not item.kind):
        raise BuildError(
            f"plugin {plugin_id}: {item.kind or 'a contribution without a kind'} {item.name} "
            f"can't come from {hook}"
        )
    if (item.factory is None) != (item.kind == CHAT_COMMAND):
        raise BuildError(
            f"plugin {plugin_id}: {item.kind} {item.name} has "
            + ("no factory" if item.factory is None else "a factory; its facts say what it calls")
        )
    return (item.kind, item.name), item


def _by_name(plugin_id: str, what: str, pairs: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    for name, item in pairs:
        if name in found:
            shown = name if isinstance(name, str) else " ".join(name)
            raise BuildError(f"plugin {plugin_id}: {what} {shown} is there twice")
        found[name] = item
    return found


def _events(
    plugin_id: str, hooks: Mapping[str, Any], declared: Mapping[str, tuple[str, ...]]
) -> dict[str, tuple[str, ...]]:
    for hook, events in declared.items():
        if events and hook != OBSERVER:
            raise BuildError(f"plugin {plugin_id}: hook {hook} takes no `events`")
        for event in events:
            if event not in OBSERVED_TYPES:
                raise BuildError(
                    f"plugin {plugin_id}: there is no event type {event!r}"
                    f"{did_you_mean(event, OBSERVED_TYPES)}"
                )
    return {
        hook: tuple(sorted(declared.get(hook, ()))) for hook in hooks if hook in BEHAVIOUR_HOOKS
    }


def _check_members(plugin_id: str, plugin: Plugin | None) -> None:
    if plugin is None:
        return
    _by_name(plugin_id, "background service", [(item.name, item) for item in plugin.backgrounds])
    prefixes = sorted(family.prefix for family in plugin.families)
    for prefix, other in pairwise(prefixes):
        if other.startswith(prefix):
            raise BuildError(f"plugin {plugin_id}: families {prefix} and {other} overlap")
    lifespan = plugin.lifespan_function
    with told_where(lifespan):
        _check_lifespan(plugin_id, lifespan)
    for service in plugin.backgrounds:
        with told_where(service.run):
            if not inspect.iscoroutinefunction(service.run):
                raise BuildError(
                    f"plugin {plugin_id}: background service {service.name} must be async"
                )
    for name, make in plugin.services.items():
        with told_where(make):
            _check_service(plugin_id, name, make)


def _check_lifespan(plugin_id: str, lifespan: object) -> None:
    if lifespan is not None and not inspect.isasyncgenfunction(lifespan):
        raise BuildError(
            f"plugin {plugin_id}: the lifespan must be an async generator",
            fix="async def lifespan(context): ...; yield state; ...",
        )


def _check_service(plugin_id: str, name: str, make: Callable[..., Any]) -> None:
    if name in HOST_SERVICES:
        raise BuildError(
            f"plugin {plugin_id}: the host itself offers a service {name}",
            fix="choose another name for the service",
        )
    if inspect.iscoroutinefunction(make):
        raise BuildError(
            f"plugin {plugin_id}: service {name} must be made by a `def`",
            fix="open connections in the lifespan, and return what it yielded",
        )
