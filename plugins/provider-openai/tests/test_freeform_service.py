"""Tools that take plain text, against what the vendor says of its service.

aimock and llmock take requests with such tools but know nothing of them: they leave them out of
what they report, and call them as functions. So a server of ours speaks the events here, each of
which must be one of those that the vendor's own client declares.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from counterparts import ECHO, Answer, Chaos, Journal, answered, ask, asking, called, scripted
from pegboard_provider_openai.responses import OpenAIProvider

from pegboard import ChatRequest, Message, ToolCall, ToolCallDelta, ToolDeclaration

pytestmark = [pytest.mark.anyio, pytest.mark.filterwarnings("ignore::DeprecationWarning")]
openai = pytest.importorskip("openai", reason="the official client is not installed")
Responses = Callable[..., OpenAIProvider]
MODEL = "gpt-5.5"
PARAMETERS = {"type": "object", "properties": {"patch": {"type": "string"}}, "required": ["patch"]}
PATCH = ToolDeclaration("apply_patch", "Change files.", PARAMETERS, freeform="patch")
WRITTEN = '*** Begin Patch\n*** Update File: a "b".py\n@@\n-été\n+"\\n" 🦊\n*** End Patch'
ITEM = {"type": "custom_tool_call", "id": "ctc_1", "call_id": "call_1", "name": "apply_patch"}
REASONED = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA="}
USAGE = {
    "input_tokens": 20, "output_tokens": 9, "total_tokens": 29,
    "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
    "output_tokens_details": {"reasoning_tokens": 0},
}  # fmt: skip


def response(status: str, *output: Any) -> dict[str, Any]:
    """Return a response with all that the client declares as always there."""
    return {
        "id": "resp_1", "object": "response", "created_at": 1, "model": MODEL, "status": status,
        "output": list(output), "parallel_tool_calls": True, "tool_choice": "auto", "tools": [],
        "usage": USAGE if status == "completed" else None,
    }  # fmt: skip


def spoken(*, cut: int = 7) -> list[dict[str, Any]]:
    """Return the events of an answer that reasons and then calls the tool, in small pieces."""
    call = {**ITEM, "input": WRITTEN, "status": "completed"}
    pieces = [WRITTEN[place : place + cut] for place in range(0, len(WRITTEN), cut)]
    at = {"item_id": "ctc_1", "output_index": 1}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": response("in_progress")},
        {"type": "response.in_progress", "response": response("in_progress")},
        {"type": "response.output_item.added", "output_index": 0, "item": REASONED},
        {"type": "response.output_item.done", "output_index": 0, "item": REASONED},
        {"type": "response.output_item.added", "output_index": 1, "item": {**ITEM, "input": ""}},
        *(
            {"type": "response.custom_tool_call_input.delta", "delta": piece, **at}
            for piece in pieces
        ),
        {"type": "response.custom_tool_call_input.done", "input": WRITTEN, **at},
        {"type": "response.output_item.done", "output_index": 1, "item": call},
        {"type": "response.completed", "response": response("completed", REASONED, call)},
    ]
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


def service(**options: Any) -> Answer:
    return Answer.stream(*spoken(**options), done=False)


def asked(*more: Message, state: Any = None) -> ChatRequest:
    return asking("Go", *more, tools=(ECHO, PATCH), model=MODEL, state=state)


def test_the_events_are_those_that_the_vendor_declares() -> None:
    from openai.types.responses import ResponseStreamEvent
    from pydantic import TypeAdapter

    known: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)
    for event in spoken():
        read = known.validate_python(event)
        assert read.type == event["type"]


@pytest.mark.parametrize("cut", [1, 7, 1_000])
async def test_both_read_the_same_call(responses: Responses, cut: int) -> None:
    async with scripted(service(cut=cut), service(cut=cut)) as server:
        found = await ask(responses(server.url, model=MODEL), asked())
        payload = server.requests[0].json
        async with openai.AsyncOpenAI(
            api_key="sk-x", base_url=f"{server.url}/v1", max_retries=0
        ) as client:
            text, final = "", None
            async for event in await client.responses.create(**payload):
                if event.type == "response.custom_tool_call_input.delta":
                    text += event.delta
                elif event.type == "response.completed":
                    final = event.response
        again = server.requests[1].json
    assert final is not None
    theirs = next(item for item in final.output if item.type == "custom_tool_call")
    (ours,) = found.done.calls
    assert ours == ToolCall(theirs.call_id, theirs.name, theirs.input)
    assert ours.arguments == text == WRITTEN
    said = "".join(event.text for event in found.events if isinstance(event, ToolCallDelta))
    assert said == WRITTEN
    assert again == payload


@pytest.mark.parametrize("remembered", [True, False])
async def test_the_vendors_client_sends_what_we_send(
    responses: Responses, remembered: bool
) -> None:
    from openai.types.responses.response_create_params import ResponseCreateParamsStreaming
    from pydantic import TypeAdapter

    async with scripted(service(), service(), service()) as server:
        provider = responses(server.url, model=MODEL)
        done = (await ask(provider, asked())).done
        (call,) = done.calls
        more = called(call), answered((call, "Success."))
        await ask(provider, asked(*more, state=done.state if remembered else None))
        payload = server.requests[1].json
        async with openai.AsyncOpenAI(
            api_key="sk-x", base_url=f"{server.url}/v1", max_retries=0
        ) as client:
            async for _ in await client.responses.create(**payload):
                pass
        assert server.requests[2].json == payload
    # nothing is stored there, so no id of theirs is sent back; all declared reasoning has one
    declared = [
        {"id": "rs_1", **item} if item.get("type") == "reasoning" else item
        for item in payload["input"]
    ]
    TypeAdapter(ResponseCreateParamsStreaming).validate_python({**payload, "input": declared})
    kinds = [item.get("type", item.get("role")) for item in payload["input"]]
    calls = ["custom_tool_call", "custom_tool_call_output"]
    assert kinds == (["user", "reasoning", *calls] if remembered else ["user", *calls])
    assert [tool["type"] for tool in payload["tools"]] == ["function", "custom"]


async def test_a_server_that_calls_it_as_a_function_is_answered_as_one(
    responses: Responses, journal: Journal
) -> None:
    arguments = {"patch": WRITTEN}
    call = {"name": "apply_patch", "arguments": arguments}
    journal.answer(
        {"match": {"hasToolResult": False}, "response": {"toolCalls": [call]}},
        {"match": {"hasToolResult": True}, "response": {"content": "Done."}},
    )
    provider = responses(journal.url, model=MODEL)
    done = (await ask(provider, asked())).done
    (made,) = done.calls
    more = called(made), answered((made, "Success."))
    assert (await ask(provider, asked(*more, state=done.state))).text == "Done."
    _, sent = journal.sent()
    assert sent.body["messages"][-1] == {
        "role": "tool", "tool_call_id": made.id, "content": "Success.",
    }  # fmt: skip


@pytest.mark.parametrize("server", ["chaos", "journal"])
async def test_servers_that_know_nothing_of_it_take_the_request(
    responses: Responses, server: str, request: pytest.FixtureRequest
) -> None:
    running: Chaos | Journal = request.getfixturevalue(server)
    if isinstance(running, Journal):
        running.answer({"match": {}, "response": {"content": "Fine."}})
    call = ToolCall("call_1", "apply_patch", WRITTEN)
    found = await ask(
        responses(running.url, model=MODEL), asked(called(call), answered((call, "Success.")))
    )
    assert found.error is None
    assert found.done.stop in ("end", "tool_use")
    if isinstance(running, Journal):
        (sent,) = running.sent()
        assert [tool["function"]["name"] for tool in sent.body["tools"]] == ["echo"]
