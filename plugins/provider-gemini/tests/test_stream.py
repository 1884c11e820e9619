"""Streams of generateContent as servers send them, and as none should."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from counterparts import ECHO, Answer, Heard, ask, asking, scripted
from pegboard_provider_gemini.provider import GeminiProvider
from pegboard_provider_gemini.stream import FAULTS, STOPS

from pegboard import Start, TextDelta, ToolCall, ToolCallDelta, ToolCallStart, Usage
from pegboard.providers import ToolNames

pytestmark = pytest.mark.anyio
Make = Callable[..., GeminiProvider]
REASONS = [
    "FINISH_REASON_UNSPECIFIED",
    "STOP",
    "MAX_TOKENS",
    "SAFETY",
    "RECITATION",
    "LANGUAGE",
    "OTHER",
    "BLOCKLIST",
    "PROHIBITED_CONTENT",
    "SPII",
    "MALFORMED_FUNCTION_CALL",
    "IMAGE_SAFETY",
    "IMAGE_PROHIBITED_CONTENT",
    "IMAGE_OTHER",
    "NO_IMAGE",
    "IMAGE_RECITATION",
    "UNEXPECTED_TOOL_CALL",
    "TOO_MANY_TOOL_CALLS",
    "MISSING_THOUGHT_SIGNATURE",
    "MALFORMED_RESPONSE",
    "ESCALATION",
    "PUP_LIMITED_DISABLED",
    "CONTINUATION",
    "MODEL_ARMOR",
]


def chunk(*parts: Any, stop: str | None = None, **more: Any) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    if stop is not None:
        candidate["finishReason"] = stop
    return {
        "candidates": [candidate],
        "modelVersion": "gemini-x",
        "responseId": "resp_1",
        **more,
    }


def call(args: Any = None, **fields: Any) -> dict[str, Any]:
    made: dict[str, Any] = {"name": "echo", **fields}
    if args is not None:
        made["args"] = args
    return {"functionCall": made}


def body(*chunks: Any, end: str = "\r\n\r\n") -> bytes:
    """Return a stream as the service writes it."""
    return "".join(f"data: {json.dumps(item, ensure_ascii=False)}{end}" for item in chunks).encode()


async def heard(gemini: Make, *chunks: Any, **answer: Any) -> Heard:
    """Return what a provider makes of a stream."""
    async with scripted(Answer([body(*chunks)], **answer)) as server:
        return await ask(gemini(server.url), asking(tools=(ECHO,)))


async def test_text_reasoning_and_calls_become_one_answer(gemini: Make) -> None:
    signed = {**call({"text": "修"}), "thoughtSignature": "c2ln"}
    found = await heard(
        gemini,
        chunk({"text": "They want ", "thought": True}),
        chunk({"text": "two.", "thought": True}),
        chunk({"text": "Here "}),
        chunk({"text": "they are."}, usageMetadata={"promptTokenCount": 110}),
        chunk(signed, call({"text": "b"}, id="their-id")),
        chunk(
            {"text": "", "thoughtSignature": "bGFzdA=="},
            stop="STOP",
            usageMetadata={
                "promptTokenCount": 110,
                "candidatesTokenCount": 20,
                "thoughtsTokenCount": 8,
                "cachedContentTokenCount": 100,
                "toolUsePromptTokenCount": 7,
                "totalTokenCount": 145,
            },
        ),
    )
    done = found.done
    assert found.events[0] == Start("gemini-x", "resp_1")
    assert (found.text, found.thought) == ("Here they are.", "They want two.")
    assert (done.stop, done.raw_stop, done.text) == ("tool_use", "STOP", "Here they are.")
    assert done.calls == (
        ToolCall("call_1", "echo", '{"text": "修"}'),
        ToolCall("their-id", "echo", '{"text": "b"}'),
    )
    assert done.usage == Usage(117, 28, cache_read=100, reasoning=8)
    assert done.state is not None
    assert done.state.payload == [
        {
            "calls": ["call_1", "their-id"],
            "wire": [
                {"text": "They want two.", "thought": True},
                {"text": "Here they are."},
                signed,
                call({"text": "b"}, id="their-id"),
                {"text": "", "thoughtSignature": "bGFzdA=="},
            ],
        }
    ]


async def test_a_body_cut_at_any_byte_says_the_same(gemini: Make) -> None:
    chunks = [
        chunk({"text": "né 🧩\u2028"}),
        chunk({"text": "."}, call({"text": "修"}, id="a"), stop="STOP"),
    ]
    wholes = [body(*chunks), body(*chunks, end="\n\n")]
    cuts = [[whole[:cut], whole[cut:]] for whole in wholes for cut in range(1, len(whole), 3)]
    cuts.append([wholes[0][at : at + 1] for at in range(len(wholes[0]))])
    async with scripted(*(Answer(pieces) for pieces in cuts)) as server:
        provider = gemini(server.url)
        found = [(await ask(provider, asking(tools=(ECHO,)))).done for _ in cuts]
    assert {done.text for done in found} == {"né 🧩\u2028."}
    assert {done.calls for done in found} == {(ToolCall("a", "echo", '{"text": "修"}'),)}


@pytest.mark.parametrize(
    ("args", "told"),
    [(None, "{}"), ({}, "{}"), ("nope", "{}"), ([1], "{}"), ({"a": [1]}, '{"a": [1]}')],
)
async def test_arguments_are_passed_on_as_text(gemini: Make, args: Any, told: str) -> None:
    found = await heard(gemini, chunk(call(args, id="a"), stop="STOP"))
    assert found.done.calls == (ToolCall("a", "echo", told),)
    assert ToolCallStart(0, "a", "echo") in found.events
    assert ToolCallDelta(0, told) in found.events


async def test_calls_without_ids_get_their_own(gemini: Make) -> None:
    answer = Answer([body(chunk(call(), call(), stop="STOP"))])
    async with scripted(answer) as server:
        provider = gemini(server.url)
        ids = [made.id for _ in range(2) for made in (await ask(provider)).done.calls]
    assert ids == ["call_1", "call_2", "call_3", "call_4"]


async def test_texts_with_a_signature_are_not_joined_with_others(gemini: Make) -> None:
    signed = {"text": "b", "thoughtSignature": "c2ln"}
    found = await heard(
        gemini,
        chunk({"text": "a"}, signed, {"text": "c"}),
        chunk({"text": "d"}, {"text": ""}, call(id="x"), stop="STOP"),
    )
    assert found.done.text == "abcd"
    assert found.done.state is not None
    assert found.done.state.payload[0]["wire"] == [
        {"text": "a"},
        signed,
        {"text": "cd"},
        call(id="x"),
    ]


async def test_a_character_torn_into_two_chunks_is_whole_where_it_comes_back(gemini: Make) -> None:
    raw = body(chunk({"text": "HIGH"}), chunk({"text": "LOW"}, call(id="x"), stop="STOP"))
    raw = raw.replace(b"HIGH", rb"\ud83e").replace(b"LOW", rb"\udde9")
    async with scripted(Answer([raw])) as server:
        found = await ask(gemini(server.url))
    assert found.done.state is not None
    assert found.done.state.payload[0]["wire"][0] == {"text": "🧩"}


@pytest.mark.parametrize("reason", [*REASONS, "BRAND_NEW", "FUNCTION_CALL"])
async def test_every_reason_to_stop_is_told(gemini: Make, reason: str) -> None:
    found = await heard(gemini, chunk({"text": "So far"}, stop=reason))
    if reason in FAULTS:
        assert found.failed.kind == FAULTS[reason]
        assert reason in found.failed.message
    else:
        # without a token nobody can go on
        wanted = "max_tokens" if reason == "CONTINUATION" else STOPS.get(reason, "other")
        assert (found.done.stop, found.done.raw_stop) == (wanted, reason)
        assert found.done.text == "So far"


def test_the_known_reasons_are_the_services() -> None:
    assert len(REASONS) == 24
    assert {*STOPS, *FAULTS} <= {*REASONS}
    assert STOPS["STOP"] == "end"
    assert FAULTS["MALFORMED_FUNCTION_CALL"] == "malformed_tool_call"


async def test_a_call_that_cannot_be_read_tells_what_the_service_saw(gemini: Make) -> None:
    last = chunk(stop="MALFORMED_FUNCTION_CALL")
    last["candidates"][0]["finishMessage"] = "Malformed function call:\nprint(echo."
    found = await heard(gemini, last)
    assert found.failed.kind == "malformed_tool_call"
    assert "Malformed function call: print(echo." in found.failed.message


async def test_calls_of_an_answer_that_was_declined_are_not_made(gemini: Make) -> None:
    found = await heard(gemini, chunk(call()), chunk(stop="SAFETY"))
    assert (found.done.stop, found.done.calls) == ("refusal", ())
    found = await heard(gemini, chunk(call()), chunk(stop="MAX_TOKENS"))
    assert (found.done.stop, len(found.done.calls)) == ("max_tokens", 1)
    found = await heard(gemini, chunk(call()), chunk(stop="FUNCTION_CALL"))
    assert found.done.stop == "tool_use"


async def test_a_prompt_that_was_blocked_is_a_refusal(gemini: Make) -> None:
    blocked = {
        "promptFeedback": {"blockReason": "PROHIBITED_CONTENT"},
        "usageMetadata": {"promptTokenCount": 9},
    }
    found = await heard(gemini, blocked)
    assert (found.done.stop, found.done.raw_stop) == ("refusal", "PROHIBITED_CONTENT")
    assert found.done.usage == Usage(9)


async def test_counts_that_come_after_the_end_count(gemini: Make) -> None:
    found = await heard(
        gemini,
        chunk({"text": "a"}, stop="STOP"),
        {"usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": True}},
        {"error": {"code": 500, "message": "too late to count"}},
    )
    assert found.done.usage == Usage(5)


async def test_an_end_without_the_end_of_the_body_is_not_waited_for(gemini: Make) -> None:
    found = await heard(gemini, chunk({"text": "a"}, stop="STOP"), stall=True)
    assert found.done.text == "a"


async def test_chunks_that_come_as_one_list_are_read_as_a_stream(gemini: Make) -> None:
    answer = Answer.json([chunk({"text": "a"}), [chunk({"text": "x"})], chunk(call(), stop="STOP")])
    async with scripted(answer) as server:
        found = await ask(gemini(server.url))
    assert (found.done.text, found.done.stop) == ("a", "tool_use")


@pytest.mark.parametrize(
    "odd",
    [
        5,
        None,
        "x",
        {},
        {"candidates": None},
        {"candidates": []},
        {"candidates": [7]},
        {"candidates": [{"content": {"parts": [None, 5, {"text": 7}, {"functionCall": 3}]}}]},
        {"candidates": [{"content": None, "finishReason": None}]},
        {"promptFeedback": {"blockReason": None}},
        {"usageMetadata": {"promptTokenCount": "many", "x": {}}},
        {"candidates": [{"content": {"parts": [{"executableCode": {"code": "1"}}]}}]},
    ],
    ids=json.dumps,
)
async def test_what_nobody_knows_says_nothing(gemini: Make, odd: Any) -> None:
    found = await heard(gemini, odd, chunk({"text": "a"}, stop="STOP"))
    assert (found.done.text, found.done.stop) == ("a", "end")
    starts = [event for event in found.events if isinstance(event, Start)]
    assert len(starts) == 1
    assert isinstance(next(e for e in found.events if not isinstance(e, Start)), TextDelta)


async def test_an_image_that_the_model_made_is_told(gemini: Make) -> None:
    image = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}
    found = await heard(gemini, chunk({"text": "Here."}, image, stop="STOP"))
    assert found.notices == ["not_shown"]
    assert found.done.text == "Here."


async def test_names_come_back_as_they_were(gemini: Make) -> None:
    declared = [ECHO.__class__(name, "", {"type": "object"}) for name in ("mcp:a.b", "é" * 70)]
    aliases = [ToolNames(tool.name for tool in declared).alias(tool.name) for tool in declared]
    made = [call(id=f"c{number}", name=alias) for number, alias in enumerate(aliases)]
    async with scripted(Answer([body(chunk(*made, stop="STOP"))])) as server:
        found = await ask(gemini(server.url), asking(tools=tuple(declared)))
    assert [made.name for made in found.done.calls] == ["mcp:a.b", "é" * 70]
    assert found.done.state is not None
    assert found.done.state.payload[0]["wire"] == made


async def test_a_long_answer_costs_no_more_for_each_piece(gemini: Make) -> None:
    word = "word " * 20
    found = await heard(gemini, *[chunk({"text": word})] * 5_000, chunk(call(), stop="STOP"))
    assert found.done.text == word * 5_000
    assert found.done.state is not None
    assert found.done.state.payload[0]["wire"][0] == {"text": word * 5_000}
