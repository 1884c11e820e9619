"""What a tool states about itself, and how it is called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Final, Protocol, runtime_checkable

from pegboard.contracts.capability import CAPABILITIES, CONTROL_AREAS, Capability, ControlArea
from pegboard.contracts.effects import (
    EXPOSURES,
    POLICY_CLASSES,
    Audience,
    Effect,
    Effects,
    EffectsBy,
    Exposure,
    OnInterrupt,
    PolicyClass,
    ToolKind,
    effects,
)
from pegboard.contracts.result import ToolResult, Truncation

if TYPE_CHECKING:
    from pegboard.contracts.context import ToolContext

JsonSchema = Mapping[str, Any]

DEFAULT_TIMEOUT_S: Final = 120.0


@dataclass(frozen=True, slots=True)
class ToolHelp:
    """What `tool_help` adds to a tool's description."""

    when_to_use: str = ""
    examples: tuple[str, ...] = ()
    failure_modes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Intent:
    """A phrase of plain language that means one call, for providers without a model.

    Args:
        pattern: Words with captures: `"(read|show) [the] [file] {path:path}"`. `(a|b)` is a choice,
            `[x]` optional, `{argument:type}` a capture; types are
            `path glob quoted url command word number rest`.
        arguments: Further arguments with fixed values.
    """

    pattern: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Needs:
    """What must be present; what is missing hides the tool (or the plugin), with a reason.

    Args:
        secrets: Names of secrets.
        binaries: Programs on PATH.
        plugins: Ids of plugins.
        services: Names of services that another plugin offers.
    """

    secrets: tuple[str, ...] = ()
    binaries: tuple[str, ...] = ()
    plugins: tuple[str, ...] = ()
    services: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, list[str]]:
        """Return only what is needed, as a manifest holds it."""
        return {
            item.name: list(getattr(self, item.name))
            for item in fields(self)
            if getattr(self, item.name)
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Needs:
        """Read the form that a manifest holds; unknown keys are ignored."""
        known = {item.name for item in fields(cls)}
        return cls(**{name: tuple(value) for name, value in data.items() if name in known})


NO_HELP: Final = ToolHelp()
NO_NEEDS: Final = Needs()


@dataclass(frozen=True, slots=True)
class OutputLimits:
    """How much of a result the model reads; the rest is kept for `tool_result_recall`.

    Args:
        chars: Characters at most.
        lines: Lines at most, or None.
        keep: Which end survives a cut.
    """

    chars: int = 30_000
    lines: int | None = None
    keep: Truncation = "both"


DEFAULT_LIMITS: Final = OutputLimits()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """Exactly what the manifest holds of a tool; policy, search and prompt see only this.

    Args:
        name: Short name, `[A-Za-z][A-Za-z0-9_]*`, at most 64 characters.
        description: What it does, for the model; the first line is the summary.
        parameters: JSON Schema (2020-12) of an object.
        effects: Upper bound of what a call changes or reaches. None = unknown = most dangerous.
        effects_by: Effects that depend on one argument.
        access: For each argument that names a path: its effect.
        path_patterns: For each of these that is a text with paths in it: what finds them.
        remarks: Names of the arguments that only say something about the call.
        freeform: Name of the argument that a call without JSON is taken for, or "".
        shell: Names of the arguments that a shell runs.
        argument_aliases: Further names of arguments, by their place: `file_path` -> `path`,
            `edits[].oldText` -> `old_string`; `case_sensitive` -> `!ignore_case` says the opposite,
            and `-n` -> `` is left out.
        audience: `owner` = the result is the owner's own data; guests never learn that it exists.
        attended: Name of the rule about a present owner, or None.
        capability: `orch:...` that a script needs, or None: no script may call it. Those to spawn,
            cron, graph, message and browse bind every other call too.
        control: What of the control plane it manages, or None. Only a run for an admin may call it.
        policy_class: Declared class, or None = derived from the effects.
        exposure: Who is shown the tool (see `Exposure`).
        on_interrupt: What recovery does with an interrupted call; None = derived from the effects.
        outside: True when results hold text from outside; None = derived from the effects.
        convert: True when arguments need pydantic to become what the function expects.
        timeout_s: Seconds until the call is stopped.
    """

    name: str
    description: str = ""
    parameters: JsonSchema = field(default_factory=lambda: {"type": "object", "properties": {}})
    help: ToolHelp = NO_HELP
    category: str = "general"
    aliases: tuple[str, ...] = ()
    intents: tuple[Intent, ...] = ()
    effects: Effects | None = None
    effects_by: EffectsBy | None = None
    access: Mapping[str, Effect] = field(default_factory=dict)
    path_patterns: Mapping[str, str] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    freeform: str = ""
    shell: tuple[str, ...] = ()
    argument_aliases: Mapping[str, str] = field(default_factory=dict)
    audience: Audience = "any"
    attended: str | None = None
    capability: Capability | None = None
    control: ControlArea | None = None
    policy_class: PolicyClass | None = None
    exposure: Exposure = "direct"
    needs: Needs = NO_NEEDS
    on_interrupt: OnInterrupt | None = None
    limits: OutputLimits = DEFAULT_LIMITS
    timeout_s: float = DEFAULT_TIMEOUT_S
    outside: bool | None = None
    convert: bool = False

    @property
    def summary(self) -> str:
        """The first line of the description."""
        return self.description.partition("\n")[0]

    def to_dict(self) -> dict[str, Any]:
        """Return the stable JSON form that a manifest holds; defaults are left out."""
        data: dict[str, Any] = {
            "name": self.name,
            "description": self.description,
            "parameters": self.parameters,
            "category": self.category,
            "effects": None if self.effects is None else sorted(self.effects),
        }
        optional: dict[str, Any] = {
            "help": _help_dict(self.help),
            "aliases": list(self.aliases),
            "intents": [_intent_dict(intent) for intent in self.intents],
            "effects_by": self.effects_by.to_dict() if self.effects_by else None,
            "access": dict(self.access),
            "path_patterns": dict(self.path_patterns),
            "remarks": list(self.remarks),
            "freeform": self.freeform,
            "shell": list(self.shell),
            "argument_aliases": dict(self.argument_aliases),
            "attended": self.attended,
            "capability": self.capability,
            "control": self.control,
            "policy_class": self.policy_class,
            "needs": self.needs.to_dict(),
            "on_interrupt": self.on_interrupt,
            "outside": self.outside,
            "convert": self.convert or None,
            "audience": self.audience if self.audience != "any" else None,
            "exposure": self.exposure if self.exposure != "direct" else None,
            "timeout_s": self.timeout_s if self.timeout_s != DEFAULT_TIMEOUT_S else None,
            "limits": _limits_dict(self.limits) if self.limits != DEFAULT_LIMITS else None,
        }
        data.update(
            {key: value for key, value in optional.items() if value not in (None, "", [], {}, ())}
        )
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> ToolSpec:
        """Read the form that a manifest holds; unknown keys, of a newer builder, are ignored.

        Raises:
            ValueError: When a value is of the wrong kind; the message names the key.
        """
        name = data.get("name")
        if not isinstance(name, str) or not name:
            raise ValueError("a tool needs a name")
        if not isinstance(data.get("parameters", {}), Mapping):
            raise ValueError(f"{name}: parameters must be a JSON Schema object")
        try:
            return _read_spec(cls, name, data)
        except (TypeError, KeyError, AttributeError) as error:
            raise ValueError(f"{name}: {error}") from error


@dataclass(frozen=True, slots=True)
class RegisteredTool:
    """One entry of the registry: a tool's statement, and who brings it.

    Args:
        spec: What the manifest holds.
        plugin: Id of the plugin, or "core".
        kind: `tool`, `skill` or `mcp`.
        first_party: True for tools of plugins that Pegboard ships.
        metadata: Marks for family removal (`{"family": "mcp_docs"}`).
        name: The name offered to a model; "" when a clash took it and only the canonical name
            works.
    """

    spec: ToolSpec
    plugin: str
    kind: ToolKind = "tool"
    first_party: bool = False
    metadata: Mapping[str, str] = field(default_factory=dict)
    name: str = ""

    @property
    def canonical(self) -> str:
        """`plugin:tool`, unique by construction."""
        return f"{self.plugin}:{self.spec.name}"

    @property
    def wire_name(self) -> str:
        """The name a model calls: the short one, else `plugin__tool`."""
        return self.name or f"{self.plugin.replace('-', '_')}__{self.spec.name}"


@runtime_checkable
class Tool(Protocol):
    """Something that can be called.

    `available(context)` is optional: a method that returns None, or the reason why the tool can't
    work now.
    """

    spec: ToolSpec

    async def __call__(self, ctx: ToolContext, args: Mapping[str, Any]) -> ToolResult:
        """Do the work with validated arguments.

        Raises:
            ToolFailure: When the job can't be done.
        """
        ...


def _help_dict(value: ToolHelp) -> dict[str, Any]:
    data = {
        "when_to_use": value.when_to_use,
        "examples": list(value.examples),
        "failure_modes": list(value.failure_modes),
    }
    return {key: item for key, item in data.items() if item}


def _intent_dict(value: Intent) -> dict[str, Any]:
    return {
        "pattern": value.pattern,
        **({"arguments": dict(value.arguments)} if value.arguments else {}),
    }


def _limits_dict(value: OutputLimits) -> dict[str, Any]:
    return {"chars": value.chars, "lines": value.lines, "keep": value.keep}


def _read_spec(cls: type[ToolSpec], name: str, data: Mapping[str, Any]) -> ToolSpec:
    help_data = data.get("help", {})
    if data.get("exposure", "direct") not in EXPOSURES:
        raise ValueError(f"{name}: exposure must be one of {', '.join(EXPOSURES)}")
    if data.get("policy_class") not in (None, *POLICY_CLASSES):
        raise ValueError(f"{name}: policy_class must be one of {', '.join(POLICY_CLASSES)}")
    if data.get("audience", "any") not in ("any", "owner"):
        raise ValueError(f"{name}: audience must be any or owner")
    if data.get("control") not in (None, *CONTROL_AREAS):
        raise ValueError(f"{name}: control must be one of {', '.join(CONTROL_AREAS)}")
    if data.get("capability") not in (None, *CAPABILITIES):
        raise ValueError(f"{name}: capability must be one of {', '.join(CAPABILITIES)}")
    declared = data.get("effects")
    return cls(
        name=name,
        description=data.get("description", ""),
        parameters=data.get("parameters", {"type": "object", "properties": {}}),
        help=ToolHelp(
            help_data.get("when_to_use", ""),
            tuple(help_data.get("examples", ())),
            tuple(help_data.get("failure_modes", ())),
        ),
        category=data.get("category", "general"),
        aliases=tuple(data.get("aliases", ())),
        intents=tuple(
            Intent(item["pattern"], item.get("arguments", {})) for item in data.get("intents", ())
        ),
        effects=None if declared is None else effects(declared),
        effects_by=EffectsBy.from_dict(data["effects_by"]) if data.get("effects_by") else None,
        access=dict(data.get("access", {})),
        path_patterns=dict(data.get("path_patterns", {})),
        remarks=tuple(data.get("remarks", ())),
        freeform=data.get("freeform", ""),
        shell=tuple(data.get("shell", ())),
        argument_aliases=dict(data.get("argument_aliases", {})),
        audience=data.get("audience", "any"),
        attended=data.get("attended"),
        capability=data.get("capability"),
        control=data.get("control"),
        policy_class=data.get("policy_class"),
        exposure=data.get("exposure", "direct"),
        needs=Needs.from_dict(data.get("needs", {})),
        on_interrupt=data.get("on_interrupt"),
        limits=OutputLimits(**data["limits"]) if data.get("limits") else DEFAULT_LIMITS,
        timeout_s=float(data.get("timeout_s", DEFAULT_TIMEOUT_S)),
        outside=data.get("outside"),
        convert=bool(data.get("convert", False)),
    )
