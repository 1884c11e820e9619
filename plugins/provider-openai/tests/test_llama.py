"""Against llama.cpp's own server, with a real model of 135 million parameters."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing
from dataclasses import replace

import anyio
import pytest
from counterparts import ECHO, Llama, answered, ask, asking, called, shown_twice

from pegboard import Message, Provider, TextDelta, ToolCall

pytestmark = pytest.mark.anyio
Make = Callable[..., Provider]
TOOLS = asking(*shown_twice(), "Echo hello", tools=(ECHO,), max_output=60, model="tiny")


@pytest.fixture(params=["chat", "responses"])
def make(request: pytest.FixtureRequest) -> Make:
    """Make a provider of either type."""
    return request.getfixturevalue(request.param)


async def test_text_is_streamed_and_counted(make: Make, llama: Llama) -> None:
    found = await ask(make(llama.url), asking("Say hello", model="tiny", max_output=30))
    assert found.text == found.done.text != ""
    assert sum(isinstance(event, TextDelta) for event in found.events) > 1
    assert found.done.usage.input > 5
    assert 0 < found.done.usage.output <= 30
    assert not found.done.usage.estimated


async def test_a_tool_is_called_and_its_result_leads_to_an_answer(make: Make, llama: Llama) -> None:
    provider = make(llama.url)
    done = (await ask(provider, TOOLS)).done
    (call,) = done.calls
    assert (call.name, call.arguments) == ("echo", '{"text": "hello"}')
    assert (done.stop, done.text) == ("tool_use", "")
    grown = (*TOOLS.messages, called(call), answered((call, "hello")))
    end = (await ask(provider, replace(TOOLS, messages=grown, state=done.state))).done
    assert (end.calls, end.stop) == ((), "end")
    assert "hello" in end.text


async def test_a_prompt_that_was_read_before_is_counted_as_cached(make: Make, llama: Llama) -> None:
    provider = make(llama.url)
    await ask(provider, TOOLS)
    usage = (await ask(provider, TOOLS)).done.usage
    assert usage.input > 100
    assert 0.9 * usage.input <= usage.cache_read <= usage.input


async def test_an_answer_is_cut_at_its_longest_length(make: Make, llama: Llama) -> None:
    request = asking("Tell me a long story about the sea", model="tiny", max_output=8)
    done = (await ask(make(llama.url), request)).done
    assert done.stop == "max_tokens"
    assert done.usage.output == 8


async def test_a_call_cut_inside_its_arguments_is_cut(make: Make, llama: Llama) -> None:
    request = replace(TOOLS, max_output=10)
    found = await ask(make(llama.url), request)
    # some versions tell it as an error of their own: what they were to parse is no call yet
    if found.error is None:
        assert found.done.stop == "max_tokens"
        assert '"hello"}' not in "".join(call.arguments for call in found.done.calls)
    else:
        assert found.error.kind == "server"


async def test_a_conversation_that_is_too_long_is_an_overflow(make: Make, llama: Llama) -> None:
    request = asking("word " * llama.context, model="tiny")
    failed = (await ask(make(llama.url), request)).failed
    assert failed.kind == "context_overflow"
    assert str(llama.context) in failed.message


async def test_leaving_a_stream_frees_the_slot(make: Make, llama: Llama) -> None:
    request = asking("Write a very long story about the sea", model="tiny", max_output=1_000)
    async with aclosing(make(llama.url).stream(request)) as events:
        async for event in events:
            if isinstance(event, TextDelta):
                assert any(slot["is_processing"] for slot in llama.slots())
                break
    with anyio.fail_after(10):
        while any(slot["is_processing"] for slot in llama.slots()):
            await anyio.sleep(0.05)


async def test_the_model_is_found_with_its_window(chat: Make, llama: Llama) -> None:
    provider = chat(llama.url, server="llamacpp", model="")
    found = await provider.models()
    assert [model.id for model in found] == ["tiny"]
    assert found[0].caps.context == llama.context
    assert (await ask(provider, asking("Say hello", max_output=8))).text


async def test_a_call_that_was_no_json_does_not_cost_the_conversation(
    make: Make, llama: Llama
) -> None:
    bad = ToolCall("c1", "echo", '{"text": ')
    history = [Message.of("user", "Echo x"), called(bad), answered((bad, "Error: no JSON"))]
    request = asking(*history, "Say hello", tools=(ECHO,), model="tiny", max_output=16)
    found = await ask(make(llama.url), request)
    assert found.error is None or "format" in found.error.message, found.error
