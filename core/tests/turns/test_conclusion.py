from __future__ import annotations

import json
from dataclasses import replace

import pytest

from pegboard.contracts.message import CallResult, Message, OutboundMessage, ToolCall, tool_message
from pegboard.contracts.provider import Usage
from pegboard.contracts.result import Text
from pegboard.contracts.turn import OutboxPart
from pegboard.contracts.wire import WireError
from pegboard.turns import markers
from pegboard.turns.conclusion import Conclusion, conclusion_of, part_message, reply_forms

USER, ANSWER = Message.of("user", "Hi"), Message.of("assistant", "Hello! \udcff")
CALLS = (
    Message("assistant", calls=(ToolCall("c", "look", "{}"),)),
    tool_message([CallResult("c", "look", (Text("7"),))]),
)
WHOLE = Conclusion(
    status="done",
    text="Hello! \udcff",
    messages=(USER, *CALLS, ANSWER),
    answered=True,
    error={"code": "x", "message": "y", "fix": None, "exit_code": 7},
    steps=2,
    usage=Usage(input=5, output=6),
    tool_calls=1,
    tool_failures=1,
    tokens=11,
    at=3.5,
)


def kept(conclusion: Conclusion, *texts: str) -> list[OutboxPart]:
    """Return a reply as the store gives it back."""
    messages = [OutboundMessage(chat="1", text=text, id=f"t:{n}") for n, text in enumerate(texts)]
    forms = json.loads(json.dumps(reply_forms(conclusion, messages)))
    return [OutboxPart(turn="t", part=n, key="k", message=form) for n, form in enumerate(forms)]


@pytest.mark.parametrize("texts", [("Hello! \udcff",), ("Hello!", "\udcff"), ("(note)\n\nHello!",)])
def test_what_a_turn_came_to_is_kept_with_its_reply(texts: tuple[str, ...]) -> None:
    parts = kept(WHOLE, *texts)
    assert conclusion_of(parts) == WHOLE
    assert [part_message(part.message).text for part in parts] == list(texts)
    assert [part.message["text"] for part in parts] == list(texts)


def test_without_a_reply_nothing_is_concluded() -> None:
    assert conclusion_of([]) is None


@pytest.mark.parametrize("form", [{}, {"end": {}}, {"end": {"status": "done"}}, {"end": 7}])
def test_what_is_no_reply_is_refused(form: dict[str, object]) -> None:
    with pytest.raises(WireError):
        conclusion_of([OutboxPart(turn="t", part=0, key="k", message=form)])


def test_an_answer_that_reached_nobody_is_replaced_by_a_marker() -> None:
    undelivered = WHOLE.undelivered("gone")
    assert undelivered.messages == (USER, *CALLS, markers.UNDELIVERED)
    assert undelivered.outcome.error is not None
    assert undelivered.outcome.error["cause"] == "gone"
    beside = replace(WHOLE, messages=(USER, *CALLS), answered=False)
    assert beside.undelivered("gone").messages == (USER, *CALLS, markers.UNDELIVERED)


def test_an_answer_in_doubt_stays_in_the_history() -> None:
    assert WHOLE.doubted("cut off").messages == WHOLE.messages
    assert WHOLE.doubted("cut off").status == "failed"


def test_a_stopped_turn_is_closed_by_a_marker_and_never_begun_ones_leave_none() -> None:
    assert WHOLE.stopped().messages == (*WHOLE.messages, markers.STOPPED)
    assert (WHOLE.stopped().status, WHOLE.stopped().text) == ("cancelled", "")
    nothing = replace(WHOLE, messages=())
    assert nothing.stopped().messages == nothing.undelivered("gone").messages == ()
