"""What a tool call changes or reaches, and the policy classes derived from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, get_args

Effect = Literal["read", "fs_write", "exec", "net_read", "net_write", "state_write", "gui"]
PolicyClass = Literal["read_only", "read_write", "exec", "network", "external_api", "gui_control"]
Trust = Literal["operator", "guest"]
Audience = Literal["any", "owner"]
Exposure = Literal["direct", "model_only", "codemode", "deferred", "hidden"]
OnInterrupt = Literal["rerun", "tell", "reconcile"]
ToolKind = Literal["tool", "skill", "mcp"]

EFFECTS: Final[tuple[Effect, ...]] = get_args(Effect)
POLICY_CLASSES: Final[tuple[PolicyClass, ...]] = get_args(PolicyClass)
"""Ordered from least to most dangerous; a later class is a stricter one."""
EXPOSURES: Final[tuple[Exposure, ...]] = get_args(Exposure)

Effects = frozenset[Effect]
ALL_EFFECTS: Final[Effects] = frozenset(EFFECTS)


@dataclass(frozen=True, slots=True)
class EffectsBy:
    """Effects that depend on one argument, e.g. a browser's `action`.

    Args:
        argument: Name of the argument that decides.
        values: Effects for each value of that argument. A value that is not listed has every effect
            the tool declares.
    """

    argument: str
    values: Mapping[str, Effects]

    def to_dict(self) -> dict[str, Any]:
        """Return the form that a manifest holds."""
        return {self.argument: {value: sorted(effects) for value, effects in self.values.items()}}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> EffectsBy:
        """Read the form that a manifest holds: one argument name and its table of values.

        Raises:
            ValueError: When there is not exactly one argument, or an effect is unknown.
        """
        if len(data) != 1:
            raise ValueError("effects_by takes exactly one argument name")
        ((argument, table),) = data.items()
        return cls(argument, {value: effects(names) for value, names in table.items()})


def effects(names: object) -> Effects:
    """Return `names` as a set of effects.

    Raises:
        ValueError: When a name is no effect; the message lists those that exist.
    """
    if isinstance(names, str) or not hasattr(names, "__iter__"):
        raise ValueError(f"effects must be a set of names, got {names!r}")
    found = frozenset(names)
    unknown = sorted(str(name) for name in found if name not in EFFECTS)
    if unknown:
        raise ValueError(f"unknown effect {', '.join(unknown)}; effects are: {', '.join(EFFECTS)}")
    return found


@dataclass(frozen=True, slots=True)
class Access:
    """One resource that a call touches: `("fs_write", "/srv/notes/today.md")`.

    Two calls of one step conflict when they share a resource and either of them writes.

    Args:
        effect: What the call does to it.
        resource: Absolute path, or "" when nothing is known of it.
        argument: Name of the argument that names it, or "".
        leads_to: Where the path really is, when a link is on the way; "" = there, or nobody looked.
    """

    effect: Effect
    resource: str
    argument: str = field(default="", compare=False)
    leads_to: str = field(default="", compare=False)
