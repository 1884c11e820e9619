"""aimock keeps a journal of what it was sent, and refuses reasoning that came back changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from counterparts import ECHO, Journal, answered, ask, asking, called
from pegboard_provider_anthropic.provider import AnthropicProvider

from pegboard import Message

pytestmark = pytest.mark.anyio
Make = Callable[..., AnthropicProvider]
CALLS = [
    {"name": "echo", "arguments": '{"text":"修"}', "id": "toolu_a"},
    {"name": "echo", "arguments": '{"text":"b"}', "id": "toolu_b"},
]


def loop(**first: Any) -> list[dict[str, Any]]:
    """Return answers of two steps: parallel calls, then words."""
    return [
        {"match": {"hasToolResult": True}, "response": {"content": "All done."}},
        {"match": {}, "response": {"toolCalls": CALLS, **first}},
    ]


async def test_headers_say_who_asks_and_in_which_version(
    journal: Journal, messages: Make, key: str
) -> None:
    journal.answer({"match": {}, "response": {"content": "Hello"}})
    await ask(messages(journal.url), asking("Hi", tools=(ECHO,), max_output=50))
    (sent,) = journal.sent()
    assert sent.path == "/v1/messages"
    assert sent.headers["anthropic-version"] == "2026-10-21"
    assert sent.headers["x-api-key"] in (key, "[REDACTED]")
    assert sent.headers["content-type"] == "application/json"
    assert sent.headers["user-agent"] == "pegboard"
    assert sent.body["max_tokens"] == 50
    assert sent.body["tools"][0]["function"] == {
        "name": "echo",
        "description": ECHO.description,
        "parameters": ECHO.parameters,
    }
    assert not {"temperature", "top_p", "top_k"} & {
        name for name, value in sent.body.items() if value is not None
    }


async def test_parallel_calls_and_their_results_come_back_in_one_message(
    journal: Journal, messages: Make
) -> None:
    journal.answer(*loop(content="Two at once."))
    provider, asked = messages(journal.url), asking("Go", tools=(ECHO,))
    first = (await ask(provider, asked)).done
    assert [(call.id, call.arguments) for call in first.calls] == [
        ("toolu_a", '{"text":"修"}'),
        ("toolu_b", '{"text":"b"}'),
    ]
    grown = (
        *asked.messages,
        called(*first.calls, text=first.text),
        answered((first.calls[0], "修"), (first.calls[1], "b")),
    )
    second = (await ask(provider, replace(asked, messages=grown, state=first.state))).done
    assert (second.stop, second.text) == ("end", "All done.")
    said = journal.sent()[1].body["messages"]
    assert [message["role"] for message in said] == ["user", "assistant", "tool", "tool"]
    assert said[1]["content"] == "Two at once."
    assert [call["id"] for call in said[1]["tool_calls"]] == ["toolu_a", "toolu_b"]
    assert [message["tool_call_id"] for message in said[2:]] == ["toolu_a", "toolu_b"]
    assert [message["content"] for message in said[2:]] == ["修", "b"]


@pytest.mark.parametrize(
    "reasoning",
    [
        {"reasoning": "They want two.", "reasoningSignature": "c2lnbmVk"},
        {"redactedThinking": ["b3BhcXVl"]},
        {"reasoning": "Some.", "redactedThinking": ["b3BhcXVl", "bW9yZQ=="]},
    ],
    ids=["signed", "hidden", "both"],
)
async def test_reasoning_comes_back_as_it_was(
    journal: Journal, messages: Make, reasoning: dict[str, Any]
) -> None:
    """In strict mode aimock refuses a step whose reasoning is missing or without signature."""
    journal.answer(*loop(**reasoning))
    strict = {"x-aimock-strict": "true"}
    provider = messages(journal.url, model="claude-sonnet-4-5", headers=strict)
    asked = asking("Go", tools=(ECHO,), effort="low")
    heard = await ask(provider, asked)
    assert heard.thought == reasoning.get("reasoning", "")
    first = heard.done
    assert first.state is not None
    wire = first.state.payload[0]["wire"]
    hidden = [block["data"] for block in wire if block["type"] == "redacted_thinking"]
    assert hidden == reasoning.get("redactedThinking", [])
    results = answered((first.calls[0], "a"), (first.calls[1], "b"))
    grown = (*asked.messages, called(*first.calls), results)
    second = (await ask(provider, replace(asked, messages=grown, state=first.state))).done
    assert second.text == "All done."
    # without it the same request asks for no reasoning, and is taken too
    third = (await ask(provider, replace(asked, messages=grown, state=None))).done
    assert third.text == "All done."


@pytest.mark.parametrize(
    ("status", "kind"), [(429, "rate_limit"), (529, "overloaded"), (500, "server")]
)
async def test_errors_are_of_their_kind(
    journal: Journal, messages: Make, status: int, kind: str
) -> None:
    error = {"message": "no", "type": "api_error" if status == 500 else f"{kind}_error"}
    fixture = {"error": error, "status": status, "retryAfter": 7}
    journal.answer({"match": {}, "response": fixture})
    failed = (await ask(messages(journal.url))).failed
    assert (failed.kind, failed.status) == (kind, status)
    if status == 429:
        assert failed.retry_after == 7


@pytest.mark.parametrize("cut", [{"truncateAfterChunks": 3}, {"disconnectAfterMs": 20}])
async def test_an_answer_that_is_cut_is_none(
    journal: Journal, messages: Make, cut: dict[str, Any]
) -> None:
    answer = {"content": "word " * 200}
    journal.answer({"match": {}, "response": answer, "latency": 5, "chunkSize": 5, **cut})
    assert (await ask(messages(journal.url))).failed.kind == "network"


async def test_a_conversation_moves_here_from_elsewhere(journal: Journal, messages: Make) -> None:
    journal.answer({"match": {}, "response": {"content": "Hello"}})
    elsewhere = asking(Message.of("system", "Be brief."), "Hi", Message.of("assistant", "Ho"), "Hm")
    assert (await ask(messages(journal.url), elsewhere)).done.text == "Hello"
    said = journal.sent()[0].body["messages"]
    assert [message["role"] for message in said] == ["system", "user", "assistant", "user"]
