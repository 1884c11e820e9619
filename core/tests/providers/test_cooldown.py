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
    cooldowns.answered("one", "m")
    assert cooldowns.of("one", "m") is None
    cooldowns.failed("one", "m", error("auth"))
    cooldowns.forget()
    assert cooldowns.of("one", "m") is None
    cooldowns.failed("one", "m", error("network"))
    await clock.sleep(10)
    assert cooldowns.of("one", "m") is None
