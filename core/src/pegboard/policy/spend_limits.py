"""How much one sender and one channel may use: turns, tokens and money in a time. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final, Literal

from pegboard.contracts.spending import Spending
from pegboard.policy.senders import naming

Scope = Literal["sender", "channel"]
MINUTE_S: Final = 60.0
HOUR_S: Final = 3_600.0
DAY_S: Final = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """What may be used in a time that slides along with the clock; 0 = without limit.

    Args:
        turns_per_minute, turns_per_hour: Turns that may begin.
        tokens_per_day: Tokens that models read and write.
        cost_per_day: US dollars; what has no known price costs nothing.
    """

    turns_per_minute: int = 0
    turns_per_hour: int = 0
    tokens_per_day: int = 0
    cost_per_day: float = 0.0

    def but(self, given: Mapping[str, Any]) -> Limit:
        """Return the limit with the values that a table of the configuration gives."""
        return replace(self, **{name: given[name] for name in _KEYS if name in given})

    @property
    def of_turns(self) -> bool:
        """True when turns must be counted."""
        return self.turns_per_minute > 0 or self.turns_per_hour > 0

    @property
    def of_spending(self) -> bool:
        """True when tokens or money must be counted."""
        return self.tokens_per_day > 0 or self.cost_per_day > 0


_KEYS: Final = tuple(item.name for item in fields(Limit))
UNLIMITED: Final = Limit()


@dataclass(frozen=True, slots=True)
class Bound:
    """A limit, and whose it is.

    Args:
        scope: A sender's own, or a channel's as a whole.
        subject: The sender (`channel:id`), or the instance name of the channel.
        limit: What it may use.
    """

    scope: Scope
    subject: str
    limit: Limit


@dataclass(frozen=True, slots=True, kw_only=True)
class SpendLimits:
    """The operator's limits. Never changes.

    Args:
        each: What each sender has who is not the person at this machine.
        senders: `channel:id` or `id`, in any spelling -> what is different for that sender.
        channels: Instance name -> what all senders of that channel have together.
    """

    each: Limit = UNLIMITED
    senders: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    channels: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @classmethod
    def from_settings(cls, limits: Mapping[str, Any] | None = None) -> SpendLimits:
        """Read the section `[limits]` of the configuration."""
        given = limits or {}
        return cls(
            each=UNLIMITED.but(given),
            senders=given.get("senders", {}),
            channels=given.get("channels", {}),
        )

    def bounds(
        self, sender: str, *, channel: str, type: str = "", local: bool = False
    ) -> tuple[Bound, ...]:
        """Return what bounds a sender; nothing when nothing does.

        An entry for the sender's channel counts before one for all channels, value by value, and
        both before what each sender has. The person at this machine has only what names them.

        Args:
            sender: The sender, normalised: `channel:id`.
            channel: Instance name of the channel.
            type: Type of the channel, or "".
            local: True for the person at this machine.
        """
        prefix, _, id = sender.partition(":")
        found = sorted(naming(self.senders, prefix, type, id))  # "all" comes before "own"
        own = UNLIMITED if local else self.each
        for _, key in found:
            own = own.but(self.senders[key])
        whole = UNLIMITED.but(self.channels.get(channel, {}))
        bounds = (Bound("sender", sender, own), Bound("channel", channel, whole))
        return tuple(bound for bound in bounds if bound.limit != UNLIMITED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exceeded:
    """A limit that is used up.

    Args:
        bound: Whose limit it is.
        rule: Name of the rule: `limit.turns_per_minute` and so on.
        again: When there is room again, in seconds since the epoch.
    """

    bound: Bound
    rule: str
    again: float


def exceeded(
    bound: Bound, turns: Sequence[float], spent: Sequence[Spending], now: float
) -> Exceeded | None:
    """Return which part of a limit leaves no room for another turn, or None.

    Of several it is the one that takes longest to have room again.

    Args:
        bound: The limit.
        turns: When turns began, in seconds since the epoch, in any order.
        spent: What model calls cost, in any order.
        now: Seconds since the epoch.
    """
    found = [
        Exceeded(bound=bound, rule=f"limit.{name}", again=again)
        for name, again in _used_up(bound.limit, turns, spent, now)
    ]
    return max(found, key=lambda item: item.again, default=None)


def _used_up(
    limit: Limit, turns: Sequence[float], spent: Sequence[Spending], now: float
) -> Iterator[tuple[str, float]]:
    begun = [(at, 1) for at in turns]
    tokens = [(item.at, item.input + item.output) for item in spent]
    costs = [(item.at, item.cost or 0.0) for item in spent]
    for name, uses, most, window in (
        ("turns_per_minute", begun, limit.turns_per_minute, MINUTE_S),
        ("turns_per_hour", begun, limit.turns_per_hour, HOUR_S),
        ("tokens_per_day", tokens, limit.tokens_per_day, DAY_S),
        ("cost_per_day", costs, limit.cost_per_day, DAY_S),
    ):
        again = _room_at(uses, most, window, now)
        if again is not None:
            yield name, again


def _room_at(
    uses: Sequence[tuple[float, float]], most: float, window: float, now: float
) -> float | None:
    """Return when less than `most` is left in the window, or None when that is so now."""
    if most <= 0:
        return None
    left = 0.0
    # from the latest on: what is in the window until the sum is reached keeps the door closed
    for at, amount in sorted(uses, reverse=True):
        left += amount
        if left >= most:
            return at + window if now < at + window else None
    return None


@dataclass(frozen=True, slots=True)
class Held:
    """A message that has to wait.

    Args:
        sentence: What its sender reads; "" when they have read it already.
        until: When there is room again, in seconds since the epoch.
    """

    sentence: str
    until: float


def sentence(over: Exceeded, now: float, *, kept: bool) -> str:
    """Return the one sentence that a sender reads.

    Args:
        over: What is used up.
        now: Seconds since the epoch.
        kept: True when the message waits and is answered then; False when it has to be sent again.
    """
    who = "You have" if over.bound.scope == "sender" else "This channel has"
    wait = in_words(over.again - now)
    after = f"your message is kept and answered in {wait}" if kept else f"write again in {wait}"
    return f"{who} reached the limit of {_amount(over)}; {after}."


def _amount(over: Exceeded) -> str:
    limit, name = over.bound.limit, over.rule.removeprefix("limit.")
    most = getattr(limit, name)
    return {
        "turns_per_minute": f"{_counted(most, 'message')} a minute",
        "turns_per_hour": f"{_counted(most, 'message')} an hour",
        "tokens_per_day": f"{most:,} tokens a day",
        "cost_per_day": "what may be spent in a day",
    }[name]


def in_words(seconds: float) -> str:
    """Return a time to wait in words, rounded up: `40 seconds`, `12 minutes`, `3 h 20 min`."""
    whole = max(1, math.ceil(seconds))
    if whole < 2 * MINUTE_S:
        return _counted(whole, "second")
    minutes = math.ceil(whole / MINUTE_S)
    if minutes < 2 * MINUTE_S:
        return _counted(minutes, "minute")
    hours, rest = divmod(minutes, 60)
    return f"{hours} h {rest} min" if rest else f"{hours} h"


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
