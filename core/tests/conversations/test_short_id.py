from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pegboard.conversations.short_id import CHARS, Match, matching, short_id, unclear

KEYS = ["terminal/a1", "terminal/b2", "slack/C1"]


def test_a_short_name_is_the_same_for_ever() -> None:
    assert len(short_id("terminal/a1")) == CHARS
    assert short_id("terminal/a1") == short_id("terminal/a1")


def test_a_whole_key_is_never_unclear() -> None:
    assert matching("chat/1", ["chat/1", "chat/10"]).keys == ("chat/1",)


def test_the_beginning_of_a_key_or_of_a_short_name_is_enough() -> None:
    assert matching("sla", KEYS).keys == ("slack/C1",)
    assert matching(short_id("slack/C1")[:4].upper(), KEYS).keys == ("slack/C1",)


def test_what_may_be_several_names_all_of_them() -> None:
    match = matching("term", KEYS)
    assert match.keys == ("terminal/a1", "terminal/b2")
    said = unclear("term", match)
    assert said == (
        f"'term' may be {short_id('terminal/a1')} (terminal/a1), "
        f"{short_id('terminal/b2')} (terminal/b2)."
    )


def test_one_character_names_nothing() -> None:
    assert matching("s", KEYS).keys == ()


def test_the_nearest_is_named_when_there_is_none() -> None:
    match = matching("slack/C2", KEYS)
    assert match == Match((), "slack/C1")
    assert unclear("slack/C2", match) == (
        "There is no conversation 'slack/C2'. The nearest is slack/C1."
    )
    assert unclear("x", matching("x", [])) == "There is no conversation 'x'."


def test_of_very_many_some_are_named_and_the_others_counted() -> None:
    keys = [f"chat/{number}" for number in range(30)]
    assert unclear("chat/", matching("chat/", keys)).endswith(" and 25 more.")


@given(st.lists(st.text(min_size=1), unique=True))
def test_every_key_and_every_whole_short_name_finds_its_own(keys: list[str]) -> None:
    for key in keys:
        assert matching(key, keys).keys == (key,)
        assert key in matching(short_id(key), keys).keys
