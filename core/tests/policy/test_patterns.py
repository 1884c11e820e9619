"""Globs and regular expressions: in doubt a question matches, and a permission does not."""

from __future__ import annotations

import fnmatch
import time

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from pegboard.contracts.errors import ConfigError
from pegboard.policy.patterns import LONGEST_TEXT, Pattern, check_pattern, escaped, spellings


@pytest.mark.parametrize(
    ("pattern", "text", "could", "must"),
    [
        ("git push*", "git push origin", True, True),
        ("git push*", "git pull", False, False),
        ("a", "ab", False, False),
        ("a?c", "abc", True, True),
        ("[ab]c", "bc", True, True),
        ("[!ab]c", "bc", False, False),
        ("A", "a", False, False),
        ("*", "a\nb", True, True),
        ("re:git", "a git b", True, False),
        ("re:git", "git", True, True),
        ("re:a|b", "ab", True, False),
        ("re:a|b", "b", True, True),
        ("re:^a$", "a\n", False, False),
        ("re:(?i)RM", "rm", True, True),
        ("docs/*", "docs/a", True, True),
        ("docs/*", "docs/../a", True, False),
        ("docs/*", "docs/x/../a", True, True),
        ("docs/*", "docs/..a", True, True),
        ("../*", "../a", True, True),
        ("re:.*", "a/../b", True, True),
    ],
)
def test_a_pattern_matches(pattern, text, could, must):
    assert Pattern(pattern).could((text,)) is could
    assert Pattern(pattern).must(text) is must


@pytest.mark.parametrize(
    ("pattern", "reading", "could"),
    [
        ("git push*", ("git ", None), True),
        ("git push*", ("ls ", None), False),
        ("git push*", (None,), True),
        ("*x", ("a", None, "y"), False),
        ("a?b", ("a", None, "b"), True),
        ("a?b", ("a", None), True),
        ("ab", ("a", None, "c"), False),
        ("a[bc]d", ("a", None, "d"), True),
        ("a[!b]d", ("a", None, "d"), True),
        ("a[]]d", ("a", None, "d"), True),
        ("[ab]x*", ("ax", None), True),
        ("[ab]x*", ("aay", None), False),
        ("ab]c*", ("ab]c", None), True),
        ("[]]x*", ("]x", None), True),
        ("[!]]x*", ("ax", None), True),
        ("[!]x*", ("[!]x", None), True),
        ("[!]x*", ("ax", None), False),
        ("a[b", ("a", None), True),
        ("a[b", ("a[", None), True),
        ("a[b", ("ab", None), False),
        ("*a*b*", ("x", None, "y"), True),
        ("a*", ("b", None), False),
        ("", (None,), True),
        ("", ("a", None), False),
        ("a", (None, "a", None), True),
        ("*", ("a", None), True),
        ("re:x", ("a", None), True),
        ("re:x", ("a", None, "b" * 5000), True),
        ("a*", ("b" * 5000, None), True),
    ],
)
def test_a_text_that_is_not_known_matches_whatever_it_could_be(pattern, reading, could):
    assert Pattern(pattern).could(reading) is could


globs = st.text("ab*?[]!", max_size=6)
pieces = st.lists(st.text("ab", max_size=2) | st.none(), min_size=1, max_size=4)


@settings(max_examples=400, deadline=None)
@given(globs, pieces, st.lists(st.text("ab", max_size=3), min_size=4, max_size=4))
def test_whatever_stands_in_for_the_unknown_a_match_was_told(glob, reading, fillings):
    filled = iter(fillings)
    text = "".join(next(filled) if piece is None else piece for piece in reading)
    if fnmatch.fnmatchcase(text, glob):
        assert Pattern(glob).could(reading)


@settings(max_examples=200, deadline=None)
@given(st.text("a*?[]!re:.\\", max_size=8), st.text("a*?[]!re:.\\", max_size=8))
def test_an_escaped_text_matches_itself_and_nothing_else(text, other):
    assert Pattern(escaped(text)).must(text)
    assert Pattern(escaped(text)).must(other) is (other == text)


def test_a_text_that_looks_like_a_regular_expression_is_escaped_too():
    assert Pattern(escaped("re:a")).must("re:a")
    assert not Pattern(escaped("re:a")).must("a")
    assert escaped("a[b]*?") == "a[[]b][*][?]"
    assert escaped("ab") == "ab"


def test_half_a_character_is_matched_by_what_asks_and_not_by_what_allows():
    pattern = Pattern("re:x")
    assert pattern.could(("\ud800",))
    assert not pattern.must("\ud800")


def test_what_is_too_long_is_matched_by_what_asks_and_not_by_what_allows():
    text = "a" * LONGEST_TEXT
    assert not Pattern("b*").could((text,))
    assert Pattern("a*").must(text)
    assert Pattern("b*").could((text + "a",))
    assert not Pattern("a*").must(text + "a")
    assert not Pattern("b*").could(("a" * 4000, None))


@pytest.mark.parametrize(
    "pattern", ["re:(a+)+$", "re:^(a|a)*$", "*a*a*a*a*a*a*a*a*b", "?*" * 30 + "b"]
)
def test_no_pattern_runs_away(pattern):
    check_pattern(pattern, "policy.rules[0]")
    begun = time.process_time()
    assert not Pattern(pattern).could(("a" * 5_000 + "!",))
    assert not Pattern(pattern).must("a" * 5_000 + "!")
    Pattern(pattern).could(("a" * 2_000, None, "a" * 1_900))
    assert time.process_time() - begun < 1


@pytest.mark.parametrize(
    "pattern", ["re:(", "re:(?=a)b", r"re:(a)\1", "re:a{1000}{1000}{1000}", "re:["]
)
def test_what_is_no_regular_expression_is_refused(pattern):
    with pytest.raises(ConfigError) as caught:
        check_pattern(pattern, "policy.rules[2].arguments.command")
    assert caught.value.message.startswith("policy.rules[2].arguments.command: ")
    assert caught.value.details == {"path": "policy.rules[2].arguments.command"}


def test_a_regular_expression_that_only_fits_together_with_others_is_refused():
    with pytest.raises(ConfigError):
        check_pattern("re:a)|(?:b", "policy.rules[0]")


def test_a_glob_needs_no_check():
    for text in ("(", "[", "a{1000}", ""):
        check_pattern(text, "policy.rules[0]")


def test_a_text_that_goes_upwards_is_spelled_in_two_ways():
    assert tuple(spellings("a/../b")) == ("a/../b", "b")
    assert tuple(spellings("a/./b//c")) == ("a/./b//c",)
    assert tuple(spellings("a..b")) == ("a..b",)
