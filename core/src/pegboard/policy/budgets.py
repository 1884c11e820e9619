"""What one run, one conversation and one day may cost, whoever asks. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final, Literal, NamedTuple

from pegboard.contracts.errors import BudgetError

Scope = Literal["run", "conversation", "day"]
SCOPES: Final[tuple[Scope, ...]] = ("run", "conversation", "day")


class Used(NamedTuple):
    """What one model call used.

    Args:
        provider: Instance name of the provider.
        model: The model.
        tokens: Those read and those written.
        cost: In US dollars; None = unknown.
    """

    provider: str
    model: str
    tokens: int
    cost: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetSettings:
    """The operator's budgets; 0 = none.

    Args:
        tokens_per_run, tokens_per_conversation, tokens_per_day: Tokens read and written. A run is a
            turn with all that it starts; a day is the last 24 hours.
        cost_per_run, cost_per_conversation, cost_per_day: US dollars.
        unpriced: What a budget of money does about a model whose price nobody knows.
    """

    tokens_per_run: int = 0
    tokens_per_conversation: int = 0
    tokens_per_day: int = 0
    cost_per_run: float = 0.0
    cost_per_conversation: float = 0.0
    cost_per_day: float = 0.0
    unpriced: Literal["stop", "allow"] = "stop"

    @classmethod
    def from_settings(cls, budgets: Mapping[str, Any]) -> BudgetSettings:
        """Read the section `[budgets]` of the configuration."""
        names = [item.name for item in fields(cls)]
        return cls(**{name: budgets[name] for name in names if name in budgets})

    def of(self, scope: Scope) -> tuple[int, float]:
        """Return the tokens and the dollars of a scope; 0 = no budget."""
        return getattr(self, f"tokens_per_{scope}"), getattr(self, f"cost_per_{scope}")

    @property
    def scopes(self) -> tuple[Scope, ...]:
        """Those that have a budget."""
        return tuple(scope for scope in SCOPES if any(self.of(scope)))

    @property
    def money(self) -> Scope | None:
        """The first that has a budget in dollars."""
        return next((scope for scope in SCOPES if self.of(scope)[1]), None)


def spent_out(
    settings: BudgetSettings, scope: Scope, used: Sequence[Used], *, disclosed: bool
) -> BudgetError | None:
    """Return why nothing more may be asked in a scope, or None.

    Args:
        settings: The budgets.
        scope: Which of them.
        used: What was used in it.
        disclosed: True when who reads it may know amounts and settings; a guest may not.
    """
    tokens, dollars = settings.of(scope)
    total = sum(item.tokens for item in used)
    if tokens and total >= tokens:
        key = f"budgets.tokens_per_{scope}"
        amount = f"{tokens:,} tokens ({total:,} used)"
        return _told(scope, amount, f"pegboard config set {key} {2 * total}", key, disclosed)
    if not dollars:
        return None
    unknown = [item for item in used if item.cost is None and item.tokens]
    if unknown and settings.unpriced == "stop":
        return _unpriced(scope, unknown[-1], disclosed)
    cost = sum(item.cost or 0.0 for item in used)
    if cost >= dollars:
        key = f"budgets.cost_per_{scope}"
        amount = f"${dollars:,.2f} (${cost:,.2f} used)"
        return _told(
            scope, amount, f"pegboard config set {key} {math.ceil(2 * cost)}", key, disclosed
        )
    return None


def unpriced(
    settings: BudgetSettings, provider: str, model: str, *, disclosed: bool
) -> BudgetError | None:
    """Return why a model whose price nobody knows may not be asked, or None when it may.

    Args:
        settings: The budgets.
        provider: Instance name of the provider.
        model: The model.
        disclosed: As for `spent_out`.
    """
    scope = settings.money
    if scope is None or settings.unpriced != "stop":
        return None
    return _unpriced(scope, Used(provider, model, 0, None), disclosed)


def _told(scope: Scope, amount: str, fix: str, key: str, disclosed: bool) -> BudgetError:
    more = f": {amount}" if disclosed else ""
    return BudgetError(
        f"The budget of this {scope} is used up{more}."
        if scope != "day"
        else f"The budget of 24 hours is used up{more}.",
        fix=fix if disclosed else None,
        budget=key,
    )


def _unpriced(scope: Scope, used: Used, disclosed: bool) -> BudgetError:
    key = f"budgets.cost_per_{scope}"
    if not disclosed:
        return BudgetError("What this model costs is not known, so it is not asked.", budget=key)
    model = f"{used.provider}/{used.model}"
    return BudgetError(
        f"{key} can't be held: nobody says what the model {model} costs.",
        fix=f"pegboard config set 'models.\"{model}\".price' '{{input = 1.0, output = 4.0}}', in "
        "dollars for a million tokens; or: pegboard config set budgets.unpriced allow",
        budget=key,
    )
