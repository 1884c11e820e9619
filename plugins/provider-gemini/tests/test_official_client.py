"""The vendor's own client and ours, on the same servers: both must come to the same answer."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from counterparts import ECHO, Answer, Chaos, Journal, answered, ask, asking, called, scripted
from pegboard_provider_gemini.provider import GeminiProvider
from pegboard_provider_gemini.stream import FAULTS, STOPS

from pegboard import ChatRequest, Done, Message, ToolCall

genai = pytest.importorskip("google.genai")
pytestmark = pytest.mark.anyio
Make = Callable[..., GeminiProvider]
MODEL = "gemini-3.8-flash"


@pytest.fixture
async def official(key: str) -> AsyncIterator[Callable[[str], Any]]:
    """Make clients of the vendor: `official(url)`."""
    made: list[Any] = []

    def make(url: str) -> Any:
        options = genai.types.HttpOptions(base_url=url, api_version="v1beta")
        made.append(genai.Client(api_key=key, http_options=options))
        return made[-1]

    yield make
    for client in made:
        await client.aio.aclose()
        client.close()


async def theirs(client: Any, body: dict[str, Any], model: str = MODEL) -> list[Any]:
    """Return the chunks that the vendor's client makes of a request of ours."""
    types = genai.types
    config = types.GenerateContentConfig(
        system_instruction=body.get("systemInstruction"),
        tools=[types.Tool.model_validate(tool) for tool in body.get("tools", ())] or None,
        tool_config=body.get("toolConfig"),
        thinking_config=body.get("generationConfig", {}).get("thinkingConfig"),
        max_output_tokens=body.get("generationConfig", {}).get("maxOutputTokens"),
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
    )
    contents = [types.Content.model_validate(content) for content in body["contents"]]
    stream = await client.aio.models.generate_content_stream(
        model=model, contents=contents, config=config
    )
    return [chunk async for chunk in stream]


def same(ours: Done, chunks: list[Any]) -> None:
    parts = [
        part
        for chunk in chunks
        for candidate in (chunk.candidates or [])[:1]
        for part in (candidate.content.parts if candidate.content else None) or ()
    ]
    assert ours.text == "".join(part.text for part in parts if part.text and not part.thought)
    made = [part.function_call for part in parts if part.function_call]
    assert [(call.name, json.loads(call.arguments)) for call in ours.calls] == [
        (call.name, call.args or {}) for call in made
    ]
    assert [call.id for call, theirs in zip(ours.calls, made, strict=True) if theirs.id] == [
        theirs.id for theirs in made if theirs.id
    ]
    usage = [chunk.usage_metadata for chunk in chunks if chunk.usage_metadata][-1]
    assert ours.usage.input == (usage.prompt_token_count or 0)
    assert ours.usage.output == (usage.candidates_token_count or 0) + (
        usage.thoughts_token_count or 0
    )
    assert ours.usage.cache_read == (usage.cached_content_token_count or 0)
    if ours.calls:
        assert ours.state is not None
        signatures = [
            part["thoughtSignature"]
            for part in ours.state.payload[0]["wire"]
            if "thoughtSignature" in part
        ]
        assert [base64.b64decode(text) for text in signatures] == [
            part.thought_signature for part in parts if part.thought_signature
        ]


def camel_case(value: Any) -> Any:
    """Return data whose keys are written as the service documents them."""
    if isinstance(value, list):
        return [camel_case(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        re.sub(r"_([a-z])", lambda found: found[1].upper(), name): camel_case(item)
        for name, item in value.items()
    }


async def body_of(gemini: Make, request: ChatRequest, **settings: Any) -> dict[str, Any]:
    """Return what our client sends."""
    async with scripted(Answer.json({}, status="400 No")) as server:
        await ask(gemini(server.url, **settings), request)
        return dict(server.requests[0].json)


WHOLE: list[dict[str, Any]] = [
    {"candidates": [{"content": {"role": "model", "parts": [{"text": "Hm.", "thought": True}]}}]},
    {"candidates": [{"content": {"role": "model", "parts": [{"text": "修 and "}]}}]},
    {
        "candidates": [
            {
                "content": {
                    "role": "model",
                    "parts": [
                        {"text": "🧩."},
                        {
                            "functionCall": {"name": "echo", "args": {"text": "é"}},
                            "thoughtSignature": "c2lnbmVk",
                        },
                        {"functionCall": {"name": "echo", "args": {}, "id": "fc_2"}},
                    ],
                },
                "finishReason": "STOP",
            }
        ],
        "usageMetadata": {
            "promptTokenCount": 100,
            "cachedContentTokenCount": 90,
            "candidatesTokenCount": 20,
            "thoughtsTokenCount": 8,
            "totalTokenCount": 128,
        },
    },
]


async def test_a_whole_stream_reads_the_same(gemini: Make, official: Callable[[str], Any]) -> None:
    call = ToolCall("call_1", "echo", '{"text": "a"}')
    request = asking(
        Message.of("system", "Be brief."),
        "Go",
        called(call, text="Well."),
        answered((call, "a")),
        tools=(ECHO,),
        effort="low",
        max_output=99,
        model="gemini-2.5-pro",
    )
    async with scripted(Answer.stream(*WHOLE, done=False)) as server:
        ours = (await ask(gemini(server.url), request)).done
        body = server.requests[0].json
        same(ours, await theirs(official(server.url), body, "gemini-2.5-pro"))
        mine, official_request = server.requests
    assert mine.path == official_request.path
    assert mine.headers["x-goog-api-key"] == official_request.headers["x-goog-api-key"]
    sent = official_request.json
    assert sent.pop("systemInstruction")["parts"] == body.pop("systemInstruction")["parts"]
    # to the service the two ways to write a name are one
    assert camel_case(sent) == camel_case(body)


@pytest.mark.parametrize("calls", [False, True], ids=["text", "calls"])
async def test_the_same_on_aimock(
    journal: Journal, gemini: Make, official: Callable[[str], Any], calls: bool
) -> None:
    response: dict[str, Any] = {
        "content": "Words, and 🧩.",
        "reasoning": "Why not.",
        "usage": {"promptTokenCount": 11, "candidatesTokenCount": 22},
        "finishReason": "stop",  # aimock's own word for calls is none of the vendor's
    }
    if calls:
        response["toolCalls"] = [
            {"name": "echo", "arguments": '{"text":"a"}', "id": "fc_a"},
            {"name": "echo", "arguments": "{}", "id": "fc_b"},
        ]
    journal.answer({"match": {}, "response": response})
    request = asking("Go", tools=(ECHO,))
    ours = (await ask(gemini(journal.url), request)).done
    same(ours, await theirs(official(journal.url), await body_of(gemini, request)))


async def test_the_same_on_llmock(
    chaos: Chaos, gemini: Make, official: Callable[[str], Any]
) -> None:
    url = f"{chaos.url}/gemini"
    chaos.behave({"type": "reply", "text": "The same for both.", "times": 2})
    request = asking("Go")
    ours = (await ask(gemini(url), request)).done
    same(ours, await theirs(official(url), await body_of(gemini, request)))


@pytest.mark.parametrize("status", [400, 401, 403, 404, 429, 500, 503])
async def test_both_fail_on_the_same_answers(
    gemini: Make, official: Callable[[str], Any], status: int
) -> None:
    body = {"error": {"code": status, "message": "Because.", "status": "X"}}
    async with scripted(Answer.json(body, status=f"{status} No")) as server:
        failed = (await ask(gemini(server.url))).failed
        with pytest.raises(genai.errors.APIError) as caught:
            await theirs(official(server.url), server.requests[0].json)
    assert failed.status == caught.value.code
    assert "Because." in failed.message


def test_the_known_reasons_to_stop_are_those_of_the_vendors_client() -> None:
    known = {reason.value for reason in genai.types.FinishReason}
    assert {*STOPS, *FAULTS} <= known
    assert len(known) == 24


def test_the_client_of_the_vendor_is_not_loaded_by_ours() -> None:
    code = "import sys, pegboard_provider_gemini.provider; print('google.genai' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "False"
