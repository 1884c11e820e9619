"""The way of one request through a route: who is asked next, who failed, what is told of that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from pegboard.contracts.errors import PegboardError
from pegboard.contracts.provider import Notice, ProviderError
from pegboard.providers.cooldown import Cooling
from pegboard.providers.hop import Hop
from pegboard.providers.retry import LIMITS, span, wait_s


@dataclass(slots=True)
class Walk:
    """Who is still to be asked, and how those failed that were.

    Args:
        plan: Places of the route that are still to be asked, in order.
        failures: What went wrong, in order.
        floor: Window of the largest model for which the request was too long, in tokens.
        again: True when the same provider is asked once more.
        tries: How often it was asked and failed, before it is asked once more.
        waited: Seconds that were waited for it.
    """

    plan: list[int]
    failures: list[ProviderError] = field(default_factory=list)
    floor: int = 0
    again: bool = False
    tries: int = 0
    waited: float = 0.0
    _ends: list[str] = field(default_factory=list)
    _told: int = 0

    def tried_again(self, wait: float) -> None:
        """Take in that the same provider is asked once more, after a wait."""
        self.again = True
        self.tries += 1
        self.waited += wait

    def failed(self, hop: Hop, model: str, error: ProviderError) -> None:
        """Take in how a provider failed for good."""
        self.again, self.tries, self.waited = False, 0, 0.0
        self.failures.append(error)
        self._ends.append(f"{hop.label} failed ({error.kind})")
        if error.kind == "context_overflow":
            self.floor = max(self.floor, hop.capabilities(model).context)

    def unusable(self, name: str, error: PegboardError) -> None:
        """Take in that a provider could not even be asked, or not once more."""
        self.again, self.tries, self.waited = False, 0, 0.0
        self.failures.append(
            ProviderError(error.message, kind="not_found", fix=error.fix, provider=name)
        )
        self._ends.append(f"{name} can't be asked ({error.message.rstrip('.')})")

    def fits(self, hop: Hop) -> bool:
        """Tell whether a provider may take what was too long for others."""
        return not self.floor or hop.capabilities(hop.model).context > self.floor

    @property
    def partial(self) -> bool:
        """True when a part of an answer was shown by who failed last, so that it is taken back."""
        return any(error.started for error in self.failures[self._told :])

    def news(self, hop: Hop) -> Iterator[Notice]:
        """Yield what is to be told when a provider is asked in place of those that failed."""
        news, self._told = self._ends[self._told :], len(self._ends)
        if news:
            yield Notice("failover", f"{'; '.join(news)}; asking {hop.label} instead.")

    def error(self, now: float) -> ProviderError:
        """Return the one failure that stands for all.

        A request that was too long for somebody can be made shorter, so that comes first. Else it
        is the limit that is lifted first, else the last.

        Args:
            now: Seconds since the epoch.
        """
        failures = self.failures
        if len(failures) == 1:
            return failures[0]
        chosen = _chosen(failures, now)
        told = "; ".join(f"{error.details['provider']}: {error.message}" for error in failures)
        fixes = (error.fix for error in (chosen, *failures) if error.fix)
        error = ProviderError(
            f"No provider of the route answered. {told}",
            kind=chosen.kind,
            fix=next(fixes, None),
            status=chosen.status,
            retry_after=chosen.retry_after,
            reset_at=chosen.reset_at,
            started=failures[-1].started,
        )
        error.details.update(chosen.details)
        return error


def order(cooling: Sequence[Cooling | None], first: int | None = None) -> list[int]:
    """Return the places of a route in the order in which they are asked.

    Nobody is left out: those that failed a short while ago come after the others.

    Args:
        cooling: For each place, why it is asked after the others, or None.
        first: A place that comes first whatever else is known of it.
    """
    rest = [place for place in range(len(cooling)) if place != first]
    rest.sort(key=lambda place: cooling[place] is not None)
    return rest if first is None else [first, *rest]


def skipped(label: str, cooling: Cooling) -> Notice:
    """Return what is told of a provider that others are asked before."""
    return Notice(
        "skipped",
        f"{label} failed a short while ago ({cooling.kind}), so others are asked first for about "
        f"{span(cooling.left_s)}.",
    )


def _chosen(failures: Sequence[ProviderError], now: float) -> ProviderError:
    for error in failures:
        if error.kind == "context_overflow":
            return error
    limits = [
        (wait, place)
        for place, error in enumerate(failures)
        if error.kind in LIMITS and (wait := wait_s(error, now)) is not None
    ]
    return failures[min(limits)[1]] if limits else failures[-1]
