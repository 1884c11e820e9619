from __future__ import annotations

import pytest

from pegboard import ChatRequest, Done, Message, ProviderError
from pegboard.testing import Call, Cut, Fail, ScriptedModel

pytestmark = pytest.mark.anyio
REQUEST = ChatRequest(messages=(Message.of("user", "Hello"),))


async def answer(model: ScriptedModel) -> Done:
    events = [event async for event in model.stream(REQUEST)]
    assert isinstance(events[-1], Done)
    return events[-1]


async def test_each_request_gets_the_next_answer() -> None:
    model = ScriptedModel(["one", Call("files_read", path="a"), ["two", Call("x"), Call("y")]])
    assert (await answer(model)).text == "one"
    (call,) = (await answer(model)).calls
    assert (call.name, call.arguments) == ("files_read", '{"path": "a"}')
    last = await answer(model)
    assert (last.text, [call.name for call in last.calls]) == ("two", ["x", "y"])
    assert model.left == 0
    assert model.requests == [REQUEST] * 3


async def test_a_script_that_ended_says_so() -> None:
    with pytest.raises(ProviderError, match="no answer for request 1") as caught:
        await answer(ScriptedModel([]))
    assert caught.value.kind == "bad_request"


async def test_the_last_answer_can_repeat() -> None:
    model = ScriptedModel(["one", "again"], repeat=True)
    assert [(await answer(model)).text for _ in range(4)] == ["one", "again", "again", "again"]


async def test_an_answer_can_depend_on_the_request() -> None:
    model = ScriptedModel([lambda request: f"You said {request.messages[-1].text}"])
    assert (await answer(model)).text == "You said Hello"


async def test_a_failure_comes_after_its_text() -> None:
    model = ScriptedModel([Fail("rate_limit", "slow down", after="so far", retry_after=3.0)])
    texts = []
    with pytest.raises(ProviderError, match="slow down") as caught:
        async for event in model.stream(REQUEST):
            texts.append(getattr(event, "text", ""))
    assert "".join(texts) == "so far"
    assert (caught.value.kind, caught.value.retry_after) == ("rate_limit", 3.0)
    assert caught.value.started


async def test_a_cut_stream_ends_without_done() -> None:
    model = ScriptedModel([Cut("half", Call("shell", command="rm"))])
    events = [event async for event in model.stream(REQUEST)]
    assert not any(isinstance(event, Done) for event in events)


async def test_arguments_can_be_written_badly() -> None:
    (call,) = (await answer(ScriptedModel([Call("x", '{"path": ')]))).calls
    assert call.arguments == '{"path": '


def test_a_text_is_no_script() -> None:
    with pytest.raises(TypeError, match="list of answers"):
        ScriptedModel("hello")
