from __future__ import annotations

from pegboard.contracts.message import CallResult, Message, ToolCall, tool_message
from pegboard.contracts.result import Text
from pegboard.providers.pairing import CANCELLED, paired, step_messages


def asks(*ids: str) -> Message:
    return Message("assistant", calls=tuple(ToolCall(id, "t", "{}") for id in ids))


def result(id: str, text: str = "ok") -> CallResult:
    return CallResult(id, "t", (Text(text),))


USER = Message.of("user", "Hi")


def test_a_sound_conversation_is_unchanged() -> None:
    messages = (USER, asks("a", "b"), tool_message([result("a"), result("b")]), USER)
    assert paired(messages) == messages


def test_a_missing_result_is_cancelled() -> None:
    _, tool = paired([asks("a", "b"), tool_message([result("b")])])
    assert [r.call_id for r in tool.results] == ["a", "b"]
    assert (tool.results[0].text, tool.results[0].error) == (CANCELLED, True)


def test_calls_with_no_results_at_all_are_cancelled() -> None:
    messages = paired([USER, asks("a"), USER])
    assert [m.role for m in messages] == ["user", "assistant", "tool", "user"]


def test_parallel_results_in_several_messages_become_one_in_call_order() -> None:
    ids = [str(n) for n in range(7)]
    scattered = [tool_message([result(id)]) for id in reversed(ids)]
    _, tool = paired([asks(*ids), *scattered])
    assert [r.call_id for r in tool.results] == ids


def test_what_was_said_between_results_comes_after_them() -> None:
    between = Message.of("user", "an image")
    messages = paired(
        [asks("a", "b"), tool_message([result("a")]), between, tool_message([result("b")])]
    )
    assert [m.role for m in messages] == ["assistant", "tool", "user"]
    assert [r.call_id for r in messages[1].results] == ["a", "b"]


def test_a_second_result_of_a_call_is_left_out() -> None:
    _, tool = paired([asks("a"), tool_message([result("a", "first"), result("a", "second")])])
    assert [r.text for r in tool.results] == ["first"]


def test_results_of_no_call_are_left_out() -> None:
    assert paired([tool_message([result("x")]), USER]) == (USER,)
    answer = Message.of("assistant", "Done")
    assert paired([USER, answer, tool_message([result("x")])]) == (USER, answer)


def test_pairing_twice_changes_nothing() -> None:
    once = paired([USER, asks("a"), USER, asks("b"), tool_message([result("b")])])
    assert paired(once) == once


def test_the_messages_of_a_step_answer_every_call() -> None:
    calls = asks("a", "b").calls
    said, tool = step_messages("Let me look.", calls, {"b": result("b")})
    assert (said.text, said.calls) == ("Let me look.", calls)
    assert [r.text for r in tool.results] == [CANCELLED, "ok"]
