from __future__ import annotations

import random
import re
import time

import pytest
from pegboard_files.matcher import Matcher, OutOfTime, repeated_size

from pegboard import ToolFailure


def matcher(pattern: str, *, seconds: float = 30.0, **options) -> Matcher:
    settings = {"literal": False, "ignore_case": False, **options}
    end = time.monotonic() + seconds
    return Matcher(pattern, remaining=lambda: end - time.monotonic(), **settings)


def lines(pattern: str, text: str, **options) -> list[str]:
    found = matcher(pattern, **options).hits(text, 0, len(text))
    return [text[hit.start : hit.stop] for hit in found]


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("a", ["abc", "bac"]),
        ("^a", ["abc"]),
        ("c$", ["abc", "bac"]),
        ("b.c", ["bac"]),
        ("x\\s+y", []),
        ("[^a]$", ["abc", "bac", "x", "y"]),
        ("^$", [""]),
        ("(?i)ABC", ["abc"]),
        ("x(?!\\s)", ["x"]),
        ("\\Aabc\\Z", ["abc"]),
        ("(?<=b)a", ["bac"]),
    ],
)
def test_lines_are_searched_one_by_one(pattern: str, found: list[str]) -> None:
    assert lines(pattern, "abc\nbac\nx\n\ny") == found


def test_letter_case_and_plain_text() -> None:
    assert lines("ABC", "abc\nABC", ignore_case=True) == ["abc", "ABC"]
    assert lines("a.c(", "a.c(x\nabc(", literal=True) == ["a.c(x"]
    assert lines("A.C(", "a.c(x\nabc(", literal=True, ignore_case=True) == ["a.c(x"]
    assert lines("é", "É\né", ignore_case=True) == ["É", "é"]


@pytest.mark.parametrize("pattern", ["a", "^b", "a+b", "b$", "[^a]b", "(a|b)c", "a*", ".", "c\\b"])
def test_it_finds_what_looking_at_each_line_finds(pattern: str) -> None:
    rng = random.Random(pattern)
    for _ in range(200):
        text = "".join(rng.choices("abc \n", k=rng.randrange(0, 40)))
        # there is no line behind the last line end, nor in an empty text
        whole = text.removesuffix("\n").split("\n") if text else []
        expected = [line for line in whole if re.search(pattern, line)]
        assert lines(pattern, text) == expected, text


@pytest.mark.parametrize(
    "pattern",
    ["(unclosed", "[a", "a**", "\\", "(?P<n>a", "x{2,1}", "", "a\nb", "x" * 3000, "(" * 1500],
)
def test_a_bad_expression_is_named(pattern: str) -> None:
    with pytest.raises(ToolFailure) as caught:
        matcher(pattern)
    assert caught.value.tool_code == "invalid_pattern"
    assert caught.value.fix


@pytest.mark.parametrize(
    "pattern", ["((a{1000}){1000}){1000}", "(a{1000}){1000}", "(?R)", "(?:(?R)?a)+", "a(?1)(b)"]
)
def test_an_expression_that_takes_all_memory_is_refused(pattern: str) -> None:
    with pytest.raises(ToolFailure):
        matcher(pattern)


def test_repetitions_are_counted_roughly() -> None:
    assert repeated_size("abc") == 3
    assert repeated_size("a{10}") == 10
    assert repeated_size("(ab){10,20}") == 60
    assert repeated_size("[a{5}]{2}") == 2
    assert repeated_size("\\{5}") == 3


def test_an_expression_that_runs_away_is_stopped() -> None:
    with pytest.raises(OutOfTime):
        lines("(a|a)*$", "a" * 4000 + "b", seconds=0.3)
