"""One provider of a route, and one request that was made of it."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from pegboard.contracts.provider import ModelCaps, Provider, Usage
from pegboard.plugins.building.isolation import is_plugin_fault

_log = logging.getLogger(__name__)

Correct = Callable[[str, ModelCaps], ModelCaps]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hop:
    """One provider of a route.

    Args:
        name: Instance name.
        provider: The provider.
        model: Model to ask; "" = the provider's default.
        correct: `correct(model, caps)` returns what the operator knows better, or None.
    """

    name: str
    provider: Provider
    model: str = ""
    correct: Correct | None = None

    @property
    def title(self) -> str:
        """The provider's name for people."""
        return self.provider.info.title or self.name

    @property
    def label(self) -> str:
        """The provider's name where several are told apart."""
        known = self.name.lower() in (self.provider.info.id.lower(), self.title.lower())
        return self.title if known else f"{self.title} ({self.name})"

    async def opened(self) -> Hop:
        """Return this one."""
        return self

    def capabilities(self, model: str) -> ModelCaps:
        """Return what `model` can take; the usual when the provider fails to say."""
        try:
            caps = self.provider.capabilities(model)
        except BaseException as error:
            if not is_plugin_fault(error):
                raise
            _log.info("provider %s can't tell its capabilities", self.name, exc_info=error)
            caps = ModelCaps()
        return caps if self.correct is None else self.correct(model, caps)


@dataclass(frozen=True, slots=True, kw_only=True)
class LateHop:
    """A provider of a route that is made only when the others before it fail.

    Args:
        name: Instance name.
        make: Returns the provider; raises `PegboardError` when it can't be used.
        model: Model to ask; "" = the provider's default.
        correct: As that of `Hop`.
    """

    name: str
    make: Callable[[], Awaitable[Provider]]
    model: str = ""
    correct: Correct | None = None

    @property
    def label(self) -> str:
        """The provider's name, as far as it is known before it is made."""
        return self.name

    async def opened(self) -> Hop:
        """Return it as a provider that can be asked.

        Raises:
            PegboardError: When it can't be used.
        """
        return Hop(
            name=self.name, provider=await self.make(), model=self.model, correct=self.correct
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAttempt:
    """One request that was made, for observers. `error` is the kind of failure, or None."""

    hop: Hop
    model: str
    usage: Usage
    duration_ms: float
    error: str | None


OnAttempt = Callable[[ModelAttempt], Awaitable[None]]
Admit = Callable[[str, str], Awaitable[None]]
"""`await admit(provider, model)` before each request; raises `BudgetError` when it may not be made.

`model` is "" for the provider's default.
"""
