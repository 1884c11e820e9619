"""What a plugin's code says, as values: of its tools, of what else it brings, and of itself.

Imported by every plugin, so it is light.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from pegboard.contracts.capability import Capability, ControlArea
from pegboard.contracts.effects import (
    Audience,
    Effect,
    Exposure,
    OnInterrupt,
    PolicyClass,
    ToolKind,
)
from pegboard.contracts.tool import (
    DEFAULT_LIMITS,
    DEFAULT_TIMEOUT_S,
    NO_HELP,
    NO_NEEDS,
    Intent,
    Needs,
    OutputLimits,
    ToolHelp,
)

if TYPE_CHECKING:
    from pegboard.contracts.context import PluginContext
    from pegboard.contracts.service import Restart

Factory = Callable[..., Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFacts:
    """What an author states beside the function itself; `ToolSpec` says what each means."""

    name: str = ""
    effects: frozenset[Effect] | None = None
    effects_by: Mapping[str, Mapping[str, Iterable[Effect]]] | None = None
    category: str = "general"
    audience: Audience = "any"
    attended: str | None = None
    capability: Capability | None = None
    control: ControlArea | None = None
    policy_class: PolicyClass | None = None
    exposure: Exposure = "direct"
    aliases: tuple[str, ...] = ()
    ignored_arguments: tuple[str, ...] = ()
    intents: tuple[Intent, ...] = ()
    help: ToolHelp = NO_HELP
    needs: Needs = NO_NEEDS
    on_interrupt: OnInterrupt | None = None
    limits: OutputLimits = DEFAULT_LIMITS
    timeout_s: float = DEFAULT_TIMEOUT_S
    outside: bool | None = None
    available: Callable[..., str | None] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Contribution:
    """One thing that a plugin brings, of a kind other than tool.

    Args:
        kind: `provider`, `channel`, `sandbox`, `skill_source`, `backend`, `command`,
            `chat_command`, or a kind that a plugin defines.
        name: Name of the type; configured instances refer to it.
        factory: Called as `factory(context, settings)` with a `PluginContext` and the instance's
            validated settings; a `command` factory takes nothing and returns a `click.Command`.
            None for a `chat_command`, which its facts say all about.
        summary: One line for people.
        config: `module:Class` of the pydantic model of an instance's settings, or None.
        facts: JSON-serialisable facts that boot and search may read without importing.
    """

    kind: str
    name: str
    factory: Factory | None = None
    summary: str = ""
    config: str | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyFacts:
    """Tools that a plugin adds and removes while it runs, and the most that they may be.

    Args:
        prefix: Every name of the family begins with it.
        effects: Ceiling; None = unknown, the most dangerous.
        audience: `owner` hides the whole family from guests.
        kind: `tool` or `mcp`.
    """

    prefix: str
    effects: frozenset[Effect] | None
    audience: Audience = "any"
    kind: ToolKind = "tool"


@dataclass(frozen=True, slots=True, kw_only=True)
class BackgroundFacts:
    """A background service: `run(context)` runs for as long as the plugin is active."""

    name: str
    run: Callable[[PluginContext], Awaitable[None]]
    restart: Restart = "on_failure"


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginInfo:
    """What a plugin says about itself as a whole.

    Args:
        api: Range of the hook API it works with.
        summary: One line; the module's docstring when empty.
        config: `module:Class` of the pydantic model of `[plugins.<id>]`, or None.
        secrets: Names of the secrets it may read.
        needs: What must be present, or the plugin is `missing-need`.
        before, after: Ids of plugins that it must be ordered before or after.
        activate: `boot` = imported when the host starts; `use` = at first use.
    """

    api: str = ">=1,<2"
    summary: str = ""
    config: str | None = None
    secrets: tuple[str, ...] = ()
    needs: Needs = NO_NEEDS
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    activate: Literal["use", "boot"] = "use"
