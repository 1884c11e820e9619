"""The vendor's own client, on the same servers with the same requests: it must read the same.

The client is a tool of these tests only; nothing of it is needed to ask a model.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from counterparts import ECHO, Answer, Chaos, Journal, Llama, ask, asking, scripted, shown_twice

from pegboard import ChatRequest, Done, Provider

pytestmark = [
    pytest.mark.anyio,
    # the client still speaks of what it will take away one day
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]
openai = pytest.importorskip("openai", reason="the official client is not installed")
Make = Callable[..., Provider]
Read = tuple[str, list[tuple[str, str]], str, tuple[int, int, int]]
"""Text, calls, why it stopped, and tokens: read, written, cached."""
STOPS = {"stop": "end", "tool_calls": "tool_use", "length": "max_tokens", "completed": "end"}


@pytest.fixture
async def client() -> AsyncIterator[Callable[[str], Any]]:
    opened: list[Any] = []

    def make(url: str) -> Any:
        made = openai.AsyncOpenAI(api_key="sk-x", base_url=f"{url}/v1", max_retries=0)
        opened.append(made)
        return made

    yield make
    for made in opened:
        await made.close()


async def payload_of(make: Make, request: ChatRequest) -> dict[str, Any]:
    """Return what the provider sends, as a server of ours receives it."""
    async with scripted(Answer.json({}, "500 Oops")) as server:
        await ask(make(server.url), request)
        body: dict[str, Any] = server.requests[0].json
    return {name: value for name, value in body.items() if name != "stream"}


def ours(done: Done) -> Read:
    usage = done.usage
    calls = [(call.name, call.arguments) for call in done.calls]
    return done.text, calls, done.stop, (usage.input, usage.output, usage.cache_read)


async def theirs_over_chat(client: Any, payload: dict[str, Any]) -> Read:
    async with client.chat.completions.stream(**payload) as stream:
        final = await stream.get_final_completion()
    message, usage = final.choices[0].message, final.usage
    cached = usage.prompt_tokens_details.cached_tokens if usage.prompt_tokens_details else 0
    calls = [(call.function.name, call.function.arguments) for call in message.tool_calls or ()]
    stop = STOPS[final.choices[0].finish_reason]
    tokens = (usage.prompt_tokens, usage.completion_tokens, cached or 0)
    return message.content or "", calls, stop, tokens


async def theirs_over_responses(client: Any, payload: dict[str, Any]) -> Read:
    # the client's own helper fails on servers that leave out a field, so the events are read here
    text, final = "", None
    async for event in await client.responses.create(stream=True, **payload):
        if event.type == "response.output_text.delta":
            text += event.delta
        elif event.type in ("response.completed", "response.incomplete"):
            final = event.response
    assert final is not None
    calls = [(i.name, i.arguments) for i in final.output if i.type == "function_call"]
    stop = "tool_use" if calls else STOPS.get(final.status or "", "max_tokens")
    usage = final.usage
    cached = usage.input_tokens_details.cached_tokens if usage.input_tokens_details else 0
    return text, calls, stop, (usage.input_tokens, usage.output_tokens, cached or 0)


THEIRS = {"chat": theirs_over_chat, "responses": theirs_over_responses}
TEXT = asking("Hello", model="tiny", max_output=60)
CALL = asking(*shown_twice(), "Echo hello", model="tiny", tools=(ECHO,), max_output=60)


@pytest.fixture(params=["chat", "responses"])
def dialect(request: pytest.FixtureRequest) -> tuple[str, Make]:
    """Return a dialect, and what makes providers for it."""
    return request.param, request.getfixturevalue(request.param)


@pytest.fixture(params=["chaos", "journal", "llama"])
def server(request: pytest.FixtureRequest) -> Chaos | Journal | Llama:
    """Return a server that nobody here wrote."""
    return request.getfixturevalue(request.param)


@pytest.mark.parametrize("asked", [TEXT, CALL], ids=["text", "call"])
async def test_both_read_the_same(
    client: Callable[[str], Any],
    server: Chaos | Journal | Llama,
    dialect: tuple[str, Make],
    asked: ChatRequest,
) -> None:
    prepare(server)
    name, make = dialect
    payload = await payload_of(make, asked)
    provider = make(server.url)
    if isinstance(server, Llama):
        await ask(provider, asked)  # so that both find the prompt in the cache
    found = ours((await ask(provider, asked)).done)
    assert found == await THEIRS[name](client(server.url), payload)
    assert found[0] or found[1]


def prepare(server: Chaos | Journal | Llama) -> None:
    if isinstance(server, Journal):
        call = {"type": "toolCall", "id": "c1", "name": "echo", "arguments": {"text": "hello"}}
        usage = {"prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14}
        server.answer(
            {"match": {"toolName": "echo"}, "response": {"blocks": [call], "usage": usage}},
            {"match": {}, "response": {"content": "Grüße 🧩, all.", "usage": usage}},
        )
