"""Rate and cost limits: whose they are, when they are used up, and when there is room again."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from pegboard.contracts.spending import Spending
from pegboard.policy.spend_limits import (
    DAY_S,
    HOUR_S,
    MINUTE_S,
    Bound,
    Exceeded,
    Limit,
    SpendLimits,
    exceeded,
    in_words,
    sentence,
)

NOW = 1_000_000.0
LIMITS = SpendLimits.from_settings(
    {
        "turns_per_minute": 5,
        "tokens_per_day": 1000,
        "senders": {
            "tg:1": {"turns_per_minute": 9},
            "1": {"turns_per_minute": 7, "turns_per_hour": 70},
            "tg:2": {"turns_per_minute": 0, "tokens_per_day": 0},
            "local:person": {"cost_per_day": 2.5},
        },
        "channels": {"tg": {"turns_per_hour": 100}},
    }
)


def bound(scope="sender", **limit):
    return Bound(scope, "tg:1", Limit(**limit))


def of(sender, channel="tg", **more):
    return {item.scope: item.limit for item in LIMITS.bounds(sender, channel=channel, **more)}


def test_each_sender_has_the_default_and_the_channel_its_own_as_a_whole():
    found = LIMITS.bounds("tg:3", channel="tg")
    assert found == (
        Bound("sender", "tg:3", Limit(turns_per_minute=5, tokens_per_day=1000)),
        Bound("channel", "tg", Limit(turns_per_hour=100)),
    )
    assert [item.scope for item in LIMITS.bounds("mail:3", channel="mail")] == ["sender"]


def test_an_entry_of_the_channel_counts_before_one_for_all_channels_value_by_value():
    assert of("tg:1")["sender"] == Limit(turns_per_minute=9, turns_per_hour=70, tokens_per_day=1000)
    assert of("mail:1", "mail")["sender"].turns_per_minute == 7


def test_senders_are_named_in_any_spelling():
    limits = SpendLimits.from_settings({"senders": {" TG: 5 ": {"turns_per_hour": 1}}})
    assert limits.bounds("tg:5", channel="tg", type="telegram")
    assert not limits.bounds("tg:6", channel="tg", type="telegram")
    mail = SpendLimits.from_settings({"senders": {"A@X.org": {"turns_per_hour": 1}}})
    assert mail.bounds("mail:a@x.org", channel="mail", type="email")
    assert not mail.bounds("mail:a@x.org", channel="mail", type="other")


def test_a_zero_lifts_the_default():
    assert "sender" not in of("tg:2")


def test_the_person_at_this_machine_has_only_what_names_them():
    assert of("local:person", "terminal", local=True) == {"sender": Limit(cost_per_day=2.5)}
    free = SpendLimits.from_settings({"turns_per_minute": 1})
    assert free.bounds("local:person", channel="terminal", local=True) == ()
    assert free.bounds("tg:1", channel="tg")
    assert SpendLimits.from_settings().bounds("tg:1", channel="tg") == ()


@pytest.mark.parametrize(
    ("limit", "turns", "spending"),
    [
        (Limit(), False, False),
        (Limit(turns_per_minute=1), True, False),
        (Limit(turns_per_hour=1), True, False),
        (Limit(tokens_per_day=1), False, True),
        (Limit(cost_per_day=0.1), False, True),
    ],
)
def test_a_limit_says_what_must_be_counted(limit, turns, spending):
    assert (limit.of_turns, limit.of_spending) == (turns, spending)


@pytest.mark.parametrize(
    ("name", "window"), [("turns_per_minute", MINUTE_S), ("turns_per_hour", HOUR_S)]
)
def test_turns_are_counted_in_a_window_that_slides(name, window):
    two = bound(**{name: 2})
    begun = [NOW - window, NOW - window + 1, NOW - 1]
    over = exceeded(two, begun, (), NOW)
    assert over == Exceeded(bound=two, rule=f"limit.{name}", again=NOW + 1)
    assert exceeded(two, begun, (), NOW + 0.9) is not None
    assert exceeded(two, begun, (), NOW + 1) is None
    assert exceeded(two, [NOW - 1], (), NOW) is None
    assert exceeded(two, (), (), NOW) is None


def test_tokens_are_those_read_and_those_written():
    hundred = bound(tokens_per_day=100)
    rows = [Spending(at=NOW - DAY_S + 10, input=40, output=10), Spending(at=NOW - 5, input=49)]
    assert exceeded(hundred, (), rows, NOW) is None
    rows.append(Spending(at=NOW - 3, output=1))
    over = exceeded(hundred, (), rows, NOW)
    assert over is not None
    assert (over.rule, over.again) == ("limit.tokens_per_day", NOW + 10)
    assert exceeded(hundred, (), rows, NOW + 10) is None


def test_what_has_no_price_costs_nothing():
    dollar = bound(cost_per_day=1.0)
    free = [Spending(at=NOW, input=10**9, cost=None)]
    assert exceeded(dollar, (), free, NOW) is None
    paid = [*free, Spending(at=NOW - 10, cost=0.5), Spending(at=NOW - 20, cost=0.5)]
    over = exceeded(dollar, (), paid, NOW)
    assert over is not None
    assert (over.rule, over.again) == ("limit.cost_per_day", NOW - 20 + DAY_S)


def test_of_several_limits_the_one_counts_that_takes_longest():
    both = bound(turns_per_minute=1, turns_per_hour=1)
    over = exceeded(both, [NOW - 1], (), NOW)
    assert over is not None
    assert over.rule == "limit.turns_per_hour"


times = st.lists(st.floats(NOW - 2 * DAY_S, NOW), max_size=12)
rows = st.lists(
    st.builds(
        Spending,
        at=st.floats(NOW - 2 * DAY_S, NOW),
        input=st.integers(0, 50),
        output=st.integers(0, 50),
        cost=st.none() | st.sampled_from([0.25, 0.5, 1.0]),
    ),
    max_size=8,
)
limits = st.builds(
    Limit,
    turns_per_minute=st.integers(0, 3),
    turns_per_hour=st.integers(0, 5),
    tokens_per_day=st.integers(0, 200),
    cost_per_day=st.sampled_from([0.0, 0.5, 2.0]),
)


@settings(max_examples=300, deadline=None)
@given(limits, times, rows)
def test_there_is_room_at_the_time_that_is_told_and_not_before(limit, turns, spent):
    over = exceeded(Bound("sender", "s", limit), turns, spent, NOW)
    if over is None:
        return
    assert over.again > NOW
    assert exceeded(over.bound, turns, spent, over.again) is None
    just_before = over.again - (over.again - NOW) / 1000
    assert exceeded(over.bound, turns, spent, just_before) is not None


@settings(max_examples=200, deadline=None)
@given(limits, times, rows, st.floats(NOW - DAY_S, NOW))
def test_more_use_never_opens_the_door(limit, turns, spent, at):
    whose = Bound("sender", "s", limit)
    before = exceeded(whose, turns, spent, NOW)
    after = exceeded(whose, [*turns, at], [*spent, Spending(at=at, input=5, cost=1.0)], NOW)
    if before is not None:
        assert after is not None
        assert after.again >= before.again


@pytest.mark.parametrize(
    ("limit", "rule", "words"),
    [
        ({"turns_per_minute": 5}, "turns_per_minute", "5 messages a minute"),
        ({"turns_per_hour": 1}, "turns_per_hour", "1 message an hour"),
        ({"tokens_per_day": 100_000}, "tokens_per_day", "100,000 tokens a day"),
        ({"cost_per_day": 2.5}, "cost_per_day", "what may be spent in a day"),
    ],
)
def test_the_sender_reads_one_sentence_that_says_when(limit, rule, words):
    over = Exceeded(bound=bound(**limit), rule=f"limit.{rule}", again=NOW + 40)
    assert sentence(over, NOW, kept=False) == (
        f"You have reached the limit of {words}; write again in 40 seconds."
    )
    assert sentence(over, NOW, kept=True).endswith(
        "; your message is kept and answered in 40 seconds."
    )


def test_a_channels_limit_is_told_as_the_channels():
    over = Exceeded(
        bound=bound("channel", turns_per_hour=2), rule="limit.turns_per_hour", again=NOW + HOUR_S
    )
    assert sentence(over, NOW, kept=False) == (
        "This channel has reached the limit of 2 messages an hour; write again in 60 minutes."
    )


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-1, "1 second"),
        (0.2, "1 second"),
        (1.5, "2 seconds"),
        (119, "119 seconds"),
        (119.5, "2 minutes"),
        (121, "3 minutes"),
        (7140, "119 minutes"),
        (7141, "2 h"),
        (12_000, "3 h 20 min"),
    ],
)
def test_a_wait_is_told_in_words_and_never_too_short(seconds, words):
    assert in_words(seconds) == words
