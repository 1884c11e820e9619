"""What is sent: portable conversations as Messages takes them."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from counterparts import ECHO, Answer, Kept, answered, ask, asking, called, scripted
from pegboard_provider_anthropic.provider import AnthropicProvider

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
Make = Callable[..., AnthropicProvider]
FIRST = ToolCall("toolu_1", "echo", '{"text": "a"}')
SECOND = ToolCall("toolu_2", "echo", '{"text": "b"}')
MARK = {"cache_control": {"type": "ephemeral"}}
SAID = Answer.stream(
    {"type": "message_start", "message": {"id": "msg_1", "model": "claude-x"}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "ok"}},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {}},
    {"type": "message_stop"},
    done=False,
)


def says(*content: dict[str, Any], stop: str) -> Answer:
    """Return an answer of whole blocks."""
    blocks = [
        {"type": "content_block_start", "index": index, "content_block": block}
        for index, block in enumerate(content)
    ]
    return Answer.stream(
        {"type": "message_start", "message": {}},
        *blocks,
        {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {}},
        {"type": "message_stop"},
        done=False,
    )


async def sent(messages: Make, request: ChatRequest, **settings: Any) -> dict[str, Any]:
    """Return the body of a request."""
    async with scripted(SAID) as server:
        found = await ask(messages(server.url, **settings), request)
        assert found.done.text == "ok"
        return dict(server.requests[0].json)


async def talk(messages: Make, *said: str | Message, **fields: Any) -> list[Any]:
    """Return the messages of a request, without marks."""
    body = await sent(messages, asking(*said, **fields), cache=False)
    return list(body["messages"])


async def test_a_request_says_who_asks_for_what(messages: Make, key: str) -> None:
    async with scripted(SAID) as server:
        await ask(messages(server.url, headers={"anthropic-beta": "x"}), asking("Hi", model="m"))
        (request,) = server.requests
    assert (request.method, request.path) == ("POST", "/v1/messages")
    assert request.headers["x-api-key"] == key
    assert request.headers["anthropic-version"] == "2026-10-21"
    assert request.headers["anthropic-beta"] == "x"
    assert "authorization" not in request.headers
    assert request.json == {
        "model": "m",
        "max_tokens": 4_096,
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi", **MARK}]}],
        "stream": True,
    }


@pytest.mark.parametrize("path", ["", "/", "/v1", "/v1/"])
async def test_the_address_may_be_that_of_other_clients(messages: Make, path: str) -> None:
    async with scripted(SAID) as server:
        await ask(messages(server.url + path))
        assert server.requests[0].path == "/v1/messages"


async def test_a_key_may_go_as_a_bearers(messages: Make) -> None:
    async with scripted(SAID) as server:
        await ask(messages(server.url, key=" k\n", key_header="authorization"))
        await ask(messages(server.url, key=""))
        first, second = server.requests
    assert first.headers["authorization"] == "Bearer k"
    assert not {"authorization", "x-api-key"} & {*second.headers}


async def test_system_texts_stand_apart_and_what_one_side_says_is_one_message(
    messages: Make,
) -> None:
    body = await sent(
        messages,
        asking(
            Message.of("system", "Be brief."),
            Message.of("system", " "),
            Message.of("system", "It is Monday."),
            "One",
            "Two",
            Message.of("assistant", "Three"),
            "Four",
        ),
        cache=False,
    )
    assert [block["text"] for block in body["system"]] == ["Be brief.", "It is Monday."]
    assert [(m["role"], [b["text"] for b in m["content"]]) for m in body["messages"]] == [
        ("user", ["One", "Two"]),
        ("assistant", ["Three"]),
        ("user", ["Four"]),
    ]


async def test_results_come_in_one_message_in_the_order_of_the_calls_and_first(
    messages: Make,
) -> None:
    failed = CallResult(SECOND.id, "echo", (Text(" "),), error=True)
    results = Message("tool", results=(*answered((FIRST, "a")).results, failed))
    found = await talk(messages, "Go", called(FIRST, SECOND, text="Both."), results, "And now?")
    assert found[1]["content"] == [
        {"type": "text", "text": "Both."},
        {"type": "tool_use", "id": "toolu_1", "name": "echo", "input": {"text": "a"}},
        {"type": "tool_use", "id": "toolu_2", "name": "echo", "input": {"text": "b"}},
    ]
    assert found[2]["content"] == [
        {
            "type": "tool_result",
            "tool_use_id": "toolu_1",
            "content": [{"type": "text", "text": "a"}],
        },
        {
            "type": "tool_result",
            "tool_use_id": "toolu_2",
            "content": [{"type": "text", "text": "(empty)"}],
            "is_error": True,
        },
        {"type": "text", "text": "And now?"},
    ]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [("", {}), ("nope", {}), ("[1]", {"value": [1]}), ("[" * 100_000, {}), ('{"a": 1}', {"a": 1})],
    ids=["none", "broken", "list", "deep", "object"],
)
async def test_arguments_are_an_object_whatever_the_model_wrote(
    messages: Make, arguments: str, told: Any
) -> None:
    call = ToolCall("toolu_1", "echo", arguments)
    found = await talk(messages, "Go", called(call), answered((call, "a")))
    assert found[1]["content"][0]["input"] == told


async def test_ids_of_other_providers_become_what_the_service_takes(messages: Make) -> None:
    first = ToolCall("functions.echo:0", "echo", "{}")
    second = ToolCall("call_a|fc_b", "echo", "{}")
    said = called(first, second), answered((first, "a"), (second, "b"))
    found = await talk(messages, "Go", *said)
    ids = [block["id"] for block in found[1]["content"]]
    assert ids == [block["tool_use_id"] for block in found[2]["content"]]
    assert len({*ids}) == 2
    assert all(id.startswith("call_") and id.isidentifier() for id in ids)


async def test_a_conversation_begins_and_ends_with_the_user(messages: Make) -> None:
    found = await talk(messages, Message.of("assistant", "I begin."))
    assert [message["role"] for message in found] == ["user", "assistant", "user"]
    assert [message["content"][0]["text"] for message in found] == ["(empty)", "I begin.", "Go on."]
    assert await talk(messages, Message.of("system", "x")) == [
        {"role": "user", "content": [{"type": "text", "text": "(empty)"}]}
    ]
    found = await talk(messages, Message.of("user", " \n"), Message("assistant"), "Hm?")
    assert [message["content"][0]["text"] for message in found] == ["(empty)", "(empty)", "Hm?"]


async def test_torn_characters_become_whole_or_are_replaced(messages: Make) -> None:
    found = await talk(messages, "\ud83e\udde9 and \ud83e")
    assert found[0]["content"][0]["text"] == "🧩 and \ufffd"


async def test_tools_are_declared_under_names_that_the_service_takes(messages: Make) -> None:
    strange = ToolDeclaration("mcp:a.b", "Odd.", {"$ref": "#/$defs/x", "$defs": {"x": {}}})
    body = await sent(messages, asking(tools=(ECHO, strange)))
    assert body["tools"][0] == {
        "name": "echo",
        "description": "Return a text unchanged.",
        "input_schema": ECHO.parameters,
    }
    assert body["tools"][1]["name"].startswith("mcp_a_b_")
    assert body["tools"][1]["input_schema"]["type"] == "object"
    assert body["tool_choice"] == {"type": "auto"}


@pytest.mark.parametrize(
    ("choice", "told"), [("auto", "auto"), ("required", "any"), ("none", "none")]
)
async def test_how_tools_may_be_chosen_is_told(messages: Make, choice: Any, told: str) -> None:
    body = await sent(messages, asking(tools=(ECHO,), tool_choice=choice))
    assert body["tool_choice"] == {"type": told}


async def test_one_bad_tool_costs_its_own_place_only(messages: Make) -> None:
    bad = ToolDeclaration("bad", "", {"$ref": "https://example.org/schema"})
    async with scripted(SAID) as server:
        found = await ask(messages(server.url), asking(tools=(bad, ECHO)))
        body = server.requests[0].json
    assert [tool["name"] for tool in body["tools"]] == ["echo"]
    assert found.notices == ["tool_dropped"]


async def test_calls_of_tools_that_are_gone_keep_a_declaration(messages: Make) -> None:
    body = await sent(messages, asking("Go", called(FIRST), answered((FIRST, "a"))))
    assert [tool["name"] for tool in body["tools"]] == ["echo"]
    assert body["tool_choice"] == {"type": "none"}
    assert "tools" not in await sent(messages, asking())


async def test_the_longest_answer_is_bounded_by_the_model(messages: Make) -> None:
    asked = asking(model="claude-sonnet-5", max_output=10**9)
    assert (await sent(messages, asked))["max_tokens"] == 64_000
    assert (await sent(messages, replace(asked, max_output=7)))["max_tokens"] == 7
    assert (await sent(messages, asked, max_output=999))["max_tokens"] == 999


async def test_what_repeats_is_marked_at_three_places(messages: Make) -> None:
    body = await sent(
        messages,
        asking(
            Message.of("system", "Base."),
            Message.of("system", "Today."),
            "Old",
            Message.of("assistant", "Yes."),
            "Go",
            called(FIRST, SECOND),
            answered((FIRST, "a"), (SECOND, "b")),
            tools=(ECHO,),
        ),
    )
    assert "cache_control" not in body
    assert [tuple(block) for block in body["system"]] == [
        ("type", "text", "cache_control"),
        ("type", "text"),
    ]
    ends = [
        (number, place)
        for number, message in enumerate(body["messages"])
        for place, block in enumerate(message["content"])
        if "cache_control" in block
    ]
    assert ends == [(2, 0), (4, 1)]
    assert json.dumps(body).count("cache_control") == 3


async def test_nothing_is_marked_when_nothing_shall_be_cached(messages: Make) -> None:
    body = await sent(messages, asking(Message.of("system", "Base."), "Go"), cache=False)
    assert "cache_control" not in json.dumps(body)


@pytest.mark.parametrize(
    ("model", "settings", "effort", "told"),
    [
        ("claude-sonnet-5-5", {}, None, {}),
        (
            "claude-opus-4-6",
            {},
            "high",
            {"output_config": {"effort": "high"}, "thinking": {"type": "adaptive"}},
        ),
        (
            "claude-opus-4-7",
            {"thinking": True},
            None,
            {"thinking": {"type": "adaptive", "display": "summarized"}},
        ),
        ("claude-sonnet-4-5-20250929", {}, "low", _budget := {
            "thinking": {"type": "enabled", "budget_tokens": 2_048}
        }),
        ("anthropic/claude-sonnet-4.5", {}, "low", _budget),
        ("us.anthropic.claude-opus-4-20250514-v1:0", {}, "low", _budget),
        ("claude-3-7-sonnet-latest", {}, "low", _budget),
        (
            "claude-haiku-4-5",
            {"thinking": True},
            None,
            {"thinking": {"type": "enabled", "budget_tokens": 8_192}},
        ),
        ("claude-haiku-4-5", {"max_output": 2_000}, "high", {}),
        ("claude-3-5-haiku-latest", {"thinking": True}, "high", {}),
    ],
)  # fmt: skip
async def test_each_family_is_asked_to_reason_in_its_own_way(
    messages: Make, model: str, settings: Any, effort: Any, told: Any
) -> None:
    body = await sent(messages, asking(model=model, effort=effort), **settings)
    found = {name: body[name] for name in ("thinking", "output_config") if name in body}
    assert found == told


async def test_reasoning_and_a_forced_call_do_not_go_together(messages: Make) -> None:
    forced = asking(model="claude-sonnet-5", effort="low", tools=(ECHO,), tool_choice="required")
    body = await sent(messages, forced)
    assert "thinking" not in body
    assert body["output_config"] == {"effort": "low"}


async def test_a_budget_waits_until_the_calls_have_their_reasoning(messages: Make) -> None:
    asked = asking("Go", called(FIRST), answered((FIRST, "a")), tools=(ECHO,), effort="low")
    assert "thinking" not in await sent(messages, replace(asked, model="claude-sonnet-4-5"))
    assert "thinking" in await sent(messages, replace(asked, model="claude-sonnet-5"))


THOUGHT = [
    {"type": "thinking", "thinking": "Hm.", "signature": "c2ln", "new_field": None},
    {"type": "redacted_thinking", "data": "b3BhcXVl"},
    {"type": "tool_use", "id": "toolu_1", "name": "echo", "input": {"text": "a"}},
]


async def test_what_the_service_said_comes_back_unchanged_within_a_run(messages: Make) -> None:
    async with scripted(says(*THOUGHT, stop="tool_use"), SAID) as server:
        provider = messages(server.url, model="claude-sonnet-4-5")
        asked = asking("Go", tools=(ECHO,), effort="low")
        first = (await ask(provider, asked)).done
        grown = (*asked.messages, called(*first.calls), answered((first.calls[0], "a")))
        state = ProviderState(
            *(getattr(first.state, name) for name in ("provider", "dialect", "model", "route")),
            json.loads(json.dumps(first.state.payload if first.state else None)),
        )
        await ask(provider, replace(asked, messages=grown, state=state))
        body = server.requests[1].json
    assert body["messages"][1] == {"role": "assistant", "content": THOUGHT}
    assert body["thinking"]["type"] == "enabled"


async def test_a_budget_waits_after_a_step_without_reasoning_too(messages: Make) -> None:
    async with scripted(says(THOUGHT[2], stop="tool_use"), SAID) as server:
        provider = messages(server.url, model="claude-sonnet-4-5")
        asked = asking("Go", tools=(ECHO,))
        first = (await ask(provider, asked)).done
        grown = (*asked.messages, called(*first.calls), answered((first.calls[0], "a")))
        await ask(provider, replace(asked, messages=grown, state=first.state, effort="low"))
        body = server.requests[1].json
    assert body["messages"][1]["content"] == [THOUGHT[2]]
    assert "thinking" not in body


@pytest.mark.parametrize("other", ["key", "model", "address"])
async def test_what_was_said_elsewhere_does_not_come_back(messages: Make, other: str) -> None:
    changed: dict[str, Any] = {"key": {"key": "another"}, "model": {"model": "claude-opus-5"}}
    async with (
        scripted(says(*THOUGHT, stop="tool_use")) as first,
        scripted(SAID) as second,
    ):
        asked = asking("Go", tools=(ECHO,))
        done = (await ask(messages(first.url), asked)).done
        grown = (*asked.messages, called(*done.calls), answered((done.calls[0], "a")))
        server = second if other == "address" else first
        await ask(
            messages(server.url, **changed.get(other, {})),
            replace(asked, messages=grown, state=done.state),
        )
        body = server.requests[-1].json
    assert body["messages"][1]["content"] == [THOUGHT[2]]


async def test_an_answer_that_paused_goes_on_where_it_stopped(messages: Make) -> None:
    search = {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {}}
    part = {"type": "text", "text": "Searching."}
    async with scripted(
        says(part, search, stop="pause_turn"),
        says(search, stop="pause_turn"),
        says(*THOUGHT, stop="tool_use"),
        SAID,
    ) as server:
        provider = messages(server.url, cache=False)
        asked = asking("Go", tools=(ECHO,))
        first = (await ask(provider, asked)).done
        assert (first.stop, first.text) == ("pause", "Searching.")
        grown = (*asked.messages, Message.of("assistant", first.text))
        second = (await ask(provider, replace(asked, messages=grown, state=first.state))).done
        assert (second.stop, second.text) == ("pause", "")
        third = (await ask(provider, replace(asked, messages=grown, state=second.state))).done
        grown = (*grown, called(*third.calls), answered((third.calls[0], "a")))
        await ask(provider, replace(asked, messages=grown, state=third.state))
        bodies = [request.json["messages"] for request in server.requests]
    assert bodies[1][1:] == [{"role": "assistant", "content": [part, search]}]
    assert bodies[2][1:] == [{"role": "assistant", "content": [part, search, search]}]
    assert bodies[3][1] == {"role": "assistant", "content": [part, search, search, *THOUGHT]}
    assert bodies[3][2]["content"][0]["type"] == "tool_result"


async def test_an_answer_that_paused_goes_back_without_space_at_its_end(messages: Make) -> None:
    async with scripted(says({"type": "text", "text": "One, "}, stop="pause_turn"), SAID) as server:
        provider = messages(server.url)
        first = (await ask(provider, asking("Go"))).done
        grown = (Message.of("user", "Go"), Message.of("assistant", first.text))
        await ask(provider, asking(*grown, state=first.state))
        last = server.requests[1].json["messages"][-1]
    assert last == {"role": "assistant", "content": [{"type": "text", "text": "One,"}]}


PNG = BlobRef("png", "image/png", 4, "dot.png")
PDF = BlobRef("pdf", "application/pdf", 5, "paper.pdf")
NOTE = BlobRef("note", "text/markdown", 6, "note.md")
BLOBS = Kept(png=b"\x89PNG", pdf=b"%PDF-", note="# Hé".encode())


async def test_images_and_files_go_along_in_messages_and_results(messages: Make) -> None:
    seen = Message("user", (Text("Look"), Image(PNG, "a dot"), File(PDF), File(NOTE)))
    shown = Message("tool", results=(CallResult("toolu_1", "echo", (Text("See"), Image(PNG))),))
    found = await talk(messages, seen, called(FIRST), shown, model="claude-sonnet-5", blobs=BLOBS)
    image = {
        "type": "image",
        "source": {
            "type": "base64",
            "media_type": "image/png",
            "data": base64.b64encode(b"\x89PNG").decode(),
        },
    }
    pdf = base64.b64encode(b"%PDF-").decode()
    assert found[0]["content"] == [
        {"type": "text", "text": "Look"},
        image,
        {
            "type": "document",
            "source": {"type": "base64", "media_type": "application/pdf", "data": pdf},
            "title": "paper.pdf",
        },
        {
            "type": "document",
            "source": {"type": "text", "media_type": "text/plain", "data": "# Hé"},
            "title": "note.md",
        },
    ]
    assert found[2]["content"][0]["content"] == [{"type": "text", "text": "See"}, image]


@pytest.mark.parametrize(
    ("ref", "model", "blobs"),
    [
        (PNG, "tiny", BLOBS),
        (PNG, "claude-sonnet-5", None),
        (PNG, "claude-sonnet-5", Kept()),
        (BlobRef("png", "image/png", 4_000_000, "big.png"), "claude-sonnet-5", BLOBS),
        (BlobRef("png", "image/tiff", 4, "dot.tiff"), "claude-sonnet-5", BLOBS),
        (BlobRef("note", "text/plain", 1, "void.txt"), "claude-sonnet-5", Kept(note=b" ")),
        (BlobRef("x", "video/mp4", 10**9, "long.mp4"), "claude-sonnet-5", BLOBS),
    ],
    ids=["model", "nowhere", "gone", "large", "kind", "blank", "film"],
)
async def test_what_cannot_be_sent_is_told_in_words(
    messages: Make, ref: BlobRef, model: str, blobs: Any
) -> None:
    part = File(ref) if ref.media_type[:5] in ("text/", "video") else Image(ref)
    found = await talk(messages, Message("user", (part,)), model=model, blobs=blobs)
    (block,) = found[0]["content"]
    assert block["type"] == "text"
    assert ref.name in block["text"]
    assert "not shown to you" in block["text"]
