"""What a tool's statement means for policy: its class, and the effects of one call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Final

from pegboard.contracts.effects import (
    ALL_EFFECTS,
    POLICY_CLASSES,
    Effect,
    Effects,
    PolicyClass,
    Trust,
)
from pegboard.contracts.tool import RegisteredTool, ToolSpec

_CLASS_OF: Final[Mapping[Effect, PolicyClass]] = {
    "read": "read_only",
    "fs_write": "read_write",
    "state_write": "read_write",
    "exec": "exec",
    "net_read": "network",
    "net_write": "external_api",
    "gui": "gui_control",
}
_RANK: Final[Mapping[PolicyClass, int]] = {name: rank for rank, name in enumerate(POLICY_CLASSES)}
_MOST_DANGEROUS: Final[PolicyClass] = POLICY_CLASSES[-1]
_ALL_CLASSES: Final[frozenset[PolicyClass]] = frozenset(POLICY_CLASSES)
_GUEST_CLASSES: Final[frozenset[PolicyClass]] = frozenset({"read_only"})


def later(one: PolicyClass, other: PolicyClass) -> PolicyClass:
    """Return the stricter of two classes."""
    return max(one, other, key=_RANK.__getitem__)


@lru_cache(maxsize=256)
def effects_to_class(effects: Effects | None) -> PolicyClass:
    """Return the class of a set of effects: that of its most dangerous member.

    Unknown effects are the most dangerous. A tool that declares no effect at all only reads.
    """
    if effects is None:
        return _MOST_DANGEROUS
    return max(
        (_CLASS_OF[effect] for effect in effects), key=_RANK.__getitem__, default="read_only"
    )


def tool_class(tool: RegisteredTool, effects: Effects | None = None) -> PolicyClass:
    """Return the class that a tool, or one call of it, counts as.

    A first-party tool may declare any class, a third party only one that is stricter than what its
    effects say. A tool of an MCP server calls an external service unless it is declared otherwise.

    Args:
        tool: The tool.
        effects: Effects of one call; None = those that the tool declares.
    """
    spec = tool.spec
    derived = effects_to_class(spec.effects if effects is None else effects)
    if tool.kind == "mcp":
        derived = "external_api"
    declared = spec.policy_class
    if declared is None:
        return derived
    return declared if tool.first_party else later(declared, derived)


def possible_classes(tool: RegisteredTool) -> tuple[PolicyClass, ...]:
    """Return the classes that calls of the tool can have, the mildest first.

    There is more than one only where effects depend on an argument.
    """
    table, declared = tool.spec.effects_by, tool.spec.effects
    whole = tool_class(tool)
    if table is None or declared is None:
        return (whole,)
    classes = {tool_class(tool, effects & declared) for effects in table.values.values()}
    return tuple(sorted({whole, *classes}, key=_RANK.__getitem__))


def call_effects(spec: ToolSpec, arguments: Mapping[str, Any] | None = None) -> Effects:
    """Return the effects of one call: at most those declared, fewer where an argument decides.

    Args:
        spec: The tool's statement.
        arguments: Validated arguments; None = any call.
    """
    declared = ALL_EFFECTS if spec.effects is None else spec.effects
    table = spec.effects_by
    if table is None or arguments is None:
        return declared
    value = arguments.get(table.argument)
    found = table.values.get(value) if isinstance(value, str) else None
    return declared if found is None else declared & found


def allowed_effects(classes: Iterable[PolicyClass]) -> Effects:
    """Return the effects that a run with these classes may have."""
    allowed = frozenset(classes)
    return frozenset(effect for effect, name in _CLASS_OF.items() if name in allowed)


def resolve_policy(
    trust: Trust | None,
    allow: Iterable[PolicyClass] | None = None,
    deny: Iterable[PolicyClass] = (),
) -> frozenset[PolicyClass]:
    """Return the classes that a trust level may use: its defaults, narrowed.

    Args:
        trust: `operator` or `guest`; anything else counts as `guest`.
        allow: Classes to keep; None = all that the trust has.
        deny: Classes to take away.
    """
    classes = _ALL_CLASSES if trust == "operator" else _GUEST_CLASSES
    if allow is not None:
        classes = classes & frozenset(allow)
    return classes - frozenset(deny)
