"""Which providers failed a short while ago, so that others are asked first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from pegboard.contracts.clock import Clock
from pegboard.contracts.provider import ErrorKind, ProviderError
from pegboard.providers.retry import cooldown_s, scope_of, wait_s

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


class _Failed(NamedTuple):
    """A failure: until when it counts, how, and when it was; times of the monotonic clock."""

    until: float
    kind: ErrorKind
    at: float


class Cooldowns:
    """Failures of providers that all runs of a host know of.

    A failure counts for one model or for all of its provider, by its scope. It is kept in memory
    only: a host that was started again asks everybody anew.

    Args:
        clock: Time.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._until: dict[tuple[str, str | None], _Failed] = {}

    def failed(self, provider: str, model: str, error: ProviderError) -> None:
        """Take in a failure.

        Where it does not say for how long it holds, it ends no earlier than what another run was
        told of the same.

        Args:
            provider: Instance name.
            model: The model that was asked; "" = its default.
            error: How it failed.
        """
        now = self._clock.now()
        wait = min(cooldown_s(error, now), LONGEST_S)
        if wait <= 0:
            return
        about = None if scope_of(error) == "provider" else model
        at = self._clock.monotonic()
        made = _Failed(at + wait, error.kind, at)
        known = self._until.get((provider, about), made)
        if wait_s(error, now) is None and known.until > made.until:
            return
        self._until[provider, about] = made

    def answered(self, provider: str, model: str, *, asked: float) -> None:
        """Take in that a model answered: whatever was wrong with it before it was asked is over.

        Args:
            provider: Instance name.
            model: The model that was asked; "" = its default.
            asked: When, in seconds of the monotonic clock; what failed since then is news.
        """
        for about in (None, model):
            known = self._until.get((provider, about))
            if known is not None and known.at <= asked:
                del self._until[provider, about]

    def of(self, provider: str, model: str) -> Cooling | None:
        """Return why a model is asked after the others, or None."""
        now = self._clock.monotonic()
        found = [self._until.get((provider, about)) for about in (None, model)]
        cooling = [
            Cooling(item.kind, item.until - now) for item in filter(None, found) if item.until > now
        ]
        return max(cooling, key=lambda item: item.left_s, default=None)

    def forget(self) -> None:
        """Forget all failures: what was wrong may have been mended."""
        self._until.clear()
