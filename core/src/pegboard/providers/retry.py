"""When a failed request is made again, and what a person reads when it is not. Pure decisions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pegboard.contracts.provider import ErrorKind, ErrorScope, ProviderError


@dataclass(frozen=True, slots=True)
class RetryRule:
    """What one kind of failure allows.

    Args:
        retries: How often a first request is made again on the same provider.
        failover: True when another provider may be asked instead.
        waits_for_hint: True to retry only when the provider said how long to wait.
        continuation: True when a continuation may be made again, if no data had arrived.
        cooldown_s: Seconds that others are asked first afterwards, where the provider does not say
            when it can be asked again; 0 = it may be asked at once.
        scope: What such a failure is about.
    """

    retries: int = 0
    failover: bool = False
    waits_for_hint: bool = False
    continuation: bool = False
    cooldown_s: float = 0.0
    scope: ErrorScope = "model"


_MENDED_S: Final = 600.0
"""A key or a permission may be mended at the vendor, where no host sees it."""
RULES: Final[Mapping[ErrorKind, RetryRule]] = {
    "network": RetryRule(2, True, continuation=True, cooldown_s=10.0, scope="provider"),
    "protocol": RetryRule(2, True, cooldown_s=10.0),
    "empty_stream": RetryRule(2, True, continuation=True, cooldown_s=10.0),
    "timeout": RetryRule(1, True, continuation=True, cooldown_s=30.0),
    "overloaded": RetryRule(2, True, continuation=True, cooldown_s=30.0),
    "server": RetryRule(2, True, continuation=True, cooldown_s=30.0),
    "rate_limit": RetryRule(2, True, waits_for_hint=True, cooldown_s=60.0),
    "billing": RetryRule(0, True, cooldown_s=3_600.0, scope="provider"),
    "auth": RetryRule(0, True, cooldown_s=_MENDED_S, scope="provider"),
    "permission": RetryRule(0, True, cooldown_s=_MENDED_S),
    "not_found": RetryRule(0, True, cooldown_s=_MENDED_S),
    "context_overflow": RetryRule(0, True),
    "bad_request": RetryRule(),
    "malformed_tool_call": RetryRule(1),
    "refusal": RetryRule(),
}
"""A hop on `context_overflow` goes only to a model with a larger window; `Route` sees to that."""

LIMITS: Final = frozenset({"rate_limit", "billing"})
"""Kinds of failure that end by themselves, when a limit is lifted."""
_NO_RULE: Final = RetryRule()
_LONGEST_S: Final = 366 * 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How long the host waits. All values are in seconds.

    Args:
        first_delay_s: Wait before the first retry of a first request; doubled for each further one.
        budget_s: The most that all waits of one request may come to.
        continuation_delays_s: Waits before each retry of a continuation.
    """

    first_delay_s: float = 0.5
    budget_s: float = 20.0
    continuation_delays_s: tuple[float, ...] = (2.0, 4.0)


DEFAULT_RETRY: Final = RetryPolicy()


def first_wait(
    error: ProviderError, attempt: int, waited: float, policy: RetryPolicy = DEFAULT_RETRY
) -> float | None:
    """Return how long to wait before a first request is made again, or None for never.

    Args:
        error: The failure; once something was shown there is no retry.
        attempt: Attempts made so far, 1 or more.
        waited: Seconds already waited for this request.
        policy: The waits.
    """
    rule, hint = _rule(error), _seconds(error.retry_after)
    if error.started or attempt > rule.retries:
        return None
    if rule.waits_for_hint and hint is None:
        return None
    wait = max(policy.first_delay_s * 2 ** (attempt - 1), hint or 0.0)
    return wait if waited + wait <= policy.budget_s else None


def continuation_wait(
    error: ProviderError, attempt: int, data: bool, policy: RetryPolicy = DEFAULT_RETRY
) -> float | None:
    """Return how long to wait before a continuation is made again, or None for never.

    Args:
        error: The failure.
        attempt: Attempts made so far, 1 or more.
        data: True when any part of an answer had arrived; then there is no retry.
        policy: The waits.
    """
    delays = policy.continuation_delays_s
    if data or error.started or not _rule(error).continuation or attempt > len(delays):
        return None
    if (_seconds(error.retry_after) or 0.0) > policy.budget_s:
        return None
    return delays[attempt - 1]


def may_fail_over(error: ProviderError, *, retracts: bool = False) -> bool:
    """Return True when another provider may answer a request that failed so.

    Args:
        error: The failure.
        retracts: True when text that was shown of the answer can be taken back.
    """
    if error.started and not retracts:
        return False
    return _rule(error).failover if error.failover is None else error.failover


def cooldown_s(error: ProviderError, now: float) -> float:
    """Return for how many seconds others are asked first after a failure.

    Args:
        error: The failure.
        now: Seconds since the epoch.
    """
    usual = _rule(error).cooldown_s
    said = wait_s(error, now)
    return usual if said is None or not usual else said


def scope_of(error: ProviderError) -> ErrorScope:
    """Return what a failure is about."""
    return error.scope or _rule(error).scope


def wait_s(error: ProviderError, now: float) -> float | None:
    """Return in how many seconds a provider can be asked again, as it said, or None.

    Args:
        error: The failure.
        now: Seconds since the epoch.
    """
    seconds = _seconds(error.retry_after)
    if seconds is None and error.reset_at is not None:
        seconds = _seconds(max(0.0, error.reset_at - now))
    return seconds


def limit_sentence(error: ProviderError, title: str, now: float) -> str | None:
    """Return what a person reads about a usage limit that ends at a known time, else None.

    Args:
        error: The failure.
        title: Name of the provider for people.
        now: Seconds since the epoch.
    """
    seconds = wait_s(error, now) if error.kind in LIMITS else None
    if seconds is None:
        return None
    return f"You have reached the usage limit of {title}. Try again in about {span(seconds)}."


def _rule(error: ProviderError) -> RetryRule:
    # a provider may name a kind of failure that this version does not know
    return RULES.get(error.kind, _NO_RULE)


def _seconds(hint: float | None) -> float | None:
    """Return how long a provider asks to wait, or None when it says nothing that can be meant."""
    return hint if hint is not None and 0 <= hint <= _LONGEST_S else None


def span(seconds: float) -> str:
    """Return a time to wait as people say it: minutes, rounded up, or hours and minutes."""
    minutes = max(1, math.ceil(seconds / 60))
    if minutes < 120:
        return f"{minutes} min"
    hours, rest = divmod(minutes, 60)
    return f"{hours} h {rest} min" if rest else f"{hours} h"
