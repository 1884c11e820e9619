"""What senders and channels may use: turns are counted here, tokens and money in the store."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Final, Protocol, TypeVar

import anyio
import anyio.to_thread

from pegboard.contracts.audit import Audit
from pegboard.contracts.caller import Caller
from pegboard.contracts.channel import Channel
from pegboard.contracts.clock import Clock
from pegboard.contracts.errors import StoreError
from pegboard.contracts.message import InboundMessage
from pegboard.contracts.spending import Spending
from pegboard.conversations.key import ConversationKey
from pegboard.host.budgets import Budgets
from pegboard.plugins.building.isolation import one_line
from pegboard.policy.audit import audited
from pegboard.policy.budgets import BudgetSettings
from pegboard.policy.spend_limits import (
    DAY_S,
    HOUR_S,
    Bound,
    Exceeded,
    Held,
    SpendLimits,
    exceeded,
    sentence,
)
from pegboard.providers.model_settings import ModelTable
from pegboard.providers.prices import Prices
from pegboard.providers.route import ModelAttempt
from pegboard.turns.reply import ChannelReply

K = TypeVar("K")
V = TypeVar("V")

LOCAL: Final = "local"
"""The channel of the person at this machine, as ingress stamps it."""
_MOST: Final = 10_000
"""Senders that are remembered; beyond that the one that was heard of first is forgotten."""
_log = logging.getLogger(__name__)


class Ledger(Protocol):
    """What is needed of a `Store`."""

    async def spend(self, spending: Spending) -> None:
        """Keep what a model call cost."""
        ...

    async def spent(self, *, since: float, **of: str) -> Sequence[Spending]:
        """Return what was spent since a time."""
        ...


class Limits:
    """Holds the operator's limits against what was used.

    A guest's message beyond a limit is refused before it has a turn (`refusal`). An operator's has
    one and waits (`held`): nothing of theirs is lost. Each sender is told once for each time that a
    limit is used up.

    Args:
        limits: What the operator's configuration says.
        ledger: Where spending is kept.
        clock: Time.
        type_of: Returns the type of a channel by its instance name, or "".
        prices: What model calls cost.
        budgets: What runs, conversations and days may cost.
        plugin: Returns the plugin whose tool is running, or "".
        audit: Records what was refused or held; None = nobody does.
    """

    def __init__(
        self,
        limits: SpendLimits,
        ledger: Ledger,
        clock: Clock,
        *,
        type_of: Callable[[str], str],
        prices: Prices | None = None,
        budgets: BudgetSettings | None = None,
        plugin: Callable[[], str] = str,
        audit: Audit | None = None,
    ) -> None:
        self._limits = limits
        self._ledger = ledger
        self._clock = clock
        self._type_of = type_of
        self._prices = prices or Prices(ModelTable({}), {})
        self._budgets = Budgets(budgets or BudgetSettings(), ledger, clock, self._prices)
        self._plugin = plugin
        self._audit = audit
        self._begun: dict[Bound, list[float]] = {}
        self._told: dict[tuple[str, Bound, str], float] = {}
        self._passed: dict[str, None] = {}
        self._lock = anyio.Lock()

    def take(self, limits: SpendLimits, budgets: BudgetSettings, prices: Prices) -> None:
        """Go by other limits, budgets and prices from now on; what was used counts."""
        self._limits = limits
        self._prices = prices
        self._budgets = Budgets(budgets, self._ledger, self._clock, prices)

    async def admit(
        self, caller: Caller, turn: str, conversation: str, provider: str = "", model: str = ""
    ) -> None:
        """Let a run ask a model once more.

        Raises:
            BudgetError: When a budget is used up, or can't be held.
            StoreError: When what was spent can't be read.
        """
        await self._budgets.admit(caller, turn, conversation, provider, model)

    async def refusal(self, caller: Caller, message: InboundMessage, now: float) -> str | None:
        """Return what a guest's message beyond a limit is answered with; None = it gets a turn.

        "" = it is refused, and its sender has been told already. An operator's gets a turn always:
        see `held`.

        Args:
            caller: Its sender, as ingress stamped them.
            message: The message, as it came in.
            now: Seconds since the epoch.
        """
        if caller.trust == "operator":
            return None
        found = await self._looked_at(caller, message.channel, now, kept=False)
        return None if found is None else found.sentence

    async def turned_away(self, caller: Caller, message: InboundMessage, channel: Channel) -> bool:
        """Tell whether a guest's message gets no turn; they read why in their chat, once."""
        told = await self.refusal(caller, message, self._clock.now())
        if told:
            reply = ChannelReply(channel, message)
            try:
                await reply.deliver(reply.message(told))
            except Exception as error:
                _log.info("a limit was not told: %s", one_line(error))
        return told is not None

    async def held(
        self, caller: Caller, message: InboundMessage, now: float, *, turn: str
    ) -> Held | None:
        """Return until when an operator's turn has to wait, or None when it may run.

        A turn that once may run is never held again, however often it is begun.

        Args:
            caller: Whom the turn acts for.
            message: What it answers.
            now: Seconds since the epoch.
            turn: Id of the turn.
        """
        if caller.trust != "operator" or turn in self._passed:
            return None
        found = await self._looked_at(caller, message.channel, now, kept=True)
        if found is None:
            _remember(self._passed, turn, None)
        return found

    async def spent(
        self, attempt: ModelAttempt, caller: Caller, turn: str, conversation: str
    ) -> None:
        """Keep what a request to a provider cost.

        Args:
            attempt: The request.
            caller: Whom it was made for.
            turn: Id of the turn, or "".
            conversation: Key of the conversation, or "".
        """
        channel = ConversationKey.read(conversation).channel if conversation else caller.channel
        spending = spending_of(
            attempt,
            at=self._clock.now(),
            turn=turn,
            key=conversation,
            channel=channel,
            caller=caller,
            plugin=self._plugin(),
        )
        await self.record(replace(spending, cost=await self._cost(attempt)))

    async def record(self, spending: Spending) -> None:
        """Keep what a model call cost; an answer stands also when that can't be written."""
        try:
            await self._ledger.spend(spending)
        except StoreError as error:
            _log.error("what a model call cost is not counted: %s", error.message)

    async def _cost(self, attempt: ModelAttempt) -> float | None:
        """Return what a request cost in US dollars; None = nobody knows."""
        usage = attempt.usage
        if not usage.input + usage.output:
            return None  # it failed, and whether that is charged nobody says
        # in a thread: the first time it reads the prices of all vendors
        return await anyio.to_thread.run_sync(
            partial(
                self._prices.cost,
                attempt.hop.name,
                attempt.model,
                input=usage.input,
                output=usage.output,
                cached=usage.cache_read,
                wrote=usage.cache_write,
            )
        )

    async def _looked_at(
        self, caller: Caller, channel: str, now: float, *, kept: bool
    ) -> Held | None:
        """Count a turn, or return why there is no room for it."""
        bounds = self._limits.bounds(
            caller.sender,
            channel=channel,
            type=self._type_of(channel),
            local=caller.channel == LOCAL,
        )
        if not bounds:
            return None
        async with self._lock:  # else two at once would both find the last place free
            found = [await self._over(bound, now) for bound in bounds]
            over = max(filter(None, found), key=lambda item: item.again, default=None)
            if over is None:
                for bound in bounds:
                    self._begun[bound].append(now)
                return None
        if self._audit is not None:
            await self._audit(audited("deny", over.rule, "deny", caller, at=now))
        return Held(self._once(caller.sender, over, now, kept=kept), over.again)

    async def _over(self, bound: Bound, now: float) -> Exceeded | None:
        spent: Sequence[Spending] = ()
        of = {bound.scope: bound.subject}
        if bound.limit.of_spending:
            spent = await self._ledger.spent(since=now - DAY_S, **of)
        begun = self._begun.get(bound)
        if begun is None:
            # what an earlier host answered: each turn that asked a model, when it first did
            known = await self._ledger.spent(since=now - HOUR_S, **of)
            first = {item.turn: item.at for item in reversed(known) if item.turn}
            begun = list(first.values())
        begun = [at for at in begun if at > now - HOUR_S]
        _remember(self._begun, bound, begun)
        return exceeded(bound, begun, spent, now)

    def _once(self, sender: str, over: Exceeded, now: float, *, kept: bool) -> str:
        """Return the sentence for a sender, or "" when they have read it and it still holds."""
        key = (sender, over.bound, over.rule)
        if self._told.get(key, 0.0) > now:
            return ""
        _remember(self._told, key, over.again)
        return sentence(over, now, kept=kept)


def _remember(known: dict[K, V], key: K, value: V) -> None:
    """Put a value into a table that does not grow without end."""
    known.pop(key, None)
    while len(known) >= _MOST:
        del known[next(iter(known))]
    known[key] = value


def spending_of(
    attempt: ModelAttempt,
    *,
    at: float,
    turn: str,
    key: str,
    channel: str,
    caller: Caller,
    plugin: str = "",
) -> Spending:
    """Return what a request to a provider used. Its price is not in it.

    Args:
        attempt: The request.
        at: Seconds since the epoch.
        turn: Id of the turn.
        key: Key of the conversation.
        channel: Instance name of the channel.
        caller: Whom the turn acts for.
        plugin: Id of the plugin that asked, or "" for the host.
    """
    usage = attempt.usage
    return Spending(
        at=at,
        turn=turn,
        key=key,
        channel=channel,
        sender=caller.sender,
        agent=caller.agent,
        plugin=plugin,
        provider=attempt.hop.name,
        model=attempt.model,
        input=usage.input,
        output=usage.output,
        cached=usage.cache_read,
    )
