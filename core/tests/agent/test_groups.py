from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pegboard.agent.groups import Step, seams_of, steps_of
from pegboard.contracts.message import CallResult, Message, ToolCall, tool_message
from pegboard.contracts.result import Text


def asks(*ids: str) -> Message:
    return Message("assistant", calls=tuple(ToolCall(id, "look", "{}") for id in ids))


def answers(*ids: str) -> Message:
    return tool_message([CallResult(id, "look", (Text("seen"),)) for id in ids])


HELLO = Message.of("user", "hello")
FINE = Message.of("assistant", "fine")


def test_a_step_is_a_message_with_calls_and_the_messages_that_answer_them() -> None:
    found = steps_of([HELLO, asks("a", "b"), answers("a", "b"), FINE])
    assert found == (Step(1, (2,), complete=True),)


def test_results_in_several_messages_belong_to_one_step() -> None:
    found = steps_of([asks("a", "b"), answers("b"), HELLO, answers("a")])
    assert found == (Step(0, (1, 3), complete=True),)


def test_a_step_that_lacks_a_result_is_not_complete() -> None:
    assert steps_of([asks("a", "b"), answers("a")]) == (Step(0, (1,), complete=False),)


def test_an_id_that_comes_again_belongs_to_the_step_it_follows() -> None:
    messages = [asks("a"), FINE, asks("a"), answers("a")]
    assert steps_of(messages) == (Step(0, (), complete=False), Step(2, (3,), complete=True))


def test_a_conversation_may_be_cut_everywhere_but_inside_a_step() -> None:
    assert seams_of([HELLO, asks("a"), answers("a"), FINE, HELLO]) == (0, 1, 3, 4, 5)


def test_a_call_that_never_ended_does_not_bar_what_follows() -> None:
    assert seams_of([HELLO, asks("a"), FINE, HELLO]) == (0, 1, 2, 3, 4)


def test_behind_a_call_that_runs_there_is_no_seam() -> None:
    messages = [HELLO, asks("a", "b"), answers("a")]
    assert seams_of(messages, running=True) == (0, 1)


@st.composite
def conversations(draw: st.DrawFn) -> list[Message]:
    messages: list[Message] = []
    for number in range(draw(st.integers(0, 6))):
        ids = [f"{number}-{i}" for i in range(draw(st.integers(0, 7)))]
        messages.append(HELLO)
        if ids:
            messages.append(asks(*ids))
            split = draw(st.integers(0, len(ids)))
            messages += [answers(*part) for part in (ids[:split], ids[split:]) if part]
        messages.append(FINE)
    return messages


@given(conversations())
def test_at_no_seam_a_call_is_parted_from_its_result(messages: list[Message]) -> None:
    for place in seams_of(messages):
        before = {call.id for message in messages[:place] for call in message.calls}
        after = {result.call_id for message in messages[place:] for result in message.results}
        assert not before & after
