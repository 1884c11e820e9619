"""Sums of what was spent, by day, model, conversation or plugin. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from pegboard.contracts.spending import Spending

Cost = Callable[[Spending], float | None]
HOST: Final = "(the host itself)"
UNNAMED: Final = "(not named)"


@dataclass(slots=True)
class Sum:
    """What was spent under one name.

    Args:
        name: The day, model, conversation or plugin.
        requests: Model calls.
        input: Tokens read.
        output: Tokens written.
        cached: Those of the input that came from a cache.
        cost: US dollars of those whose price is known.
        unpriced: Model calls whose price is not known.
    """

    name: str
    requests: int = 0
    input: int = 0
    output: int = 0
    cached: int = 0
    cost: float = 0.0
    unpriced: int = 0

    def add(self, item: Spending, cost: float | None) -> None:
        """Count one model call; one that used nothing (it failed) has no price to know."""
        self.requests += 1
        self.input += item.input
        self.output += item.output
        self.cached += item.cached
        self.cost += cost or 0.0
        self.unpriced += cost is None and item.input + item.output > 0

    def to_dict(self) -> dict[str, Any]:
        """Return the sum as `--json` shows it; `cost` is null where no price is known."""
        return {
            "name": self.name,
            "requests": self.requests,
            "input": self.input,
            "output": self.output,
            "cached": self.cached,
            "cost": None if self.cost_unknown else round(self.cost, 6),
            "unpriced": self.unpriced,
        }

    @property
    def cost_unknown(self) -> bool:
        """True when there were calls to pay for and the price of none is known."""
        return self.unpriced > 0 and self.cost == 0.0

    def cost_text(self) -> str:
        """Return the cost for people; what is unknown is said."""
        if self.cost_unknown:
            return "unknown"
        if not (self.cost or self.unpriced) and self.input + self.output > 0:
            return "free"
        known = f"${self.cost:,.4f}"
        return f"{known} and {self.unpriced} unknown" if self.unpriced else known


def day_of(item: Spending) -> str:
    """Return the day of this machine's time zone."""
    return datetime.fromtimestamp(item.at).astimezone().strftime("%Y-%m-%d")


BY: Final[dict[str, Callable[[Spending], str]]] = {
    "day": day_of,
    "model": lambda item: f"{item.provider}/{item.model or UNNAMED}",
    "conversation": lambda item: item.key or HOST,
    "plugin": lambda item: item.plugin or HOST,
    "agent": lambda item: item.agent,
    "sender": lambda item: item.sender or HOST,
}


def sums(spent: Iterable[Spending], by: str, cost: Cost) -> list[Sum]:
    """Return one sum for each name: days in order, all else with the most tokens first.

    Args:
        spent: The model calls.
        by: A key of `BY`.
        cost: Returns the cost of a call, or None.
    """
    found: dict[str, Sum] = {}
    for item in spent:
        name = BY[by](item)
        found.setdefault(name, Sum(name)).add(item, cost(item))
    if by == "day":
        return sorted(found.values(), key=lambda item: item.name)
    return sorted(found.values(), key=lambda item: (-item.input - item.output, item.name))


def total(spent: Iterable[Spending], cost: Cost) -> Sum:
    """Return the sum of all."""
    whole = Sum("total")
    for item in spent:
        whole.add(item, cost(item))
    return whole
