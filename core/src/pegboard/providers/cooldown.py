"""Which providers failed a short while ago, so that others are asked first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pegboard.contracts.clock import Clock
from pegboard.contracts.provider import ErrorKind, ProviderError
from pegboard.providers.retry import cooldown_s, scope_of

LONGEST_S: Final = 86_400.0
"""A limit that is said to hold longer is looked at once a day."""


@dataclass(frozen=True, slots=True)
class Cooling:
    """Why a provider is asked after the others.

    Args:
        kind: How it failed.
        left_s: Seconds that this still counts.
    """

    kind: ErrorKind
    left_s: float


class Cooldowns:
    """Failures of providers that all runs of a host know of.

    A failure counts for one model or for all of its provider, by its scope. It is kept in memory
    only: a host that was started again asks everybody anew.

    Args:
        clock: Time.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._until: dict[tuple[str, str | None], tuple[float, ErrorKind]] = {}

    def failed(self, provider: str, model: str, error: ProviderError) -> None:
        """Take in a failure.

        Args:
            provider: Instance name.
            model: The model that was asked; "" = its default.
            error: How it failed.
        """
        wait = min(cooldown_s(error, self._clock.now()), LONGEST_S)
        if wait > 0:
            about = None if scope_of(error) == "provider" else model
            self._until[provider, about] = (self._clock.monotonic() + wait, error.kind)

    def answered(self, provider: str, model: str) -> None:
        """Take in that a model answered: whatever was wrong with it is over."""
        self._until.pop((provider, None), None)
        self._until.pop((provider, model), None)

    def of(self, provider: str, model: str) -> Cooling | None:
        """Return why a model is asked after the others, or None."""
        now = self._clock.monotonic()
        found = [self._until.get((provider, about)) for about in (None, model)]
        cooling = [Cooling(kind, until - now) for until, kind in filter(None, found) if until > now]
        return max(cooling, key=lambda item: item.left_s, default=None)

    def forget(self) -> None:
        """Forget all failures: what was wrong may have been mended."""
        self._until.clear()
