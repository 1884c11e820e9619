from __future__ import annotations

import random

import pytest
from pegboard_files.edit import Ambiguous, NotFound, Replacement, replace_texts

MIXED = ["\n", "\r\n"]


def edited(text: str, old: str, new: str, **options) -> str:
    return replace_texts(text, [Replacement(old, new, **options)]).text


def test_the_one_place_is_replaced() -> None:
    assert edited("a b c", "b", "x") == "a x c"
    assert replace_texts("one\ntwo\nthree", [Replacement("two", "2")]).lines == (2,)


def test_what_is_not_there_is_an_error() -> None:
    with pytest.raises(NotFound):
        edited("a b c", "x", "y")
    with pytest.raises(NotFound):
        edited("it\u2019s", "it's", "y")


def test_two_places_are_named_by_line() -> None:
    with pytest.raises(Ambiguous) as caught:
        edited("x\ny\nx\n", "x", "z")
    assert caught.value.lines == (1, 3)


def test_places_that_overlap_are_several_places() -> None:
    with pytest.raises(Ambiguous):
        edited("aaa", "aa", "b")
    assert edited("aaaa", "aa", "b", everywhere=True) == "bb"
    assert edited("aaa", "aa", "b", everywhere=True) == "ba"


def test_replace_all_replaces_all_and_not_what_it_put_in() -> None:
    assert edited("x x x", "x", "xx", everywhere=True) == "xx xx xx"


@pytest.mark.parametrize(
    ("text", "old", "new", "after"),
    [
        ("foo\r\nbar\r\n", "foo", "FOO", "FOO\r\nbar\r\n"),
        ("foo\r\nbar\r\n", "foo\nbar", "a\nb", "a\r\nb\r\n"),
        ("foo\r\nbar\r\n", "foo\r\nbar", "a\r\nb", "a\r\nb\r\n"),
        ("foo\nbar\n", "foo\r\nbar", "a\r\nb", "a\nb\n"),
        ("a\r\nb\nc\r\n", "b", "b\nb2", "a\r\nb\nb2\nc\r\n"),
        ("a\r\nb\nc\r\n", "c", "c\nc2", "a\r\nb\nc\r\nc2\r\n"),
        ("a\r\nb", "b", "b\nc", "a\r\nb\r\nc"),
        ("a\nb", "b", "b\nc", "a\nb\nc"),
        ("a\r\nb\nc", "a\nb\nc", "a\nB\nc", "a\r\nB\nc"),
        ("a\rb", "b", "c", "a\rc"),
        ("x", "x", "a\nb", "a\nb"),
    ],
)
def test_line_ends_do_not_count_and_stay(text: str, old: str, new: str, after: str) -> None:
    assert edited(text, old, new) == after


@pytest.mark.parametrize("tail", ["", "\n", "\n\n", "\r\n"])
def test_the_end_of_the_file_stays(tail: str) -> None:
    assert edited(f"a\nb{tail}", "a", "c") == f"c\nb{tail}"


def test_new_text_is_written_as_it_is() -> None:
    assert edited("a", "a", "\u201cHi\u201d") == "\u201cHi\u201d"
    assert edited("a", "a", "\tx  ") == "\tx  "


def test_odd_line_separators_are_characters() -> None:
    text = "a\x0bb\x0cc\x85d\u2028e\nf"
    assert replace_texts(text, [Replacement("f", "g")]).lines == (2,)
    assert edited(text, "b\x0cc", "x") == "a\x0bx\x85d\u2028e\nf"


@pytest.mark.parametrize("seed", range(300))
def test_bytes_outside_the_place_are_the_same_whatever_the_line_ends(seed: int) -> None:
    rng = random.Random(seed)
    words = ["", "a", "b ", " c", "\t", "é", "\u2028", "\x0c", "\rx", "日本"]

    def text(lines: int, ends: list[str]) -> str:
        return "".join("".join(rng.choices(words, k=3)) + rng.choice(ends) for _ in range(lines))

    ends = rng.choice([["\n"], ["\r\n"], ["\n", "\r\n"]])
    before, after = text(4, ends), text(4, [*ends, ""])
    old, new = f"<{text(2, ends)}>", f"<{text(3, MIXED)}>"
    if old.replace("\r\n", "\n") == new.replace("\r\n", "\n"):
        return
    # how a model writes it: with plain ends, whatever the file has
    result = edited(before + old + after, old.replace("\r\n", "\n"), new)
    assert result.startswith(before)
    assert result.endswith(after)
    middle = result[len(before) : len(result) - len(after)]
    assert middle.replace("\r\n", "\n") == new.replace("\r\n", "\n")
    if ends == ["\r\n"] and "\r\n" in before + old + after:
        assert "\n" not in result.replace("\r\n", "")
