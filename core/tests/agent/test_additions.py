from __future__ import annotations

from dataclasses import replace

import pytest

from pegboard.agent.additions import only_added
from pegboard.contracts.message import CallResult, Message, ToolCall
from pegboard.contracts.result import Text

ASK = Message.of("user", "How many?")
CALL = Message("assistant", calls=(ToolCall("c", "count", "{}"),))
RESULT = Message("tool", results=(CallResult("c", "count", (Text("7"),)),))
NOTE = Text("It is late.")
SAID = (ASK, CALL, RESULT)


def noted(message: Message) -> Message:
    if message.results:
        (result,) = message.results
        return replace(message, results=(replace(result, parts=(*result.parts, NOTE)),))
    return replace(message, parts=(*message.parts, NOTE))


@pytest.mark.parametrize(
    "after",
    [
        SAID,
        (Message.of("system", "Be brief."), *SAID, Message.of("user", "Well?")),
        (noted(ASK), CALL, RESULT),
        (ASK, CALL, noted(RESULT)),
    ],
)
def test_what_was_said_is_still_there(after: tuple[Message, ...]) -> None:
    assert only_added(SAID, after)


@pytest.mark.parametrize(
    "after",
    [
        (),
        (ASK, CALL),
        (CALL, ASK, RESULT),
        (Message.of("user", "hidden"), CALL, RESULT),
        (replace(ASK, parts=(NOTE, *ASK.parts)), CALL, RESULT),
        (ASK, replace(CALL, calls=()), RESULT),
        (ASK, CALL, replace(RESULT, results=())),
        (ASK, CALL, replace(RESULT, results=(CallResult("c", "count", (Text("8"),)),))),
        (ASK, CALL, replace(RESULT, results=(CallResult("d", "count", (Text("7"),)),))),
    ],
)
def test_something_is_no_longer_as_it_was(after: tuple[Message, ...]) -> None:
    assert not only_added(SAID, after)
