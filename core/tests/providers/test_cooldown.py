from __future__ import annotations

import pytest

from pegboard.contracts.provider import ProviderError
from pegboard.providers.cooldown import LONGEST_S, Cooldowns


def error(kind, **facts) -> ProviderError:
    return ProviderError("no", kind=kind, **facts)


@pytest.mark.parametrize(
    ("failure", "seconds"),
    [
        (error("network"), 10.0),
        (error("timeout"), 30.0),
        (error("overloaded", retry_after=7.0), 7.0),
        (error("rate_limit"), 60.0),
        (error("rate_limit", retry_after=1_806.0), 1_806.0),
        (error("rate_limit", retry_after=9e9), 60.0),  # nobody means that
        (error("billing"), 3_600.0),
        (error("billing", retry_after=2 * LONGEST_S), LONGEST_S),
        (error("auth"), 600.0),
    ],
)
def test_how_long_others_are_asked_first(clock, failure, seconds) -> None:
    cooldowns = Cooldowns(clock)
    cooldowns.failed("one", "m", failure)
    cooling = cooldowns.of("one", "m")
    assert cooling is not None
    assert (cooling.kind, cooling.left_s) == (failure.kind, seconds)


def test_a_time_of_day_counts_from_now(clock) -> None:
    cooldowns = Cooldowns(clock)
    cooldowns.failed("one", "m", error("rate_limit", reset_at=clock.now() + 90))
    cooling = cooldowns.of("one", "m")
    assert cooling is not None
    assert cooling.left_s == 90


@pytest.mark.parametrize(
    ("later", "kind", "seconds"),
    [
        (error("rate_limit"), "rate_limit", 1_806.0),
        (error("overloaded"), "rate_limit", 1_806.0),
        (error("rate_limit", retry_after=5.0), "rate_limit", 5.0),
        (error("rate_limit", retry_after=4_000.0), "rate_limit", 4_000.0),
    ],
)
def test_of_two_runs_that_fail_at_once_the_one_that_was_told_a_time_counts(
    clock, later, kind, seconds
) -> None:
    cooldowns = Cooldowns(clock)
    cooldowns.failed("one", "m", error("rate_limit", retry_after=1_806.0))
    cooldowns.failed("one", "m", later)
    cooling = cooldowns.of("one", "m")
    assert cooling is not None
    assert (cooling.kind, cooling.left_s) == (kind, seconds)


@pytest.mark.parametrize("jump", [-3_600.0, 3_600.0, 1e9])
def test_a_clock_that_is_set_otherwise_changes_nothing(clock, jump) -> None:
    cooldowns = Cooldowns(Jumped(clock))
    cooldowns.failed("one", "m", error("rate_limit", reset_at=clock.now() + 90))
    cooldowns._clock.by = jump
    cooling = cooldowns.of("one", "m")
    assert cooling is not None
    assert cooling.left_s == 90


class Jumped:
    """A clock whose time of day somebody sets."""

    def __init__(self, clock) -> None:
        self.by = 0.0
        self._clock = clock
        self.monotonic = clock.monotonic

    def now(self) -> float:
        return self._clock.now() + self.by


@pytest.mark.parametrize("kind", ["context_overflow", "bad_request", "refusal", "of tomorrow"])
def test_what_says_nothing_of_the_next_request_is_forgotten(clock, kind) -> None:
    cooldowns = Cooldowns(clock)
    cooldowns.failed("one", "m", error(kind, retry_after=60.0))
    assert cooldowns.of("one", "m") is None


@pytest.mark.parametrize(
    ("failure", "others_too"),
    [
        (error("rate_limit"), False),
        (error("auth"), True),
        (error("rate_limit", scope="provider"), True),
        (error("auth", scope="model"), False),
    ],
)
def test_a_failure_counts_for_a_model_or_for_all_of_a_provider(clock, failure, others_too) -> None:
    cooldowns = Cooldowns(clock)
    cooldowns.failed("one", "m", failure)
    assert (cooldowns.of("one", "n") is not None) is others_too
    assert cooldowns.of("two", "m") is None


@pytest.mark.anyio
async def test_it_ends_with_its_time_with_an_answer_and_when_all_is_read_again(clock) -> None:
    cooldowns = Cooldowns(clock)
    cooldowns.failed("one", "m", error("auth"))
    cooldowns.answered("one", "m", asked=clock.monotonic())
    assert cooldowns.of("one", "m") is None
    cooldowns.failed("one", "m", error("auth"))
    cooldowns.forget()
    assert cooldowns.of("one", "m") is None
    cooldowns.failed("one", "m", error("network"))
    await clock.sleep(10)
    assert cooldowns.of("one", "m") is None
