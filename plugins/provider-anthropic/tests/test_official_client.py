"""The vendor's own client and ours, on the same servers: both must come to the same answer."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest
from counterparts import ECHO, Answer, Chaos, Journal, Llama, ask, asking, scripted, shown_twice
from pegboard_provider_anthropic.provider import AnthropicProvider

from pegboard import ChatRequest, Done

anthropic = pytest.importorskip("anthropic")
pytestmark = pytest.mark.anyio
Make = Callable[..., AnthropicProvider]
STOPS = {"end_turn": "end", "tool_use": "tool_use", "max_tokens": "max_tokens"}


@pytest.fixture
async def official(key: str) -> AsyncIterator[Callable[[str], Any]]:
    """Make clients of the vendor: `official(url)`."""
    made: list[Any] = []

    def make(url: str) -> Any:
        made.append(anthropic.AsyncAnthropic(api_key=key, base_url=url, max_retries=0))
        return made[-1]

    yield make
    for client in made:
        await client.close()


async def theirs(client: Any, body: dict[str, Any]) -> Any:
    """Return the message that the vendor's client makes of a request of ours."""
    fields = {name: value for name, value in body.items() if name != "stream"}
    async with client.messages.stream(**fields) as stream:
        return await stream.get_final_message()


def same(ours: Done, theirs: Any) -> None:
    blocks = [block.model_dump(mode="json", exclude_unset=True) for block in theirs.content]
    assert ours.text == "".join(block["text"] for block in blocks if block["type"] == "text")
    calls = [block for block in blocks if block["type"] == "tool_use"]
    assert [(call.id, call.name, json.loads(call.arguments)) for call in ours.calls] == [
        (call["id"], call["name"], call["input"]) for call in calls
    ]
    assert ours.stop == STOPS[theirs.stop_reason]
    usage = theirs.usage
    read, written = usage.cache_read_input_tokens or 0, usage.cache_creation_input_tokens or 0
    assert ours.usage.input == usage.input_tokens + read + written
    assert ours.usage.output == usage.output_tokens
    assert (ours.usage.cache_read, ours.usage.cache_write) == (read, written)
    if ours.calls:
        assert ours.state is not None
        wire = ours.state.payload[0]["wire"]
        assert wire == [block for block in blocks if block.get("text", "x").strip()]


async def body_of(messages: Make, request: ChatRequest, **settings: Any) -> dict[str, Any]:
    """Return what our client sends."""
    async with scripted(Answer.json({}, status="400 No")) as server:
        await ask(messages(server.url, **settings), request)
        return dict(server.requests[0].json)


WHOLE: list[dict[str, Any]] = [
    {
        "type": "message_start",
        "message": {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "claude-x",
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {
                "input_tokens": 3,
                "cache_read_input_tokens": 90,
                "cache_creation_input_tokens": 7,
                "output_tokens": 1,
            },
        },
    },
    {"type": "ping"},
    {
        "type": "content_block_start",
        "index": 0,
        "content_block": {"type": "thinking", "thinking": "", "signature": ""},
    },
    {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "thinking_delta", "thinking": "Hm 🧩."},
    },
    {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "signature_delta", "signature": "c2ln"},
    },
    {"type": "content_block_stop", "index": 0},
    {
        "type": "content_block_start",
        "index": 1,
        "content_block": {"type": "redacted_thinking", "data": "b3BhcXVl"},
    },
    {"type": "content_block_stop", "index": 1},
    {"type": "content_block_start", "index": 2, "content_block": {"type": "text", "text": ""}},
    {
        "type": "content_block_delta",
        "index": 2,
        "delta": {"type": "text_delta", "text": "修 and so on."},
    },
    {"type": "content_block_stop", "index": 2},
    {
        "type": "content_block_start",
        "index": 3,
        "content_block": {"type": "tool_use", "id": "toolu_1", "name": "echo", "input": {}},
    },
    {
        "type": "content_block_delta",
        "index": 3,
        "delta": {"type": "input_json_delta", "partial_json": '{"text": '},
    },
    {
        "type": "content_block_delta",
        "index": 3,
        "delta": {"type": "input_json_delta", "partial_json": '"é"}'},
    },
    {"type": "content_block_stop", "index": 3},
    {
        "type": "message_delta",
        "delta": {"stop_reason": "tool_use", "stop_sequence": None},
        "usage": {"output_tokens": 20},
    },
    {"type": "message_stop"},
]


async def test_a_whole_stream_reads_the_same(
    messages: Make, official: Callable[[str], Any]
) -> None:
    raw = b"".join(
        f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in WHOLE
    )
    async with scripted(Answer([raw])) as server:
        ours = (await ask(messages(server.url), asking(tools=(ECHO,)))).done
        body = server.requests[0].json
        same(ours, await theirs(official(server.url), body))
        mine, official_request = server.requests
    # theirs carries the key as a bearer's; every version takes ours too
    for name in ("anthropic-version", "content-type"):
        assert mine.headers[name] == official_request.headers[name]
    assert mine.path == official_request.path
    assert mine.json == official_request.json


@pytest.mark.parametrize("calls", [False, True], ids=["text", "calls"])
async def test_the_same_on_aimock(
    journal: Journal, messages: Make, official: Callable[[str], Any], calls: bool
) -> None:
    response: dict[str, Any] = {
        "content": "Words, and 🧩.",
        "reasoning": "Why not.",
        "id": "msg_fixed",
        "usage": {"input_tokens": 11, "output_tokens": 22},
    }
    if calls:
        response["toolCalls"] = [
            {"name": "echo", "arguments": '{"text":"a"}', "id": "toolu_a"},
            {"name": "echo", "arguments": "{}", "id": "toolu_b"},
        ]
    journal.answer({"match": {}, "response": response})
    request = asking("Go", tools=(ECHO,), model="claude-sonnet-5")
    ours = (await ask(messages(journal.url), request)).done
    same(ours, await theirs(official(journal.url), await body_of(messages, request)))


async def test_the_same_on_llmock(
    chaos: Chaos, messages: Make, official: Callable[[str], Any]
) -> None:
    url = f"{chaos.url}/anthropic"
    reply = {"type": "reply", "text": "The same for both.", "times": 2}
    chaos.behave(reply)
    request = asking("Go", model="claude-sonnet-4-6")
    ours = (await ask(messages(url), request)).done
    same(ours, await theirs(official(url), await body_of(messages, request)))


@pytest.mark.parametrize("tools", [False, True], ids=["text", "call"])
async def test_a_stream_of_a_real_model_reads_the_same(
    llama: Llama, messages: Make, official: Callable[[str], Any], tools: bool
) -> None:
    said = (*shown_twice(), "Echo hello") if tools else ("Say hello",)
    request = asking(*said, tools=(ECHO,) if tools else (), model="tiny", max_output=24)
    body = await body_of(messages, request)
    async with httpx.AsyncClient(timeout=60) as client:  # its answers depend on chance: take one
        raw = (await client.post(f"{llama.url}/v1/messages", json=body)).content
    async with scripted(Answer([raw])) as server:
        ours = (await ask(messages(server.url), request)).done
        found = await theirs(official(server.url), body)
    same(ours, found)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 429, 500, 529])
async def test_both_fail_on_the_same_answers(
    messages: Make, official: Callable[[str], Any], status: int
) -> None:
    kinds = {
        400: "invalid_request_error",
        401: "authentication_error",
        403: "permission_error",
        404: "not_found_error",
        413: "request_too_large",
        429: "rate_limit_error",
        500: "api_error",
        529: "overloaded_error",
    }
    body = {"type": "error", "error": {"type": kinds[status], "message": "Because."}}
    async with scripted(Answer.json(body, status=f"{status} No")) as server:
        failed = (await ask(messages(server.url))).failed
        with pytest.raises(anthropic.APIStatusError) as caught:
            await theirs(official(server.url), {**server.requests[0].json})
    assert failed.status == caught.value.status_code
    assert "Because." in failed.message


def test_the_client_of_the_vendor_is_not_loaded_by_ours() -> None:
    code = "import sys, pegboard_provider_anthropic.provider; print('anthropic' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "False"
