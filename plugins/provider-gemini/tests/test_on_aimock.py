"""aimock keeps a journal of what it was sent, as it understood it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from counterparts import ECHO, Journal, answered, ask, asking, called
from pegboard_provider_gemini.provider import GeminiProvider

from pegboard import Message

pytestmark = pytest.mark.anyio
Make = Callable[..., GeminiProvider]


def calls(*ids: str) -> list[dict[str, str]]:
    made = [{"name": "echo", "arguments": f'{{"text": "{id or "none"}"}}'} for id in ids]
    for call, id in zip(made, ids, strict=True):
        if id:
            call["id"] = id
    return made


async def test_headers_and_address_say_who_asks_for_what(
    journal: Journal, gemini: Make, key: str
) -> None:
    journal.answer({"match": {}, "response": {"content": "Hello"}})
    asked = asking(Message.of("system", "Be brief."), "Hi", tools=(ECHO,), max_output=50)
    await ask(gemini(journal.url), asked)
    (sent,) = journal.sent()
    assert sent.path == "/v1beta/models/gemini-3.8-flash:streamGenerateContent?alt=sse"
    assert sent.headers["x-goog-api-key"] in (key, "[REDACTED]")
    assert sent.headers["user-agent"] == "pegboard"
    assert sent.body["max_tokens"] == 50
    assert sent.body["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hi"},
    ]
    assert sent.body["tools"][0]["function"]["name"] == "echo"


@pytest.mark.parametrize("ids", [("fc_a", "fc_b"), ("", "")], ids=["their ids", "no ids"])
async def test_parallel_calls_and_their_results_come_back(
    journal: Journal, gemini: Make, ids: tuple[str, str]
) -> None:
    journal.answer(
        {"match": {"hasToolResult": True}, "response": {"content": "All done."}},
        {
            "match": {},
            "response": {
                "content": "Two.",
                "reasoning": "Both.",
                "toolCalls": calls(*ids),
            },
        },
    )
    provider, asked = gemini(journal.url), asking("Go", tools=(ECHO,))
    heard = await ask(provider, asked)
    first = heard.done
    assert (heard.thought, first.text, first.stop, first.raw_stop) == (
        "Both.",
        "Two.",
        "tool_use",
        "FUNCTION_CALL",
    )
    made = [call.id for call in first.calls]
    assert made == list(ids) if all(ids) else len(set(made)) == 2
    results = answered((first.calls[0], "1"), (first.calls[1], "2"))
    grown = (*asked.messages, called(*first.calls, text=first.text), results)
    second = (await ask(provider, replace(asked, messages=grown, state=first.state))).done
    assert (second.stop, second.text) == ("end", "All done.")
    said = journal.sent()[1].body["messages"]
    assert [message["role"] for message in said] == ["user", "assistant", "tool", "tool"]
    assert said[1]["content"] == "Two."
    there = [call["id"] for call in said[1]["tool_calls"]]
    if all(ids):
        assert there == list(ids)
    assert [message["tool_call_id"] for message in said[2:]] == there
    assert [message["content"] for message in said[2:]] == ['{"output":"1"}', '{"output":"2"}']


@pytest.mark.parametrize(
    ("status", "name", "kind"),
    [
        (429, "RESOURCE_EXHAUSTED", "rate_limit"),
        (503, "UNAVAILABLE", "overloaded"),
        (500, "INTERNAL", "server"),
    ],
)
async def test_errors_are_of_their_kind(
    journal: Journal, gemini: Make, status: int, name: str, kind: str
) -> None:
    fixture = {"error": {"message": "no", "type": name}, "status": status, "retryAfter": 7}
    journal.answer({"match": {}, "response": fixture})
    failed = (await ask(gemini(journal.url))).failed
    assert (failed.kind, failed.status) == (kind, status)
    if status == 429:
        assert failed.retry_after == 7


@pytest.mark.parametrize("cut", [{"truncateAfterChunks": 3}, {"disconnectAfterMs": 20}])
async def test_an_answer_that_is_cut_is_none(
    journal: Journal, gemini: Make, cut: dict[str, Any]
) -> None:
    answer = {"content": "word " * 200}
    journal.answer({"match": {}, "response": answer, "latency": 5, "chunkSize": 5, **cut})
    assert (await ask(gemini(journal.url))).failed.kind == "network"
