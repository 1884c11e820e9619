"""When a failed request is made again, and what a person reads when it is not. Pure decisions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pegboard.contracts.provider import ErrorKind, ProviderError


@dataclass(frozen=True, slots=True)
class RetryRule:
    """What one kind of failure allows.

    Args:
        retries: How often a first request is made again on the same provider.
        failover: True when another provider may be asked instead.
        waits_for_hint: True to retry only when the provider said how long to wait.
        continuation: True when a continuation may be made again, if no data had arrived.
    """

    retries: int = 0
    failover: bool = False
    waits_for_hint: bool = False
    continuation: bool = False


RULES: Final[Mapping[ErrorKind, RetryRule]] = {
    "network": RetryRule(2, True, continuation=True),
    "protocol": RetryRule(2, True),
    "empty_stream": RetryRule(2, True, continuation=True),
    "timeout": RetryRule(1, True, continuation=True),
    "overloaded": RetryRule(2, True, continuation=True),
    "server": RetryRule(2, True, continuation=True),
    "rate_limit": RetryRule(2, True, waits_for_hint=True),
    "billing": RetryRule(0, True),
    "auth": RetryRule(0, True),
    "permission": RetryRule(0, True),
    "not_found": RetryRule(0, True),
    "context_overflow": RetryRule(0, True),
    "bad_request": RetryRule(),
    "malformed_tool_call": RetryRule(1),
    "refusal": RetryRule(),
}
"""A hop on `context_overflow` goes only to a model with a larger window; `Route` sees to that."""

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


def may_fail_over(error: ProviderError) -> bool:
    """Return True when another provider may answer a first request that failed so."""
    return _rule(error).failover and not error.started


def limit_sentence(error: ProviderError, title: str, now: float) -> str | None:
    """Return what a person reads about a usage limit that ends at a known time, else None.

    Args:
        error: The failure.
        title: Name of the provider for people.
        now: Seconds since the epoch.
    """
    if error.kind not in ("rate_limit", "billing"):
        return None
    seconds = _seconds(error.retry_after)
    if seconds is None and error.reset_at is not None:
        seconds = _seconds(max(0.0, error.reset_at - now))
    if seconds is None:
        return None
    return f"You have reached the usage limit of {title}. Try again in about {_span(seconds)}."


def _rule(error: ProviderError) -> RetryRule:
    # a provider may name a kind of failure that this version does not know
    return RULES.get(error.kind, _NO_RULE)


def _seconds(hint: float | None) -> float | None:
    """Return how long a provider asks to wait, or None when it says nothing that can be meant."""
    return hint if hint is not None and 0 <= hint <= _LONGEST_S else None


def _span(seconds: float) -> str:
    minutes = max(1, math.ceil(seconds / 60))
    if minutes < 120:
        return f"{minutes} min"
    hours, rest = divmod(minutes, 60)
    return f"{hours} h {rest} min" if rest else f"{hours} h"
