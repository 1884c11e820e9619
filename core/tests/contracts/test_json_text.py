from __future__ import annotations

import time

import pytest

from pegboard.contracts.json_text import MAX_DEPTH, check, decode, read_object


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("NaN", "NaN is no JSON value"),
        ("[1e400]", "the number 1e400 is too large"),
        ('{"a": 1, "a": 2}', "the key 'a' is given twice"),
        ('{"a": "\\ud83e"}', "half a character (\\ud83e)"),
        ("[" * 100_000, "nested too deeply"),
        ("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), "nested too deeply"),
        ("1" * 5_000, "integer string conversion"),
        ("{", "Expecting property name"),
    ],
)
def test_what_some_reader_takes_for_another_value_is_refused(text, reason):
    with pytest.raises(ValueError, match=r".") as caught:
        decode(text)
    assert reason in str(caught.value)
    assert read_object(text) is None


def test_what_every_reader_takes_alike_is_read():
    assert decode('{"a": [1, 2.5, "\\ud83e\\udde9", null]}') == {"a": [1, 2.5, "\U0001f9e9", None]}
    assert decode("[" * MAX_DEPTH + "]" * MAX_DEPTH)
    assert decode("[" + "[]," * 500 + "[]]")


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), {"a": b"x"}, {(1, 2): 1}, "\ud800", {"\udc00": 1}, 10**5_000],
    ids=lambda value: type(value).__name__,
)
def test_a_value_that_can_not_be_written_is_refused(value):
    with pytest.raises(ValueError, match=r"."):
        check(value)


def test_a_value_inside_itself_is_refused():
    value: list = []
    value.append(value)
    with pytest.raises(ValueError, match=r"."):
        check(value)


def test_only_an_object_is_an_object():
    assert read_object(" ") == {}
    assert read_object('{"a": 1}') == {"a": 1}
    assert read_object("[1]") is None
    assert read_object("{oops") is None


def test_many_keys_of_which_the_last_comes_twice_take_no_time():
    pairs = ",".join(f'"{number}":1' for number in range(100_000))
    began = time.perf_counter()
    assert read_object(f'{{{pairs},"99999":2}}') is None
    assert time.perf_counter() - began < 2
