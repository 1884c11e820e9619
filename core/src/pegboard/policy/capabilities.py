"""The one test of a capability: membership, with no wildcard and nothing implied."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from pegboard.contracts.capability import CAPABILITIES, Capability
from pegboard.contracts.errors import CapabilityDeniedError

SPAWN: Final[Capability] = "orch:spawn"
"""To start further runs."""

BINDING: Final[frozenset[Capability]] = frozenset(
    {"orch:spawn", "orch:graph", "orch:cron", "orch:message", "orch:browse"}
)
"""Those that every call needs. The others bind scripts only: trust and class bind a model."""

ON_REQUEST: Final[frozenset[Capability]] = frozenset({"orch:browse"})
"""Those that no profile gives by itself."""

STANDARD: Final[frozenset[Capability]] = frozenset(CAPABILITIES) - ON_REQUEST


def check_capability(held: Collection[Capability] | None, capability: str) -> bool:
    """Tell whether a set of capabilities holds one; absent = it holds none."""
    return held is not None and capability in held


def require_capability(
    held: Collection[Capability] | None, capability: Capability, *, what: str = "This"
) -> None:
    """Refuse an action whose capability is not held.

    Args:
        held: What the run holds.
        capability: What the action needs.
        what: The action, as the beginning of a sentence.

    Raises:
        CapabilityDeniedError: When `held` lacks it.
    """
    if check_capability(held, capability):
        return
    raise CapabilityDeniedError(
        f"{what} needs the capability {capability}, which this run does not hold.",
        fix=capability_fix(capability),
        capability=capability,
    )


def capability_fix(capability: str) -> str:
    """Return the line of config.toml that gives a capability to the agent."""
    if capability in ON_REQUEST:
        return "Set browse = true in the section [autonomy] of config.toml."
    return 'Set profile = "standard" in the section [autonomy] of config.toml.'
