from __future__ import annotations

from typing import get_args

import pytest

from pegboard.contracts.provider import ErrorKind, ProviderError
from pegboard.providers.retry import (
    RULES,
    continuation_wait,
    first_wait,
    limit_sentence,
    may_fail_over,
)


def error(kind: ErrorKind, **facts) -> ProviderError:
    return ProviderError("no", kind=kind, **facts)


def test_every_kind_has_a_rule() -> None:
    assert set(RULES) == set(get_args(ErrorKind))


@pytest.mark.parametrize("kind", ["network", "protocol", "empty_stream", "overloaded", "server"])
def test_transient_failures_are_retried_twice_with_growing_waits(kind: ErrorKind) -> None:
    waits = [first_wait(error(kind), attempt, 0.0) for attempt in (1, 2, 3)]
    assert waits == [0.5, 1.0, None]


@pytest.mark.parametrize("kind", ["timeout", "malformed_tool_call"])
def test_some_failures_are_retried_once(kind: ErrorKind) -> None:
    assert [first_wait(error(kind), n, 0.0) for n in (1, 2)] == [0.5, None]


@pytest.mark.parametrize(
    "kind",
    ["billing", "auth", "permission", "not_found", "context_overflow", "bad_request", "refusal"],
)
def test_what_will_not_change_is_not_tried_again(kind: ErrorKind) -> None:
    assert first_wait(error(kind), 1, 0.0) is None


def test_nothing_is_retried_once_something_was_shown() -> None:
    assert first_wait(error("network", started=True), 1, 0.0) is None
    assert not may_fail_over(error("network", started=True))


def test_a_rate_limit_is_waited_for_only_when_the_wait_is_known_and_short() -> None:
    assert first_wait(error("rate_limit"), 1, 0.0) is None
    assert first_wait(error("rate_limit", retry_after=7.0), 1, 0.0) == 7.0
    assert first_wait(error("rate_limit", retry_after=1806.0), 1, 0.0) is None
    assert first_wait(error("rate_limit", retry_after=12.0), 2, 12.0) is None


def test_a_hint_lengthens_the_wait() -> None:
    assert first_wait(error("overloaded", retry_after=3.0), 1, 0.0) == 3.0


def test_a_continuation_waits_two_seconds_then_four_then_gives_up() -> None:
    waits = [continuation_wait(error("timeout"), n, data=False) for n in (1, 2, 3)]
    assert waits == [2.0, 4.0, None]


def test_a_continuation_is_not_retried_when_data_had_arrived() -> None:
    assert continuation_wait(error("network"), 1, data=True) is None
    assert continuation_wait(error("network", started=True), 1, data=False) is None


@pytest.mark.parametrize("kind", ["rate_limit", "auth", "bad_request", "protocol", "refusal"])
def test_a_continuation_is_retried_for_few_kinds_only(kind: ErrorKind) -> None:
    assert continuation_wait(error(kind), 1, data=False) is None


def test_a_continuation_does_not_wait_for_a_limit_far_away() -> None:
    assert continuation_wait(error("overloaded", retry_after=1806.0), 1, data=False) is None


@pytest.mark.parametrize("kind", ["bad_request", "malformed_tool_call", "refusal"])
def test_another_provider_is_not_asked_what_was_wrong_in_itself(kind: ErrorKind) -> None:
    assert not may_fail_over(error(kind))


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        ({"reset_at": 1000.0 + 90}, "2 min"),
        ({"retry_after": 20.0}, "1 min"),
        ({"retry_after": 20.0, "reset_at": 9999.0}, "1 min"),
        ({"reset_at": 1000.0 + 3 * 3600 + 60}, "3 h 1 min"),
        ({"reset_at": 1000.0 + 2 * 3600}, "2 h"),
        ({"reset_at": 10.0}, "1 min"),
    ],
)
def test_a_limit_with_a_known_end_is_one_friendly_sentence(facts, told) -> None:
    text = limit_sentence(error("rate_limit", **facts), "Groq", now=1000.0)
    assert text == f"You have reached the usage limit of Groq. Try again in about {told}."


def test_other_failures_are_no_usage_limit() -> None:
    assert limit_sentence(error("rate_limit"), "Groq", now=0.0) is None
    assert limit_sentence(error("overloaded", retry_after=5.0), "Groq", now=0.0) is None


@pytest.mark.parametrize("hint", [float("nan"), float("inf"), -5.0, 1e300])
def test_a_hint_that_can_not_be_meant_is_none(hint) -> None:
    limited = error("rate_limit", retry_after=hint)
    assert first_wait(limited, 1, 0.0) is None
    assert limit_sentence(limited, "The model", 0.0) is None
    assert continuation_wait(error("server", retry_after=hint), 1, False) == 2.0


def test_a_kind_that_this_version_does_not_know_is_not_tried_again() -> None:
    unknown = error("quantum_noise")
    assert first_wait(unknown, 1, 0.0) is None
    assert continuation_wait(unknown, 1, False) is None
    assert not may_fail_over(unknown)
