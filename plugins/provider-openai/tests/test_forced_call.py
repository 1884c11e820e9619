"""A model that can't call tools, where a call is required: held to one by the schemas."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from counterparts import ECHO, Answer, ask, asking, scripted
from pegboard_provider_openai.chat import ChatProvider

from pegboard import Message, ToolCall, ToolDeclaration

pytestmark = pytest.mark.anyio
Chat = Callable[..., ChatProvider]
DOTTED = ToolDeclaration("notes.add", "Keep a note.", {"type": "object", "properties": {}})

ALIAS = "notes_add_e1253ccd"


async def heard(chat: Chat, text: str, *, stop: str = "stop", **fields: Any) -> tuple[Any, Any]:
    """Return what was heard and what was sent."""
    events = [
        {"choices": [{"delta": {"content": text[:5]}}]},
        {"choices": [{"delta": {"content": text[5:]}, "finish_reason": stop}]},
    ]
    given = {"tools": (ECHO, DOTTED), "tool_choice": "required"} | fields
    messages = given.pop("messages", ("Echo hello",))
    server = given.pop("server", "llamacpp")
    async with scripted(Answer.stream(*events)) as counterpart:
        provider = chat(counterpart.url, server=server, tools=given.pop("calls", False))
        found = await ask(provider, asking(*messages, **given))
        return found, (counterpart.requests[0].json if counterpart.requests else None)


async def test_the_answer_is_a_call_and_no_text(chat: Chat) -> None:
    said = f'{{"name": "{ALIAS}", "arguments": {{"text": "Grüße"}}}}'
    found, sent = await heard(chat, said)
    assert found.done.calls == (ToolCall("call_1", "notes.add", '{"text": "Grüße"}'),)
    assert (found.text, found.done.text, found.done.stop) == ("", "", "tool_use")
    assert "tools" not in sent
    shapes = sent["response_format"]["json_schema"]["schema"]["anyOf"]
    assert [shape["properties"]["name"]["const"] for shape in shapes] == ["echo", ALIAS]
    assert shapes[0]["properties"]["arguments"]["required"] == ["text"]
    assert "- echo: Return a text unchanged." in sent["messages"][0]["content"]


async def test_what_the_tools_are_stands_below_the_one_system_message(chat: Chat) -> None:
    messages = (Message.of("system", "Be brief."), Message.of("user", "Echo hello"))
    _, sent = await heard(chat, '{"name": "echo", "arguments": {}}', messages=messages)
    assert [message["role"] for message in sent["messages"]] == ["system", "user"]
    assert sent["messages"][0]["content"].startswith("Be brief.\n\nAnswer with one JSON object")


async def test_a_call_that_was_cut_off_never_runs(chat: Chat) -> None:
    found, _ = await heard(chat, '{"name": "echo", "arguments": {"te', stop="length")
    assert (found.done.stop, found.done.calls, found.text) == ("max_tokens", (), "")


@pytest.mark.parametrize("said", ["Hello!", "[1]", '{"name": 1, "arguments": {}}', "[" * 9_999])
async def test_what_is_no_call_is_a_malformed_one(chat: Chat, said: str) -> None:
    found, _ = await heard(chat, said)
    assert found.failed.kind == "malformed_tool_call"


@pytest.mark.parametrize(
    "fields",
    [
        {"tool_choice": "auto"},
        {"tools": ()},
        {"server": "other"},
    ],
    ids=["not required", "no tools", "a server that does not hold to schemas"],
)
async def test_otherwise_it_answers_in_words(chat: Chat, fields: dict[str, Any]) -> None:
    found, sent = await heard(chat, "Hello!", **fields)
    assert found.text == "Hello!"
    assert "response_format" not in sent
    assert "tools" not in sent


async def test_a_model_that_calls_tools_is_asked_for_a_call_as_usual(chat: Chat) -> None:
    _, sent = await heard(chat, "Hello!", calls=True)
    assert (sent["tool_choice"], len(sent["tools"])) == ("required", 2)
    assert "response_format" not in json.dumps(sent)
