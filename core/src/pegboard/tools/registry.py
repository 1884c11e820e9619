"""Every tool of the host in one list: registered, found by name, filtered for a caller."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final

from pegboard.config.core_schema import CORE
from pegboard.config.schema import Problem
from pegboard.contracts.caller import Caller, ToolFilter
from pegboard.contracts.context import PluginContext
from pegboard.contracts.errors import PluginError, UsageError
from pegboard.contracts.tool import NO_NEEDS, Needs, RegisteredTool, Tool
from pegboard.plugins.building.spec_facts import TOOL_NAME
from pegboard.plugins.decision.state import PluginRecord
from pegboard.plugins.discovery.scan import FoundPlugin
from pegboard.policy.decide import Gate
from pegboard.policy.snapshot import PolicySnapshot
from pegboard.tools.catalogue import Catalogue, make_catalogue
from pegboard.tools.core_tool import CoreTool
from pegboard.tools.implementation import Implementation, ThreadsByPlugin, as_tool
from pegboard.tools.manifest_tools import manifest_tools, unusable_tool
from pegboard.tools.output_overrides import OutputOverrides

Resolve = Callable[[str, str, str], Awaitable[Any]]
"""`await resolve(plugin, "tool", name)` activates the plugin and returns its function or object."""
ContextOf = Callable[[str], PluginContext]
"""`context(plugin)` returns the context of an active plugin."""
Missing = Callable[[Needs], str | None]
"""`missing(needs)` says what is not there and how to get it, or None."""
Callee = Tool | CoreTool
Addition = tuple[RegisteredTool, Callee | None]

_MAX_LISTS: Final = 256


class Registry:
    """The tools of the host. Nothing is imported before a tool is called.

    Every change makes a new catalogue at the next look: readers never see half of one.

    Args:
        resolve: Activates a plugin and returns what it brings for a tool.
        context: Returns the context of an active plugin.
        names: `[names]` of the configuration: short name -> canonical name.
        missing: Says what a tool's needs lack; None = nothing is ever missing.
        limits: `[tools.limits]` of the configuration: name -> what the model reads of its output.
    """

    def __init__(
        self,
        resolve: Resolve,
        context: ContextOf,
        *,
        names: Mapping[str, str] | None = None,
        missing: Missing | None = None,
        limits: Mapping[str, Any] | None = None,
    ) -> None:
        self._resolve = resolve
        self._context = context
        self._names = dict(names or {})
        self._missing = missing
        self._limits = OutputOverrides(dict(limits or {}))
        self._tools: dict[str, RegisteredTool] = {}
        self._given: dict[str, Callee] = {}
        self._static: frozenset[str] = frozenset()
        self._dists: dict[str, str] = {}
        self._installed: dict[str, FoundPlugin] = {}
        self._unusable: tuple[PluginRecord, ...] = ()
        self._implementations: dict[str, Implementation] = {}
        self._threads = ThreadsByPlugin()
        self._catalogue: Catalogue | None = None
        self._lists: dict[tuple[ToolFilter, Caller, PolicySnapshot], tuple[RegisteredTool, ...]]
        self._lists = {}
        self._load_problems: tuple[Problem, ...] = ()
        self.generation = 0

    def load(self, records: Iterable[PluginRecord]) -> None:
        """Take the tools of usable plugins from their manifests, in place of those taken before.

        Tools of families stay while their plugin does. A tool whose statement can't be read is
        left out and named in `problems`.
        """
        given = list(records)
        usable = [record for record in given if record.usable]
        self._unusable = tuple(record for record in given if not record.usable)
        found, self._load_problems = manifest_tools(usable)
        self._dists = {record.id: record.dist for record in usable}
        self._installed = {record.id: record.found for record in usable}
        kept = {
            name: tool
            for name, tool in self._tools.items()
            if name not in self._static and (tool.plugin == CORE or tool.plugin in self._dists)
        }
        tools = {**{tool.canonical: tool for tool in found}, **kept}
        self._static = frozenset(tool.canonical for tool in found)
        self._exchange(tools, {name: tool for name, tool in self._given.items() if name in kept})

    def register(self, tool: RegisteredTool, implementation: Callee | None = None) -> None:
        """Add a tool.

        Args:
            tool: Its statement, and who brings it.
            implementation: What runs; None = resolved when it is called.

        Raises:
            PluginError: When there is a tool of that canonical name.
        """
        self._add((), [(tool, implementation)])

    def unregister(self, name: str) -> None:
        """Remove a tool by any of its names.

        Raises:
            UsageError: When there is no such tool.
        """
        tool = self.find(name)
        if tool is None:
            raise UsageError(f"there is no tool {name!r} to remove")
        self._add((tool.canonical,), ())

    def unregister_family(self, **metadata: str) -> int:
        """Remove every tool whose metadata has all these values, as one step; return how many."""
        gone = self._family(metadata)
        if gone:
            self._add(gone, ())
        return len(gone)

    def swap_family(self, metadata: Mapping[str, str], tools: Iterable[Addition]) -> None:
        """Replace every tool whose metadata has all these values by `tools`, as one step.

        Raises:
            PluginError: When a name is taken by a tool outside the family; nothing is changed then.
        """
        self._add(self._family(metadata), tools)

    def refresh(self) -> None:
        """Look again at what tools need (a secret was set, a program was installed)."""
        self._exchange(self._tools, self._given)

    def find(self, name: str) -> RegisteredTool | None:
        """Return the tool that a short name, alias, canonical or wire name means, or None."""
        catalogue = self._catalogue or self._current()
        return catalogue.by_name.get(name)

    def list(
        self, filter: ToolFilter, caller: Caller, policy: PolicySnapshot
    ) -> tuple[RegisteredTool, ...]:
        """Return what a caller may use, in registration order; cached until something changes.

        Args:
            filter: What the call site leaves out.
            caller: Whom it is for.
            policy: The frozen settings.
        """
        if self._catalogue is not None:
            known = self._lists.get((filter, caller, policy))
            if known is not None:
                return known
        found = self._current().present.shown(Gate(policy, caller, filter))
        if len(self._lists) >= _MAX_LISTS:
            del self._lists[next(iter(self._lists))]
        self._lists[filter, caller, policy] = found
        return found

    def list_all(self) -> tuple[RegisteredTool, ...]:
        """Return every tool in registration order, whoever may use it."""
        return self._current().tools

    def installed(self, plugin: str) -> FoundPlugin | None:
        """Return where a usable plugin is installed; None for core, and for what is not."""
        return self._installed.get(plugin)

    def unusable(self, name: str) -> tuple[RegisteredTool, PluginRecord] | None:
        """Return the tool of a name whose plugin can't be used now, and that plugin, or None."""
        return unusable_tool(self._unusable, name)

    def missing(self, tool: RegisteredTool) -> str | None:
        """Return what a tool needs and does not have, looked up now; None = nothing."""
        if self._missing is None or tool.spec.needs is NO_NEEDS:
            return None
        return self._missing(tool.spec.needs)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What a person should know: clashing names, unreadable statements, limits of no tool."""
        return (*self._load_problems, *self._current().problems)

    def loaded(self, tool: RegisteredTool) -> Implementation | None:
        """Return what runs for a tool if its plugin is imported already."""
        return self._implementations.get(tool.canonical)

    async def implementation(self, tool: RegisteredTool) -> Implementation:
        """Return what runs for a tool, importing its plugin if need be.

        Raises:
            PluginError: When the plugin can't be used.
        """
        name = tool.canonical
        known = self._implementations.get(name)
        if known is not None:
            return known
        entry, call = self._tools.get(name), self._given.get(name)
        if call is None:
            found = await self._resolve(tool.plugin, "tool", tool.spec.name)
            call = as_tool(tool, found, self._threads.of(tool.plugin))
        context = None if tool.plugin == CORE else self._context(tool.plugin)
        made = Implementation(call, context, getattr(call, "available", None))
        # it may have gone, or made way for another, while its plugin was being imported
        if entry is not None and self._tools.get(name) is entry:
            self._implementations[name] = made
        return made

    def _family(self, metadata: Mapping[str, str]) -> tuple[str, ...]:
        wanted = metadata.items()
        return tuple(name for name, tool in self._tools.items() if wanted <= tool.metadata.items())

    def _add(self, removed: Iterable[str], added: Iterable[Addition]) -> None:
        tools, given = dict(self._tools), dict(self._given)
        for name in removed:
            del tools[name]
            given.pop(name, None)
        for tool, implementation in added:
            name = tool.canonical
            wrong = _fault(tool)
            if wrong:
                raise PluginError(
                    f"{_brings(tool)} brings the tool {name[:80]!r}, which can't be used: {wrong}",
                    fix=f"Run: pegboard plugins disable {tool.plugin}",
                )
            if name in tools:
                raise PluginError(
                    f"{_brings(tool)} and {_brings(tools[name])} both bring the tool {name}",
                    fix="Give one of the two another name.",
                )
            tools[name] = tool
            if implementation is not None:
                given[name] = implementation
        self._exchange(tools, given)

    def _exchange(self, tools: dict[str, RegisteredTool], given: dict[str, Callee]) -> None:
        stays = {
            name
            for name in self._implementations
            if tools.get(name) is self._tools.get(name) and given.get(name) is self._given.get(name)
        }
        self._implementations = {name: self._implementations[name] for name in stays}
        self._tools, self._given = tools, given
        self._catalogue = None
        self._lists.clear()
        self.generation += 1

    def _current(self) -> Catalogue:
        if self._catalogue is None:
            self._catalogue = make_catalogue(
                tuple(self._tools.values()),
                dists=self._dists,
                names=self._names,
                missing=self.missing,
                limits=self._limits,
            )
        return self._catalogue


def _fault(tool: RegisteredTool) -> str:
    """Return what of a statement would harm more than the tool itself, or ""."""
    spec: Any = tool.spec  # a family's statement is made by code that nobody has type-checked
    for name in (spec.name, *spec.aliases):
        if not isinstance(name, str) or not TOOL_NAME.fullmatch(name):
            return (
                f"{str(name)[:80]!r} is no tool name (letters, digits and `_`, a letter "
                "first, at most 64 characters)"
            )
    if not isinstance(spec.description, str) or not isinstance(spec.category, str):
        return "its description and its category must be text"
    return "" if isinstance(spec.parameters, Mapping) else "its parameters must be a JSON Schema"


def _brings(tool: RegisteredTool) -> str:
    family = tool.metadata.get("family")
    return f"plugin {tool.plugin}" + (f" (family {family})" if family else "")
