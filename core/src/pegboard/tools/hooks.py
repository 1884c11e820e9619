"""The behaviour hooks as far as calls need them."""

from __future__ import annotations

from typing import Any, Protocol

from pegboard.contracts.verdict import Ask, Deny


class Hooks(Protocol):
    """Who takes part in calls; the plugins' hook table fits."""

    def wants(self, hook: str, event_type: str = "") -> bool:
        """Tell whether anybody implements the hook (for that event type)."""
        ...

    async def observe(self, event: Any) -> None:
        """Tell every observer; nothing is raised."""
        ...

    async def transform(self, hook: str, event: Any) -> Any:
        """Return the event after all implementations."""
        ...

    async def guard(self, hook: str, event: Any) -> Ask | Deny | None:
        """Return the strictest answer of all guards."""
        ...


class NoHooks:
    """Nobody takes part."""

    def wants(self, hook: str, event_type: str = "") -> bool:
        """Return False."""
        return False

    async def observe(self, event: Any) -> None:
        """Do nothing."""

    async def transform(self, hook: str, event: Any) -> Any:
        """Return the event as it is."""
        return event

    async def guard(self, hook: str, event: Any) -> Ask | Deny | None:
        """Return None."""
        return None
