"""Holds the operator's budgets against what is in the store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

import anyio.to_thread

from pegboard.contracts.caller import Caller
from pegboard.contracts.clock import Clock
from pegboard.contracts.spending import Spending
from pegboard.policy.budgets import (
    BudgetSettings,
    Scope,
    Used,
    last_asked,
    spent_out,
    unpriced,
)
from pegboard.policy.spend_limits import DAY_S
from pegboard.providers.prices import Prices

_ALL: Final = 0.0


class Spent(Protocol):
    """What is needed of a `Store`."""

    async def spent(self, *, since: float, **of: str) -> Sequence[Spending]:
        """Return what was spent since a time."""
        ...


class Budgets:
    """Stops a run before it asks a model beyond a budget.

    Args:
        settings: The budgets.
        ledger: Where spending is kept.
        clock: Time.
        prices: What model calls cost.
    """

    def __init__(
        self, settings: BudgetSettings, ledger: Spent, clock: Clock, prices: Prices
    ) -> None:
        self._settings = settings
        self._ledger = ledger
        self._clock = clock
        self._prices = prices

    async def admit(
        self, caller: Caller, turn: str, conversation: str, provider: str = "", model: str = ""
    ) -> None:
        """Let a run ask a model once more.

        Args:
            caller: Whom it acts for.
            turn: Id of the turn, or "".
            conversation: Key of the conversation, or "".
            provider: Who is asked.
            model: The model; "" = the provider's default.

        Raises:
            BudgetError: When a budget is used up, or can't be held.
            StoreError: When what was spent can't be read.
        """
        disclosed = caller.trust == "operator"
        for scope in self._settings.scopes:
            narrows = {"run": ("turn", turn), "conversation": ("key", conversation)}.get(scope)
            if narrows is not None and not narrows[1]:
                continue
            used = await self._used(scope, dict([narrows]) if narrows else {})
            error = spent_out(self._settings, scope, used, disclosed=disclosed)
            if error is not None:
                raise error
        if self._settings.money is not None and self._settings.unpriced == "stop":
            await self._priced(provider, model, disclosed)

    async def _priced(self, provider: str, model: str, disclosed: bool) -> None:
        """Raise `BudgetError` where nobody knows what the model costs that is about to be asked."""
        asked = self._prices.asked(provider, model)
        if asked:
            # in a thread: the first time it reads the prices of all vendors
            unknown = await anyio.to_thread.run_sync(self._prices.is_unknown, provider, asked)
        else:
            last = last_asked(await self._used("day", {}), provider)
            asked, unknown = (last.model, last.cost is None) if last else ("", False)
        if not unknown:
            return
        may_be_free = self._prices.may_be_free(provider)
        error = unpriced(
            self._settings, provider, asked, disclosed=disclosed, may_be_free=may_be_free
        )
        if error is not None:
            raise error

    async def _used(self, scope: Scope, of: dict[str, str]) -> list[Used]:
        since = self._clock.now() - DAY_S if scope == "day" else _ALL
        spent = await self._ledger.spent(since=since, **of)
        return [
            Used(item.provider, item.model, item.input + item.output, self._prices.known(item))
            for item in spent
        ]
