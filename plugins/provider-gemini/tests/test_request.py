"""What is sent: portable conversations as generateContent takes them."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from counterparts import ECHO, Answer, Kept, answered, ask, asking, called, scripted
from pegboard_provider_gemini.conversation import UNSIGNED
from pegboard_provider_gemini.provider import GeminiProvider

from pegboard import (
    BlobRef,
    CallResult,
    ChatRequest,
    File,
    Image,
    Message,
    ProviderState,
    Text,
    ToolCall,
    ToolDeclaration,
)

pytestmark = pytest.mark.anyio
Make = Callable[..., GeminiProvider]
FIRST = ToolCall("call_1", "echo", '{"text": "a"}')
SECOND = ToolCall("call_2", "echo", '{"text": "b"}')
NEW, OLD = "gemini-3.8-flash", "gemini-2.5-pro"


def says(*parts: dict[str, Any], stop: str = "STOP", **candidate: Any) -> Answer:
    """Return an answer of these parts."""
    made = {"content": {"role": "model", "parts": list(parts)}, "finishReason": stop, **candidate}
    return Answer.stream({"candidates": [made]}, done=False)


SAID = says({"text": "ok"})


async def sent(gemini: Make, request: ChatRequest, **settings: Any) -> dict[str, Any]:
    """Return the body of a request."""
    async with scripted(SAID) as server:
        found = await ask(gemini(server.url, **settings), request)
        assert found.done.text == "ok"
        return dict(server.requests[0].json)


async def talk(gemini: Make, *said: str | Message, **fields: Any) -> list[Any]:
    """Return the contents of a request."""
    return list((await sent(gemini, asking(*said, **fields)))["contents"])


async def test_a_request_says_who_asks_for_what(gemini: Make, key: str) -> None:
    async with scripted(SAID) as server:
        await ask(gemini(server.url, headers={"x-team": "a"}), asking("Hi"))
        (request,) = server.requests
    assert request.method == "POST"
    assert request.path == f"/v1beta/models/{NEW}:streamGenerateContent?alt=sse"
    assert request.headers["x-goog-api-key"] == key
    assert request.headers["x-team"] == "a"
    assert request.json == {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}


@pytest.mark.parametrize(
    ("settings", "model", "path"),
    [
        ({"api_version": "v1"}, "gemini-x", "/v1/models/gemini-x"),
        ({}, "models/gemini-x", "/v1beta/models/gemini-x"),
        ({}, "tunedModels/mine", "/v1beta/tunedModels/mine"),
        ({}, "odd name?", "/v1beta/models/odd%20name%3F"),
    ],
)
async def test_a_model_is_part_of_the_address(
    gemini: Make, settings: Any, model: str, path: str
) -> None:
    async with scripted(SAID) as server:
        await ask(gemini(server.url, **settings), asking(model=model))
        assert server.requests[0].path == f"{path}:streamGenerateContent?alt=sse"


@pytest.mark.parametrize("path", ["", "/", "/v1beta", "/v1beta/"])
async def test_the_address_may_be_that_of_other_clients(gemini: Make, path: str) -> None:
    async with scripted(SAID) as server:
        await ask(gemini(server.url + path, key=""))
        assert server.requests[0].path.startswith("/v1beta/models/")
        assert "x-goog-api-key" not in server.requests[0].headers


async def test_system_texts_stand_apart(gemini: Make) -> None:
    body = await sent(
        gemini,
        asking(
            Message.of("system", "Be brief."),
            Message.of("system", " "),
            Message.of("system", "It is Monday."),
            "One",
            Message.of("assistant", "Two"),
            "Three",
        ),
    )
    assert body["systemInstruction"] == {
        "parts": [{"text": "Be brief."}, {"text": "It is Monday."}]
    }
    assert body["contents"] == [
        {"role": "user", "parts": [{"text": "One"}]},
        {"role": "model", "parts": [{"text": "Two"}]},
        {"role": "user", "parts": [{"text": "Three"}]},
    ]


async def test_results_come_right_after_their_calls_and_alone(gemini: Make) -> None:
    failed = CallResult(SECOND.id, "echo", (Text("no"),), error=True)
    results = Message("tool", results=(*answered((FIRST, "a")).results, failed))
    found = await talk(
        gemini, "Go", called(FIRST, SECOND, text="Both."), results, "And now?", model=OLD
    )
    assert found[1] == {
        "role": "model",
        "parts": [
            {"text": "Both."},
            {"functionCall": {"name": "echo", "args": {"text": "a"}}},
            {"functionCall": {"name": "echo", "args": {"text": "b"}}},
        ],
    }
    assert found[2] == {
        "role": "user",
        "parts": [
            {"functionResponse": {"name": "echo", "response": {"output": "a"}}},
            {"functionResponse": {"name": "echo", "response": {"error": "no"}}},
        ],
    }
    assert found[3] == {"role": "user", "parts": [{"text": "And now?"}]}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [("", {}), ("nope", {}), ("[1]", {"value": [1]}), ("[" * 100_000, {}), ('{"a": 1}', {"a": 1})],
    ids=["none", "broken", "list", "deep", "object"],
)
async def test_arguments_are_an_object_whatever_the_model_wrote(
    gemini: Make, arguments: str, told: Any
) -> None:
    made = ToolCall("call_1", "echo", arguments)
    found = await talk(gemini, "Go", called(made), answered((made, "a")))
    assert found[1]["parts"][0]["functionCall"]["args"] == told


async def test_a_conversation_begins_and_ends_with_the_user(gemini: Make) -> None:
    found = await talk(gemini, Message.of("assistant", "I begin."), Message("assistant"))
    assert found == [
        {"role": "user", "parts": [{"text": "(empty)"}]},
        {"role": "model", "parts": [{"text": "I begin."}, {"text": "(empty)"}]},
        {"role": "user", "parts": [{"text": "Go on."}]},
    ]
    found = await talk(gemini, Message.of("user", " \n"))
    assert found == [{"role": "user", "parts": [{"text": "(empty)"}]}]


async def test_torn_characters_become_whole_or_are_replaced(gemini: Make) -> None:
    found = await talk(gemini, "\ud83e\udde9 and \ud83e")
    assert found[0]["parts"][0]["text"] == "🧩 and \ufffd"


async def test_tools_are_declared_with_json_schemas(gemini: Make) -> None:
    strange = ToolDeclaration(
        "mcp:a.b",
        "Odd.",
        {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "type": "object",
            "properties": {"n": {"$ref": "#/$defs/n"}},
            "$defs": {"n": {"const": 3, "title": "N", "exclusiveMinimum": 0}},
        },
    )
    bad = ToolDeclaration("bad", "", {"$ref": "https://example.org/schema"})
    async with scripted(SAID) as server:
        found = await ask(gemini(server.url), asking(tools=(ECHO, bad, strange)))
        body = server.requests[0].json
    declared = body["tools"][0]["functionDeclarations"]
    assert declared[0] == {
        "name": "echo",
        "description": "Return a text unchanged.",
        "parametersJsonSchema": ECHO.parameters,
    }
    assert declared[1]["name"].startswith("mcp_a_b_")
    assert declared[1]["parametersJsonSchema"]["properties"] == {
        "n": {"enum": [3], "description": "exclusiveMinimum: 0"}
    }
    assert body["toolConfig"] == {"functionCallingConfig": {"mode": "AUTO"}}
    assert found.notices == ["tool_dropped"]


@pytest.mark.parametrize(
    ("choice", "told"), [("auto", "AUTO"), ("required", "ANY"), ("none", "NONE")]
)
async def test_how_tools_may_be_chosen_is_told(gemini: Make, choice: Any, told: str) -> None:
    body = await sent(gemini, asking(tools=(ECHO,), tool_choice=choice))
    assert body["toolConfig"]["functionCallingConfig"]["mode"] == told
    assert "toolConfig" not in await sent(gemini, asking(tool_choice=choice))


async def test_the_longest_answer_is_told_when_somebody_sets_one(gemini: Make) -> None:
    longest = [
        (await sent(gemini, asking(max_output=asked), **settings)).get("generationConfig")
        for asked, settings in ((None, {}), (7, {}), (10**9, {}), (None, {"max_output": 99}))
    ]
    assert longest == [
        None,
        {"maxOutputTokens": 7},
        {"maxOutputTokens": 65_536},
        {"maxOutputTokens": 99},
    ]


@pytest.mark.parametrize(
    ("model", "settings", "effort", "told"),
    [
        (NEW, {}, None, None),
        (NEW, {"thinking": True}, None, {"includeThoughts": True}),
        (NEW, {}, "low", {"includeThoughts": True, "thinkingLevel": "LOW"}),
        ("gemini-flash-latest", {}, "max", {"includeThoughts": True, "thinkingLevel": "XHIGH"}),
        (OLD, {}, "low", {"includeThoughts": True, "thinkingBudget": 1_024}),
        ("models/gemini-2.5-flash", {}, "x", {"includeThoughts": True, "thinkingBudget": 24_576}),
        ("gemini-2.0-flash", {"thinking": True}, "high", None),
        ("gemma-3-27b-it", {"thinking": True}, "high", None),
    ],
)  # fmt: skip
async def test_each_generation_is_asked_to_reason_in_its_own_way(
    gemini: Make, model: str, settings: Any, effort: Any, told: Any
) -> None:
    body = await sent(gemini, asking(model=model, effort=effort), **settings)
    assert body.get("generationConfig", {}).get("thinkingConfig") == told


SIGNED = [
    {"text": "Hm.", "thought": True},
    {"functionCall": {"name": "echo", "args": {"text": "a"}}, "thoughtSignature": "c2ln"},
    {"functionCall": {"name": "echo", "args": {"text": "b"}, "id": "their-id"}},
]


def kept(state: ProviderState | None) -> ProviderState | None:
    """Return a state as it is after it was written down."""
    return state and replace(state, payload=json.loads(json.dumps(state.payload)))


async def test_signatures_come_back_unchanged_within_a_run(gemini: Make) -> None:
    async with scripted(says(*SIGNED), SAID) as server:
        provider = gemini(server.url)
        asked = asking("Go", tools=(ECHO,))
        first = (await ask(provider, asked)).done
        grown = (
            *asked.messages,
            called(*first.calls),
            answered((first.calls[0], "1"), (first.calls[1], "2")),
        )
        await ask(provider, replace(asked, messages=grown, state=kept(first.state)))
        contents = server.requests[1].json["contents"]
    assert contents[1] == {"role": "model", "parts": SIGNED}
    # an id that we made up is not sent, one of theirs is
    assert contents[2]["parts"] == [
        {"functionResponse": {"name": "echo", "response": {"output": "1"}}},
        {"functionResponse": {"name": "echo", "response": {"output": "2"}, "id": "their-id"}},
    ]


@pytest.mark.parametrize("other", ["key", "model", "address"])
async def test_signatures_of_elsewhere_are_not_sent(gemini: Make, other: str) -> None:
    changed: dict[str, Any] = {"key": {"key": "another"}, "model": {"model": "gemini-3-pro"}}
    async with scripted(says(*SIGNED)) as first, scripted(SAID) as second:
        asked = asking("Go", tools=(ECHO,))
        done = (await ask(gemini(first.url), asked)).done
        grown = (*asked.messages, called(*done.calls), answered((done.calls[0], "1")))
        server = second if other == "address" else first
        provider = gemini(server.url, **changed.get(other, {}))
        await ask(provider, replace(asked, messages=grown, state=done.state))
        parts = server.requests[-1].json["contents"][1]["parts"]
    assert parts == [
        {
            "functionCall": {"name": "echo", "args": {"text": "a"}},
            "thoughtSignature": UNSIGNED,
        },
        {"functionCall": {"name": "echo", "args": {"text": "b"}}},
    ]


async def test_only_calls_of_this_turn_stand_in_for_a_signature(gemini: Make) -> None:
    third = ToolCall("call_3", "echo", "{}")
    turns = (
        "Old",
        called(FIRST),
        answered((FIRST, "a")),
        Message.of("assistant", "Done."),
        "New",
        called(SECOND),
        answered((SECOND, "b")),
        called(third),
        answered((third, "c")),
    )
    found = await talk(gemini, *turns, model=NEW)
    marked = [
        number
        for number, content in enumerate(found)
        if any(part.get("thoughtSignature") == UNSIGNED for part in content["parts"])
    ]
    assert marked == [5, 7]
    assert "thoughtSignature" not in json.dumps(await talk(gemini, *turns, model=OLD))


async def test_an_answer_that_reached_the_limit_goes_on_where_it_stopped(gemini: Make) -> None:
    async with scripted(
        says({"text": "One "}, stop="CONTINUATION", continuationToken="dG9rZW4x"),
        says({"text": "two "}, stop="CONTINUATION", continuationToken="dG9rZW4y"),
        says(*SIGNED),
        SAID,
    ) as server:
        provider = gemini(server.url)
        asked = asking("Go", tools=(ECHO,))
        first = (await ask(provider, asked)).done
        assert (first.stop, first.text) == ("pause", "One ")
        grown: tuple[Message, ...] = (*asked.messages, Message.of("assistant", first.text))
        request = replace(asked, messages=grown, state=kept(first.state))
        second = (await ask(provider, request)).done
        grown = (*grown, Message.of("assistant", second.text))
        request = replace(asked, messages=grown, state=kept(second.state))
        third = (await ask(provider, request)).done
        grown = (*grown, called(*third.calls), answered((third.calls[0], "1")))
        await ask(provider, replace(asked, messages=grown, state=kept(third.state)))
        bodies = [request.json for request in server.requests]
    start = [{"role": "user", "parts": [{"text": "Go"}]}]
    assert [body.get("continuationToken") for body in bodies] == [
        None, "dG9rZW4x", "dG9rZW4y", None,
    ]  # fmt: skip
    assert bodies[0]["contents"] == bodies[1]["contents"] == bodies[2]["contents"] == start
    assert bodies[3]["contents"][1] == {
        "role": "model",
        "parts": [{"text": "One "}, {"text": "two "}, *SIGNED],
    }


PNG = BlobRef("png", "image/png", 4, "dot.png")
PDF = BlobRef("pdf", "application/pdf", 5, "paper.pdf")
NOTE = BlobRef("note", "text/markdown", 6, "note.md")
SOUND = BlobRef("ogg", "audio/ogg", 4, "voice.ogg")
BLOBS = Kept(png=b"\x89PNG", pdf=b"%PDF-", note=b"# Note", ogg=b"OggS")


def inline(kind: str, data: bytes) -> dict[str, Any]:
    return {"inlineData": {"mimeType": kind, "data": base64.b64encode(data).decode()}}


async def test_images_and_files_go_along_in_messages(gemini: Make) -> None:
    seen = Message("user", (Text("Look"), Image(PNG), File(PDF), File(NOTE), File(SOUND)))
    found = await talk(gemini, seen, blobs=BLOBS)
    assert found[0]["parts"] == [
        {"text": "Look"},
        inline("image/png", b"\x89PNG"),
        inline("application/pdf", b"%PDF-"),
        inline("text/plain", b"# Note"),
        inline("audio/ogg", b"OggS"),
    ]


RESULTS = Message(
    "tool", results=(CallResult("call_1", "echo", (Text("See"), Image(PNG), File(SOUND))),)
)


async def test_images_stand_in_results_where_the_model_takes_them(gemini: Make) -> None:
    found = await talk(gemini, "Go", called(FIRST), RESULTS, blobs=BLOBS, model=NEW)
    (part,) = found[2]["parts"]
    assert part["functionResponse"]["parts"] == [inline("image/png", b"\x89PNG")]
    assert part["functionResponse"]["response"] == {"output": "See\n[a file, shown below]"}
    assert found[3]["parts"] == [{"text": "A result of echo:"}, inline("audio/ogg", b"OggS")]


async def test_images_stand_after_results_for_older_models(gemini: Make) -> None:
    found = await talk(gemini, "Go", called(FIRST), RESULTS, blobs=BLOBS, model=OLD)
    (part,) = found[2]["parts"]
    assert "parts" not in part["functionResponse"]
    assert found[3] == {
        "role": "user",
        "parts": [
            {"text": "A result of echo:"},
            inline("image/png", b"\x89PNG"),
            {"text": "A result of echo:"},
            inline("audio/ogg", b"OggS"),
        ],
    }


@pytest.mark.parametrize(
    ("ref", "model", "blobs"),
    [
        (PNG, "gemma-3-27b-it", BLOBS),
        (PNG, NEW, None),
        (PNG, NEW, Kept()),
        (BlobRef("png", "image/png", 20_000_000, "big.png"), NEW, BLOBS),
        (BlobRef("png", "image/gif", 4, "dot.gif"), NEW, BLOBS),
        (BlobRef("note", "text/plain", 0, "void.txt"), NEW, BLOBS),
        (BlobRef("x", "application/zip", 9, "all.zip"), NEW, BLOBS),
    ],
    ids=["model", "nowhere", "gone", "large", "kind", "blank", "archive"],
)
async def test_what_cannot_be_sent_is_told_in_words(
    gemini: Make, ref: BlobRef, model: str, blobs: Any
) -> None:
    part = Image(ref) if ref.media_type.startswith("image") else File(ref)
    results = Message("tool", results=(CallResult("call_1", "echo", (part,)),))
    found = await talk(
        gemini, Message("user", (part,)), called(FIRST), results, model=model, blobs=blobs
    )
    (told,) = found[0]["parts"]
    assert ref.name in told["text"]
    assert "not shown to you" in told["text"]
    (result,) = found[2]["parts"]
    assert result["functionResponse"]["response"] == {"output": told["text"]}
