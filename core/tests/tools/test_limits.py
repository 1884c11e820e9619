from __future__ import annotations

import random
import unicodedata

import pytest

from pegboard.contracts.tool import OutputLimits
from pegboard.tools.limits import cut, line_count
from pegboard.tools.text_repair import boundary, boundary_after, repaired


@pytest.mark.parametrize("keep", ["head", "tail", "both"])
def test_what_is_within_the_limits_stays_as_it_is(keep):
    limits = OutputLimits(chars=10, lines=2, keep=keep)
    for text in ("", "0123456789", "a\nb", "a\nb\n"):
        assert cut(text, limits) is None


@pytest.mark.parametrize(
    ("keep", "first", "last"),
    [("head", True, False), ("tail", False, True), ("both", True, True)],
)
def test_the_wanted_ends_survive(keep, first, last):
    text = "\n".join(f"line {number}" for number in range(1000))
    shorter = cut(text, OutputLimits(chars=1_000, keep=keep))
    assert shorter is not None
    shown = shorter.text("Read more.")
    assert ("line 0\n" in shown) is first
    assert shown.endswith("line 999") is last
    assert "Read more. ...]" in shown


def test_lines_are_counted_with_the_note():
    text = "\n".join(str(number) for number in range(100))
    for keep in ("head", "tail", "both"):
        shorter = cut(text, OutputLimits(lines=11, keep=keep))
        assert shorter is not None
        assert len(shorter.text("").split("\n")) == 11
        assert shorter.lines == 90


def test_both_ends_of_lines_are_kept():
    text = "".join(f"{number}\n" for number in range(100))
    shorter = cut(text, OutputLimits(lines=5, keep="both"))
    assert shorter is not None
    assert shorter.head == "0\n1\n"
    assert shorter.tail == "98\n99\n"


def test_one_long_line_is_cut_within():
    shorter = cut("x" * 50_000, OutputLimits(chars=1_000))
    assert shorter is not None
    assert len(shorter.text("Read them with tool_result_recall(call_id='abc', offset=1).")) <= 1_000
    assert shorter.chars == 50_000 - len(shorter.head) - len(shorter.tail)


@pytest.mark.parametrize("seed", range(30))
def test_no_cut_exceeds_its_limits_or_splits_a_character(seed):
    rng = random.Random(seed)
    pieces = ["a", "é", "e\u0301", "日", "🧩", "👩\u200d🚀", "🇩🇪", "👍🏽", "\r\n", "\n", "שָׁ"]
    text = "".join(rng.choice(pieces) for _ in range(rng.randint(500, 3_000)))
    limits = OutputLimits(
        chars=rng.randint(300, 450),
        lines=rng.choice((None, 10, 50)),
        keep=rng.choice(("head", "tail", "both")),
    )
    shorter = cut(text, limits)
    assert shorter is not None
    shown = shorter.text("How to read the rest.")
    assert len(shown) <= limits.chars
    assert limits.lines is None or line_count(shown) <= limits.lines
    assert text.startswith(shorter.head)
    assert text.endswith(shorter.tail)
    assert len(shorter.head) + shorter.chars + len(shorter.tail) == len(text)
    for after in (text[len(shorter.head) :], shorter.tail):
        if after:
            assert unicodedata.combining(after[0]) == 0
            assert after[0] not in "\u200d\U0001f3fd"
    assert not shorter.head.endswith("\u200d")
    shown.encode()


def test_a_japanese_text_is_cut_on_a_character():
    shorter = cut("日本語のテキスト" * 10_000, OutputLimits(chars=30_000))
    assert shorter is not None
    assert shorter.text("").encode().decode() == shorter.text("")


def test_a_boundary_is_never_inside_what_is_seen_as_one_character():
    for whole in ("e\u0301", "👩\u200d🚀", "🇩🇪", "👍🏽", "\r\n"):
        text = f"a{whole}b"
        for place in range(2, 1 + len(whole)):
            assert boundary(text, place) == 1
            assert boundary_after(text, place) == 1 + len(whole)
    flags = "🇩🇪🇫🇷🇮🇹"
    assert [boundary(flags, place) for place in range(7)] == [0, 0, 2, 2, 4, 4, 6]


def test_a_boundary_is_found_in_endless_combining_marks():
    text = "a" + "\u0301" * 10_000
    assert boundary(text, 5_000) == 5_000
    assert boundary_after(text, 5_000) == 5_000


def test_surrogates_are_joined_or_replaced():
    assert repaired("plain") == "plain"
    assert repaired("日本") == "日本"
    assert repaired("\ud83e\udde9") == "\U0001f9e9"
    assert repaired("a\ud83eb\udde9c") == "a\ufffdb\ufffdc"
    repaired("\udcff").encode()


@pytest.mark.parametrize("keep", ["head", "tail", "both"])
@pytest.mark.parametrize("lines", [1, 2, 3, 10])
@pytest.mark.parametrize("ends", ["", "\n"])
def test_lines_are_within_their_limit_also_when_characters_are_cut(keep, lines, ends):
    text = "\n".join("x" * 500 for _ in range(lines)) + ends
    shorter = cut(text, OutputLimits(chars=400, lines=max(3, lines), keep=keep))
    assert shorter is not None
    shown = shorter.text("")
    assert len(shown) <= 400
    assert line_count(shown) <= max(3, lines)
    assert len(shorter.head) + shorter.chars + len(shorter.tail) == len(text)


@pytest.mark.parametrize("chars", [1, 2, 3, 10])
@pytest.mark.parametrize("lines", [None, 1, 2])
@pytest.mark.parametrize("keep", ["head", "tail", "both"])
def test_the_smallest_limits_still_keep_something_and_say_so(chars, lines, keep):
    for text in ("👩\u200d🚀" * 9, "a\r\nb\r\nc\r\nd\r\ne", "\r" * 20, "x" * 20 + "\n"):
        shorter = cut(text, OutputLimits(chars=chars, lines=lines, keep=keep))
        assert shorter is not None
        assert shorter.chars > 0
        assert text.startswith(shorter.head)
        assert text.endswith(shorter.tail)
        assert "left out" in shorter.text("")
