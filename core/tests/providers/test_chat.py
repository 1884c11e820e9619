from __future__ import annotations

import pytest

from pegboard.contracts.message import CallResult, Message, ToolCall
from pegboard.contracts.provider import ChatRequest, Done, ProviderError, ProviderState, Usage
from pegboard.contracts.result import Text
from pegboard.providers.chat import RouteModel, chat, continue_
from pegboard.providers.route import Hop, Route

pytestmark = pytest.mark.anyio


async def test_chat_returns_the_whole_answer(raw, clock) -> None:
    call = ToolCall("a", "read", "{}")
    provider = raw([Done(stop="tool_use", text="Hm", calls=(call,), usage=Usage(3, 4))])
    route = Route([Hop(name="raw", provider=provider)], clock=clock)
    found = await chat(route, ChatRequest())
    assert (found.text, found.calls, found.usage, found.stop) == (
        "Hm", (call,), Usage(3, 4), "tool_use",
    )  # fmt: skip


async def test_chat_raises_what_the_provider_says(raw, clock) -> None:
    route = Route(
        [Hop(name="raw", provider=raw([ProviderError("no key", kind="auth")]))], clock=clock
    )
    with pytest.raises(ProviderError, match="no key"):
        await chat(route, ChatRequest())


async def test_continue_sends_the_state_and_every_result(raw, answer) -> None:
    provider = raw(answer("There."))
    calls = (ToolCall("a", "read", "{}"), ToolCall("b", "read", "{}"))
    state = ProviderState("raw", "raw", "", "", [1])
    done = Done(stop="tool_use", text="Let me look.", calls=calls, state=state)
    request = ChatRequest(messages=(Message.of("user", "Read"),))
    result = CallResult("a", "read", (Text("42"),))
    events = [event async for event in continue_(provider, request, done, {"a": result})]
    assert events[-1].text == "There."
    sent = provider.requests[0]
    assert sent.state is state
    assert [m.role for m in sent.messages] == ["user", "assistant", "tool"]
    assert [r.text for r in sent.messages[-1].results] == ["42", "Cancelled"]


async def test_a_tool_asks_the_runs_model_once(raw, answer, clock) -> None:
    provider = raw(answer("Blue"))
    model = RouteModel(Route([Hop(name="raw", provider=provider)], clock=clock))
    assert (await model.complete("Which colour?", max_output=10)).text == "Blue"
    assert provider.requests[0].messages == (Message.of("user", "Which colour?"),)
    assert (provider.requests[0].tools, provider.requests[0].max_output) == ((), 10)
