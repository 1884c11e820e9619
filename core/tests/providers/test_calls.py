from __future__ import annotations

from pegboard.contracts.message import ToolCall
from pegboard.providers.calls import CallAssembler


def test_two_calls_that_both_say_index_zero_stay_two() -> None:
    calls = CallAssembler()
    calls.start(index=0, id="a", name="read")
    calls.add('{"path":', index=0)
    calls.add('"x"}', index=0)
    calls.start(index=0, id="b", name="write")
    calls.add("{}", index=0)
    assert calls.calls() == (ToolCall("a", "read", '{"path":"x"}'), ToolCall("b", "write", "{}"))


def test_a_known_id_wins_over_the_index() -> None:
    calls = CallAssembler()
    calls.start(index=0, id="a", name="read")
    calls.start(index=1, id="b", name="write")
    calls.add("A", index=1, id="a")
    calls.add("B", index=1)
    assert [call.arguments for call in calls.calls()] == ["A", "B"]


def test_a_piece_without_id_and_index_belongs_to_the_current_call() -> None:
    calls = CallAssembler()
    calls.start(id="a", name="read")
    calls.add("{")
    calls.start(id="b", name="write")
    calls.add("[")
    calls.add("]")
    assert [call.arguments for call in calls.calls()] == ["{", "[]"]


def test_a_name_that_comes_late_is_taken() -> None:
    calls = CallAssembler()
    calls.start(index=0, id="a")
    calls.add("{}", index=0)
    calls.start(index=0, id="a", name="read")
    assert calls.calls() == (ToolCall("a", "read", "{}"),)


def test_pieces_of_interleaved_calls_find_their_call_by_index() -> None:
    calls = CallAssembler()
    calls.start(index=0, id="a", name="x")
    calls.start(index=1, id="b", name="y")
    for index, text in ((0, "1"), (1, "2"), (0, "3"), (1, "4")):
        calls.add(text, index=index)
    assert [call.arguments for call in calls.calls()] == ["13", "24"]


def test_an_id_that_comes_late_is_taken() -> None:
    calls = CallAssembler()
    calls.start(index=0, name="read")
    calls.add("{", index=0)
    calls.add("}", index=0, id="a")
    assert calls.calls() == (ToolCall("a", "read", "{}"),)


def test_what_a_call_has_already_begins_another_one() -> None:
    calls = CallAssembler()
    assert calls.start(index=0, name="read") == 0
    assert calls.start(index=0, name="read") == 1
    assert calls.start(name="write") == 2
    assert calls.start(id="a") == 2
    assert calls.start(id="b") == 3


def test_a_piece_tells_which_call_it_belongs_to() -> None:
    calls = CallAssembler()
    calls.start(index=7, id="a", name="read")
    calls.start(index=8, id="b", name="write")
    assert [calls.add("x", index=index) for index in (7, 8, 7, 9)] == [0, 1, 0, 2]
    assert calls.find(index=7) == (0, ToolCall("a", "read", "xx"))
    assert calls.find(id="b") == (1, ToolCall("b", "write", "x"))
    assert calls.find(id="c") is None
