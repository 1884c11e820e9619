"""Which provider answers where nobody names one, and what the others lack. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from pegboard.config.instances import Instance
from pegboard.config.secrets import ENV
from pegboard.contracts.errors import ConfigError

OFFLINE: Final = "offline"
"""The type without a model: taken when there is no other."""


class Standing(NamedTuple):
    """How one provider stands.

    Args:
        instance: The provider.
        is_configured: True when it has settings, so that somebody wants it.
        missing: Names of its secrets that are not set.
    """

    instance: Instance
    is_configured: bool
    missing: tuple[str, ...]

    @property
    def name(self) -> str:
        """Its instance name."""
        return self.instance.name

    @property
    def usable(self) -> bool:
        """True when it may be taken: one that was only installed needs what it asks for."""
        return self.is_configured or not self.missing

    @property
    def reason(self) -> str:
        """Why it can answer."""
        if self.is_configured:
            return f"[providers.{self.name}] sets it up"
        keys = sorted(self.instance.secrets)
        if keys:
            return f"its key {' and '.join(keys)} is set"
        if self.instance.type == OFFLINE:
            return "there is no other"
        return "it is installed and needs no key"

    @property
    def rank(self) -> tuple[bool, bool, bool, str]:
        """What orders providers: settings first, then a key, then what needs none; offline last."""
        return (
            self.instance.type == OFFLINE,
            not self.is_configured,
            not (self.is_configured or self.instance.secrets),
            self.name,
        )


def standings(
    instances: Iterable[Instance], providers: Mapping[str, Any], has_secret: Callable[[str], bool]
) -> list[Standing]:
    """Return how providers stand, those first that are taken first.

    Args:
        instances: The providers.
        providers: The section `[providers]` of the settings.
        has_secret: Says whether a secret is set.
    """
    found = []
    for item in instances:
        try:
            missing = tuple(name for name in sorted(item.secrets) if not has_secret(name))
        except ConfigError:
            missing = tuple(sorted(item.secrets))  # the file of secrets is broken
        is_configured = bool(providers.get(item.name))
        found.append(Standing(item, is_configured, missing))
    return sorted(found, key=lambda item: (not item.usable, item.rank))


def chosen(found: Sequence[Standing]) -> Standing | None:
    """Return who answers where nobody names one, of providers in order; None = nobody can."""
    return next((item for item in found if item.usable), None)


def announcement(found: Sequence[Standing]) -> str | None:
    """Return what a person is told about who answers, where they did not choose it; else None.

    Args:
        found: The providers, in order.
    """
    first = chosen(found)
    if first is None or first.instance.type == OFFLINE:
        return None
    rivals = [item.name for item in found if item.usable and item.rank[:-1] == first.rank[:-1]]
    if first.is_configured and len(rivals) == 1:
        return None
    others = ", ".join(rivals[1:])
    before = f", and its name comes before {others}" if others else ""
    return (
        f"{first.name} answers, because {first.reason}{before}. "
        f"To choose for good: pegboard config set agent.provider {first.name}"
    )


def how_to_set(secret: str) -> str:
    """Return the shortest way to set a key: a variable of the environment."""
    name = secret.removeprefix(ENV)
    variable = name if name != secret else name.replace("-", "_").replace(".", "_").upper()
    return f"export {variable}=..."
