"""What one run, one conversation and one day may cost, whoever asks. Pure."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final, Literal, NamedTuple

from pegboard.config.keys import join_key
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

    What a call without a known price cost is in no sum, so it stops no model whose price is known;
    that there was such a call is said.

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
    cost = sum(item.cost or 0.0 for item in used)
    if dollars and cost >= dollars:
        key = f"budgets.cost_per_{scope}"
        amount = f"${dollars:,.2f} (${cost:,.2f} used{_unknown(used)})"
        return _told(
            scope, amount, f"pegboard config set {key} {math.ceil(2 * cost)}", key, disclosed
        )
    return None


def unpriced(
    settings: BudgetSettings,
    provider: str,
    model: str,
    *,
    disclosed: bool,
    may_be_free: bool = False,
) -> BudgetError | None:
    """Return why a model whose price nobody knows may not be asked, or None when it may.

    Args:
        settings: The budgets.
        provider: Instance name of the provider.
        model: The model.
        disclosed: As for `spent_out`.
        may_be_free: True when a server of this machine is asked, which may run the model itself.
    """
    scope = settings.money
    if scope is None or settings.unpriced != "stop":
        return None
    key = f"budgets.cost_per_{scope}"
    if not disclosed:
        text = "What this model costs is not known, so it is not asked."
        return BudgetError(text, budget=key, unpriced=True)
    name = f"{provider}/{model}"
    # a server may have named the model, and somebody is to paste this
    priced = f"pegboard config set {shlex.quote(join_key(['models', name, 'price']))}"
    fix = (
        f"{priced} '{{input = 1.0, output = 4.0}}', in dollars for a million tokens; or: "
        "pegboard config set budgets.unpriced allow"
    )
    if may_be_free:
        fix = f"where it runs on this machine: {priced} '{{input = 0, output = 0}}'; else: {fix}"
    return BudgetError(
        f"{key} can't be held: nobody says what the model {name} costs.",
        fix=fix,
        budget=key,
        unpriced=True,
    )


def last_asked(used: Sequence[Used], provider: str) -> Used | None:
    """Return what a provider answered last: where it chooses the model, it does so again.

    Args:
        used: What was used, the oldest first.
        provider: Instance name.
    """
    own = (item for item in reversed(used) if item.provider == provider and item.tokens)
    return next(own, None)


def _told(scope: Scope, amount: str, fix: str, key: str, disclosed: bool) -> BudgetError:
    more = f": {amount}" if disclosed else ""
    return BudgetError(
        f"The budget of this {scope} is used up{more}."
        if scope != "day"
        else f"The budget of 24 hours is used up{more}.",
        fix=fix if disclosed else None,
        budget=key,
    )


def _unknown(used: Sequence[Used]) -> str:
    calls = sum(item.cost is None and item.tokens > 0 for item in used)
    return f", not counting {calls} of unknown price" if calls else ""
