"""How a plugin's code says what it brings: the `Plugin` object and the `tool` mark.

Imported by every plugin, so it is light: no pydantic, no schema is made here. `build` derives the
manifest.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar, overload

from pegboard.config.nearest import did_you_mean
from pegboard.contracts.effects import Audience, Effect, ToolKind
from pegboard.contracts.hookspecs import hookimpl
from pegboard.contracts.tool import NO_NEEDS, Intent, Needs
from pegboard.plugins.declared import (
    BackgroundFacts,
    Contribution,
    Factory,
    FamilyFacts,
    PluginInfo,
    ToolFacts,
)

if TYPE_CHECKING:
    from pegboard.contracts.context import PluginContext
    from pegboard.contracts.service import Restart

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")
TOOL_MARK: Final = "__pegboard_tool__"


@overload
def tool(function: F, /) -> F: ...
@overload
def tool(**facts: Any) -> Callable[[F], F]: ...
def tool(function: F | None = None, /, **facts: Any) -> Any:
    """Mark a function as a tool; keywords are the fields of `ToolFacts`.

    The function's name, annotations and docstring become name, parameters and description when the
    manifest is built. A first parameter named `ctx` receives the `ToolContext`. `def` functions run
    in a thread.

    Raises:
        TypeError: When a keyword is no field of `ToolFacts`, or a string stands for several names.
    """

    def mark(function: F) -> F:
        setattr(function, TOOL_MARK, _tool_facts(function.__name__, facts))
        return function

    return mark if function is None else mark(function)


class Plugin:
    """A plugin: a pluggy plugin whose members collect what it brings.

    Compared by identity, as pluggy needs. Assign one to a module-level name and point the entry
    point `pegboard.plugins` at it.
    """

    def __init__(
        self,
        *,
        api: str = ">=1,<2",
        summary: str = "",
        config: str | None = None,
        secrets: Sequence[str] = (),
        needs: Needs = NO_NEEDS,
        before: Sequence[str] = (),
        after: Sequence[str] = (),
        activate: Literal["use", "boot"] = "use",
    ) -> None:
        self.info = PluginInfo(
            api=api,
            summary=summary,
            config=config,
            secrets=_names("secrets", secrets),
            needs=needs,
            before=_names("before", before),
            after=_names("after", after),
            activate=activate,
        )
        self.families: list[FamilyFacts] = []
        self.backgrounds: list[BackgroundFacts] = []
        self.services: dict[str, Callable[[PluginContext], Any]] = {}
        self.hook_events: dict[str, tuple[str, ...]] = {}
        self.lifespan_function: Callable[[PluginContext], AsyncIterator[Any]] | None = None
        self._tools: list[Any] = []
        self._contributions: list[Contribution] = []

    @overload
    def tool(self, function: F, /) -> F: ...
    @overload
    def tool(self, /, **facts: Any) -> Callable[[F], F]: ...
    def tool(self, function: F | None = None, /, **facts: Any) -> Any:
        """Add a function as a tool; keywords are the fields of `ToolFacts`."""

        def add(function: F) -> F:
            self._tools.append(tool(function, **facts))
            return function

        return add if function is None else add(function)

    def add_tools(self, *tools: Any) -> None:
        """Add tools that are defined elsewhere: functions marked with `tool`, or `Tool` objects."""
        self._tools.extend(tools)

    def provider(self, name: str, **facts: Any) -> Callable[[F], F]:
        """Add a model provider type; the decorated factory takes `(context, settings)`."""
        return self._adder("provider", name, facts)

    def channel(self, name: str, **facts: Any) -> Callable[[F], F]:
        """Add a channel type; the decorated factory takes `(context, settings)`."""
        return self._adder("channel", name, facts)

    def sandbox(self, name: str, **facts: Any) -> Callable[[F], F]:
        """Add a sandbox type; the decorated factory takes `(context, settings)`."""
        return self._adder("sandbox", name, facts)

    def skill_source(self, name: str, **facts: Any) -> Callable[[F], F]:
        """Add a skill source type; the decorated factory takes `(context, settings)`."""
        return self._adder("skill_source", name, facts)

    def backend(self, name: str, **facts: Any) -> Callable[[F], F]:
        """Add a backend type; the decorated factory takes `(context, settings)`."""
        return self._adder("backend", name, facts)

    def contribute(self, kind: str, name: str, factory: Factory, **facts: Any) -> None:
        """Add a contribution of a further kind: `command`, or a kind that some plugin defines.

        Keywords `summary` and `config` are those of `Contribution`; all others are its facts.
        """
        summary, config = facts.pop("summary", ""), facts.pop("config", None)
        self._contributions.append(
            Contribution(
                kind=kind, name=name, factory=factory, summary=summary, config=config, facts=facts
            )
        )

    def chat_command(
        self,
        name: str,
        *,
        tool: str,
        summary: str = "",
        argument: str = "",
        arguments: Mapping[str, Any] | None = None,
    ) -> None:
        """Add a chat command: `/name` calls a tool of this plugin for the person who writes it.

        Args:
            name: The word after the slash.
            tool: Name of the tool; its result is the reply.
            summary: One line for `/help`; that of the tool when empty.
            argument: The argument that what follows the word becomes; "" = nothing may follow.
            arguments: Arguments with fixed values.
        """
        facts = {"tool": tool, "argument": argument, "arguments": dict(arguments or {})}
        self._contributions.append(
            Contribution(kind="chat_command", name=name, summary=summary, facts=facts)
        )

    @overload
    def hook(self, function: F, /, *, events: Iterable[str] = ()) -> F: ...
    @overload
    def hook(self, /, *, events: Iterable[str] = ()) -> Callable[[F], F]: ...
    def hook(self, function: F | None = None, /, *, events: Iterable[str] = ()) -> Any:
        """Implement the behaviour hook that the function is named after.

        A `def` runs on the event loop and must be quick; what waits is an `async def`.

        Args:
            function: `def` or `async def`, with the one parameter `event`.
            events: For `pegboard_event`: the event types wanted; empty = all.

        Raises:
            TypeError: When the name is taken: by an earlier implementation, or by a member of
                `Plugin`.
        """

        def add(function: F) -> F:
            name = function.__name__
            if name in self.hook_events:
                raise TypeError(f"hook {name} is implemented twice in one plugin")
            if hasattr(self, name):
                raise TypeError(f"{name} is no behaviour hook; it is a member of Plugin")
            self.hook_events[name] = _names("events", events)
            setattr(self, name, hookimpl(function))
            return function

        return add if function is None else add(function)

    def lifespan(self, function: F) -> F:
        """Run an async generator around the active time; it yields `context.state` once.

        Raises:
            TypeError: When the plugin has one already.
        """
        if self.lifespan_function is not None:
            raise TypeError("a plugin has one lifespan")
        self.lifespan_function = function
        return function

    def background(self, name: str, *, restart: Restart = "on_failure") -> Callable[[F], F]:
        """Add a background service; `run(context)` lives as long as the plugin is active."""

        def add(function: F) -> F:
            self.backgrounds.append(BackgroundFacts(name=name, run=function, restart=restart))
            return function

        return add

    def service(self, name: str) -> Callable[[F], F]:
        """Offer an object to other plugins; `make(context)`, a `def`, is called once, at first use.

        Raises:
            TypeError: When the plugin offers a service of that name already.
        """

        def add(function: F) -> F:
            if name in self.services:
                raise TypeError(f"service {name} is offered twice in one plugin")
            self.services[name] = function
            return function

        return add

    def family(
        self,
        prefix: str,
        *,
        effects: Iterable[Effect] | None,
        audience: Audience = "any",
        kind: ToolKind = "tool",
    ) -> None:
        """Declare that tools with this prefix come and go while the plugin is active."""
        ceiling = None if effects is None else frozenset(_listed("effects", effects))
        self.families.append(
            FamilyFacts(prefix=prefix, effects=ceiling, audience=audience, kind=kind)
        )

    @hookimpl
    def pegboard_tools(self) -> Sequence[Any]:
        """Return the tools added to this plugin."""
        return tuple(self._tools)

    @hookimpl
    def pegboard_providers(self) -> Sequence[Contribution]:
        """Return the provider types added to this plugin."""
        return self._of_kind("provider")

    @hookimpl
    def pegboard_channels(self) -> Sequence[Contribution]:
        """Return the channel types added to this plugin."""
        return self._of_kind("channel")

    @hookimpl
    def pegboard_sandboxes(self) -> Sequence[Contribution]:
        """Return the sandbox types added to this plugin."""
        return self._of_kind("sandbox")

    @hookimpl
    def pegboard_skill_sources(self) -> Sequence[Contribution]:
        """Return the skill source types added to this plugin."""
        return self._of_kind("skill_source")

    @hookimpl
    def pegboard_backends(self) -> Sequence[Contribution]:
        """Return the backend types added to this plugin."""
        return self._of_kind("backend")

    @hookimpl
    def pegboard_contributions(self) -> Sequence[Contribution]:
        """Return the contributions of further kinds added to this plugin."""
        own = {"provider", "channel", "sandbox", "skill_source", "backend"}
        return tuple(item for item in self._contributions if item.kind not in own)

    def _of_kind(self, kind: str) -> Sequence[Contribution]:
        return tuple(item for item in self._contributions if item.kind == kind)

    def _adder(self, kind: str, name: str, facts: dict[str, Any]) -> Callable[[F], F]:
        def add(factory: F) -> F:
            self.contribute(kind, name, factory, **facts)
            return factory

        return add


def _tool_facts(name: str, facts: dict[str, Any]) -> ToolFacts:
    known = {item.name for item in fields(ToolFacts)}
    for keyword in facts.keys() - known:
        raise TypeError(f"a tool has no {keyword!r}{did_you_mean(keyword, known)}")
    given: dict[str, Any] = {"name": name, **facts}
    for several in ("aliases", "ignored_arguments"):
        given[several] = _names(several, given.get(several, ()))
    given["intents"] = tuple(
        Intent(item) if isinstance(item, str) else item
        for item in _listed("intents", given.get("intents", ()))
    )
    if given.get("effects") is not None:
        given["effects"] = frozenset(_names("effects", given["effects"]))
    return ToolFacts(**given)


def _names(what: str, names: Iterable[str]) -> tuple[str, ...]:
    """Return several names, in an order that does not depend on the hash seed."""
    listed = _listed(what, names)
    return tuple(sorted(listed)) if isinstance(names, set | frozenset) else tuple(listed)


def _listed(what: str, values: Iterable[T]) -> Iterable[T]:
    # "abc" would quietly become three names
    if isinstance(values, str):
        raise TypeError(f"{what} takes several names: write [{values!r}]")
    return values
