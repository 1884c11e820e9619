"""llama.cpp's own server with a real model: a loop with a tool, its cache, and its limits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import anyio
import pytest
from counterparts import ECHO, Llama, answered, ask, asking, called, shown_twice
from pegboard_provider_anthropic.provider import AnthropicProvider

from pegboard import TextDelta

pytestmark = pytest.mark.anyio
Make = Callable[..., AnthropicProvider]


@pytest.fixture
def real(llama: Llama, messages: Make) -> AnthropicProvider:
    return messages(llama.url, model="tiny")


async def test_a_loop_with_a_tool_runs_to_its_end(real: AnthropicProvider) -> None:
    asked = asking(*shown_twice(), "Echo hello", tools=(ECHO,), max_output=60)
    first = (await ask(real, asked)).done
    (call,) = first.calls
    assert (call.name, first.stop) == ("echo", "tool_use")
    assert call.id
    grown = (*asked.messages, called(call, text=first.text), answered((call, "hello")))
    second = (await ask(real, replace(asked, messages=grown, state=first.state))).done
    assert second.stop in ("end", "tool_use", "max_tokens")
    assert second.usage.input > first.usage.input


async def test_what_repeats_is_read_from_the_cache(real: AnthropicProvider) -> None:
    asked = asking("Tell me about the sea. " * 20, max_output=8)
    first = (await ask(real, asked)).done
    second = (await ask(real, asked)).done
    assert first.usage.input == second.usage.input > 100
    assert second.usage.cache_read > 100
    assert second.usage.cache_read < second.usage.input
    assert (second.usage.output, second.stop) == (8, "max_tokens")


async def test_a_conversation_too_long_for_the_window_is_told(
    llama: Llama, real: AnthropicProvider
) -> None:
    failed = (await ask(real, asking("word " * llama.context * 2))).failed
    assert failed.kind == "context_overflow"


async def test_closing_the_stream_frees_the_model(llama: Llama, real: AnthropicProvider) -> None:
    stream = real.stream(asking("Write a very long story.", max_output=1_000))
    async for event in stream:
        if isinstance(event, TextDelta):
            break
    assert any(slot["is_processing"] for slot in llama.slots())
    await stream.aclose()  # type: ignore[attr-defined]
    with anyio.fail_after(20):
        while any(slot["is_processing"] for slot in llama.slots()):
            await anyio.sleep(0.1)


async def test_its_models_are_listed(real: AnthropicProvider) -> None:
    (model,) = await real.models()
    assert model.id
