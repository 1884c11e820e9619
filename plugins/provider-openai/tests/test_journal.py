"""Against aimock, which keeps what it was sent and answers as each dialect does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from counterparts import ECHO, Heard, Journal, answered, ask, asking, called

from pegboard import Message, Provider, ToolCall, ToolDeclaration, Usage

pytestmark = pytest.mark.anyio
Make = Callable[..., Provider]
X, Y = ToolCall("call_x", "echo", '{"text":"x"}'), ToolCall("call_y", "echo", '{"text":"y"}')


@pytest.fixture(params=["chat", "responses"])
def make(request: pytest.FixtureRequest) -> Make:
    """Make a provider of either type."""
    return request.getfixturevalue(request.param)


def says(response: Any, **match: Any) -> dict[str, Any]:
    return {"match": match, "response": response}


def block(call: ToolCall) -> dict[str, Any]:
    return {"type": "toolCall", "id": call.id, "name": call.name, "arguments": call.arguments}


BOTH = [
    says(
        {
            "reasoning": "I ponder.",
            "blocks": [{"type": "text", "text": "Let me look."}, block(X), block(Y)],
        },
        hasToolResult=False,
    ),
    says({"content": "Both are done."}, hasToolResult=True),
]


async def go_on(provider: Provider, heard: Heard, **fields: Any) -> Heard:
    """Answer the calls of what was heard, and ask again."""
    done = heard.done
    results = answered(*((call, f"result of {call.id}") for call in done.calls))
    said = called(*done.calls, text=done.text)
    return await ask(provider, asking("Go", said, results, state=done.state, **fields))


async def test_parallel_calls_and_reasoning_are_read(make: Make, journal: Journal) -> None:
    journal.answer(*BOTH)
    found = await ask(make(journal.url), asking("Go", tools=(ECHO,)))
    assert found.thought == "I ponder."
    assert found.text == "Let me look."
    assert (found.done.calls, found.done.stop) == ((X, Y), "tool_use")


async def test_results_are_sent_paired_and_in_order(make: Make, journal: Journal) -> None:
    journal.answer(*BOTH)
    provider = make(journal.url)
    found = await go_on(provider, await ask(provider, asking("Go", tools=(ECHO,))), tools=(ECHO,))
    assert (found.text, found.done.stop) == ("Both are done.", "end")
    messages = journal.sent()[1].body["messages"]
    asked_for = [call["id"] for item in messages for call in item.get("tool_calls", ())]
    results = [
        (item["tool_call_id"], item["content"]) for item in messages if item["role"] == "tool"
    ]
    assert asked_for == ["call_x", "call_y"]
    assert results == [("call_x", "result of call_x"), ("call_y", "result of call_y")]
    assert [item["role"] for item in messages[-2:]] == ["tool", "tool"]


async def test_headers_model_and_tools_are_sent(make: Make, journal: Journal) -> None:
    journal.answer(says({"content": "Hi"}))
    provider = make(journal.url, headers={"x-team": "blue"})
    await ask(provider, asking(Message.of("system", "Be brief."), "Hi", model="m-9", tools=(ECHO,)))
    (sent,) = journal.sent()
    assert sent.headers["authorization"]
    assert sent.headers["x-team"] == "blue"
    assert sent.headers["user-agent"] == "pegboard"
    assert sent.headers["content-type"] == "application/json"
    assert (sent.body["model"], sent.body["stream"]) == ("m-9", True)
    assert sent.body["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hi"},
    ]
    assert sent.body["tools"][0]["function"]["parameters"] == ECHO.parameters


async def test_reasoning_comes_back_to_whom_it_belongs(chat: Make, journal: Journal) -> None:
    journal.answer(*BOTH)
    for server, field in (("deepseek", "reasoning_content"), ("other", "")):
        provider = chat(journal.url, server=server)
        await go_on(provider, await ask(provider, asking("Go", tools=(ECHO,))))
        said = journal.sent()[-1].body["messages"][1]
        assert said.get("reasoning_content") == ("I ponder." if field else None)


async def test_encrypted_reasoning_is_sent_back_with_its_items(
    responses: Make, journal: Journal
) -> None:
    journal.answer(*BOTH)
    provider = responses(journal.url)
    found = await ask(provider, asking("Go", tools=(ECHO,)))
    wire = found.done.state.payload[0]["wire"]
    assert [item["type"] for item in wire] == [
        "reasoning",
        "message",
        "function_call",
        "function_call",
    ]
    assert wire[0]["encrypted_content"]
    assert (await go_on(provider, found)).text == "Both are done."


@pytest.mark.parametrize("chunks", [1, 2, 3])
async def test_a_stream_that_is_cut_is_an_error(make: Make, journal: Journal, chunks: int) -> None:
    text = "This is cut short, because the connection breaks in the middle."
    journal.answer(says({"content": text}) | {"truncateAfterChunks": chunks})
    assert (await ask(make(journal.url))).failed.kind == "network"


async def test_a_limit_is_read_from_its_most_exact_hint(make: Make, journal: Journal) -> None:
    error = {"message": "Rate limited", "type": "rate_limit_error"}
    journal.answer(says({"error": error, "status": 429, "retryAfter": 7}))
    failed = (await ask(make(journal.url))).failed
    assert (failed.kind, failed.retry_after, failed.status) == ("rate_limit", 7.0, 429)


async def test_an_answer_of_the_longest_length_says_so(make: Make, journal: Journal) -> None:
    journal.answer(says({"content": "cut", "finishReason": "length"}))
    assert (await ask(make(journal.url))).done.stop == "max_tokens"


async def test_tokens_are_counted(make: Make, journal: Journal) -> None:
    usage = {"prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14}
    journal.answer(says({"content": "Hi", "usage": usage}))
    assert (await ask(make(journal.url))).done.usage == Usage(input=11, output=3)


async def test_names_that_no_vendor_takes_come_back_as_they_were(
    make: Make, journal: Journal
) -> None:
    tool = ToolDeclaration("files/read.all", "Read.", {"type": "object", "properties": {}})
    journal.answer(says({"content": "no"}))
    await ask(make(journal.url), asking("Go", tools=(tool,)))
    alias = journal.sent()[0].body["tools"][0]["function"]["name"]
    assert alias != tool.name
    journal.answer(says({"toolCalls": [{"id": "c", "name": alias, "arguments": "{}"}]}))
    done = (await ask(make(journal.url), asking("Go", tools=(tool,)))).done
    assert done.calls == (ToolCall("c", "files/read.all", "{}"),)


async def test_what_nobody_answers_is_not_found(make: Make, journal: Journal) -> None:
    assert (await ask(make(journal.url))).failed.kind == "not_found"
