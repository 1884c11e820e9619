"""Responses streams as servers really send them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from counterparts import Answer, ask, asking, scripted
from pegboard_provider_openai.responses import OpenAIProvider

from pegboard import Start, ToolCall, ToolCallDelta, ToolCallStart, Usage

pytestmark = pytest.mark.anyio
Responses = Callable[..., OpenAIProvider]


def event(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": f"response.{kind}", **fields}


def ended(kind: str = "completed", **fields: Any) -> dict[str, Any]:
    return event(kind, response={"id": "resp_1", "model": "m-1", "status": kind, **fields})


def message(text: str, **fields: Any) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text}]
    return {"type": "message", "id": "msg_1", "role": "assistant", "content": content, **fields}


def call(number: int, arguments: str, **fields: Any) -> dict[str, Any]:
    known = {"id": f"fc_{number}", "call_id": f"call_{number}", "name": f"tool_{number}"}
    return {"type": "function_call", **known, "arguments": arguments, **fields}


CREATED = event("created", response={"id": "resp_1", "model": "m-1", "status": "in_progress"})
SAID = [CREATED, *(event("output_text.delta", delta=part) for part in ("Grüße ", "🧩"))]
WHOLE = event("output_item.done", item=message("Grüße 🧩"))
CALLED = [
    event("output_item.added", item=call(1, "")),
    event("output_item.added", item=call(2, "")),
    event("function_call_arguments.delta", item_id="fc_1", delta='{"a":'),
    event("function_call_arguments.delta", item_id="fc_2", delta="{}"),
    event("function_call_arguments.delta", item_id="fc_1", delta=" 1}"),
    event("output_item.done", item=call(2, "{}")),
    event("output_item.done", item=call(1, '{"a": 1}')),
]
CALLS = (ToolCall("call_1", "tool_1", '{"a": 1}'), ToolCall("call_2", "tool_2", "{}"))


async def heard(responses: Responses, *events: Any, request: Any = None, **options: Any) -> Any:
    async with scripted(Answer.stream(*events, **{"done": False} | options)) as server:
        return await ask(responses(server.url), request)


async def test_text_is_streamed_and_told_whole_at_the_end(responses: Responses) -> None:
    found = await heard(responses, *SAID, WHOLE, ended())
    assert found.events[0] == Start("m-1", "resp_1")
    assert found.text == found.done.text == "Grüße 🧩"
    assert (found.done.stop, found.done.raw_stop) == ("end", "completed")


async def test_the_end_is_the_end_although_the_server_goes_on(responses: Responses) -> None:
    late = event("output_text.delta", delta="late"), {"type": "error", "message": "late"}
    found = await heard(responses, *SAID, WHOLE, ended(), *late, stall=True)
    assert found.text == found.done.text == "Grüße 🧩"


async def test_bytes_cut_at_every_offset_say_the_same(responses: Responses) -> None:
    body = b"".join(
        b"event: %b\ndata: %b\n\n"
        % (item["type"].encode(), json.dumps(item, ensure_ascii=False).encode())
        for item in (*SAID, *CALLED, ended())
    )
    cuts = [Answer([body[:cut], body[cut:]]) for cut in range(0, len(body), 3)]
    async with scripted(*cuts) as server:
        provider = responses(server.url)
        for _ in cuts:
            done = (await ask(provider)).done
            assert (done.text, done.calls) == ("Grüße 🧩", CALLS)


async def test_parallel_calls_come_in_the_order_in_which_they_began(responses: Responses) -> None:
    found = await heard(responses, CREATED, *CALLED, ended())
    begun = [item for item in found.events if isinstance(item, ToolCallStart)]
    assert begun == [ToolCallStart(0, "call_1", "tool_1"), ToolCallStart(1, "call_2", "tool_2")]
    assert found.done.calls == CALLS
    assert found.done.stop == "tool_use"


async def test_a_call_that_comes_only_whole_is_streamed_as_one_piece(responses: Responses) -> None:
    found = await heard(responses, event("output_item.done", item=call(1, "{}")), ended())
    assert found.events[:3] == [
        Start("gpt-5.5"),
        ToolCallStart(0, "call_1", "tool_1"),
        ToolCallDelta(0, "{}"),
    ]
    assert found.done.calls == (ToolCall("call_1", "tool_1", "{}"),)


async def test_pieces_without_an_item_belong_to_the_last_call(responses: Responses) -> None:
    bare = call(1, "", id=None)
    found = await heard(
        responses,
        event("output_item.added", item=bare),
        event("function_call_arguments.delta", delta='{"a": 1}'),
        event("output_item.done", item=bare | {"arguments": '{"a": 1}'}),
        ended(),
    )
    assert found.done.calls == CALLS[:1]
    assert [item for item in found.events if isinstance(item, ToolCallDelta)] == [
        ToolCallDelta(0, '{"a": 1}')
    ]


async def test_what_was_never_streamed_is_taken_from_the_end(responses: Responses) -> None:
    found = await heard(responses, ended(output=[message("Hi"), call(1, "{}")]))
    assert found.text == found.done.text == "Hi"
    assert found.done.calls == (ToolCall("call_1", "tool_1", "{}"),)


async def test_one_json_body_in_place_of_a_stream_is_an_answer(responses: Responses) -> None:
    body = {"object": "response", "id": "r", "status": "completed", "output": [message("Hi")]}
    async with scripted(Answer.json(body)) as server:
        found = await ask(responses(server.url))
    assert found.text == found.done.text == "Hi"


async def test_an_event_of_two_megabytes_is_taken(responses: Responses) -> None:
    text = "x" * 2_000_000
    assert (await heard(responses, ended(output=[message(text)]))).done.text == text


async def test_tokens_are_counted(responses: Responses) -> None:
    usage = {
        "input_tokens": 10,
        "output_tokens": 7,
        "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 3},
        "output_tokens_details": {"reasoning_tokens": 2},
    }
    found = await heard(responses, *SAID, ended(usage=usage))
    assert found.done.usage == Usage(10, 7, cache_read=4, cache_write=3, reasoning=2)
    assert (await heard(responses, *SAID, ended())).done.usage.estimated


async def test_reasoning_is_shown_apart(responses: Responses) -> None:
    for kind in ("reasoning_summary_text.delta", "reasoning_text.delta"):
        found = await heard(responses, CREATED, event(kind, delta="Hm."), *SAID[1:], ended())
        assert (found.thought, found.text) == ("Hm.", "Grüße 🧩")


async def test_what_came_on_the_wire_is_kept_for_the_next_request(responses: Responses) -> None:
    reasoning = {"type": "reasoning", "id": "rs_1", "encrypted_content": "opaque"}
    found = await heard(
        responses, event("output_item.done", item=reasoning), *CALLED, ended(model="m-2")
    )
    state = found.done.state
    assert (state.provider, state.dialect, state.model) == ("openai", "openai-responses", "gpt-5.5")
    assert state.payload[0]["calls"] == ["call_1", "call_2"]
    assert state.payload[0]["wire"] == [reasoning, CALLED[5]["item"], CALLED[6]["item"]]


async def test_an_answer_that_was_cut_says_so(responses: Responses) -> None:
    cut = ended("incomplete", incomplete_details={"reason": "max_output_tokens"})
    found = await heard(responses, *SAID, cut)
    assert (found.done.stop, found.done.raw_stop) == ("max_tokens", "max_output_tokens")


async def test_an_answer_that_used_up_its_tokens_was_cut_whatever_the_server_says(
    responses: Responses,
) -> None:
    events = [*SAID, ended(usage={"output_tokens": 16})]
    assert (await heard(responses, *events, request=asking(max_output=16))).done.stop == (
        "max_tokens"
    )
    assert (await heard(responses, *events, request=asking(max_output=17))).done.stop == "end"


async def test_a_call_that_was_cut_is_none_and_is_not_sent_back(responses: Responses) -> None:
    item = call(1, '{"a": 1}', status="incomplete")  # complete-looking, all the same
    cut = ended("incomplete", incomplete_details={"reason": "max_output_tokens"})
    done = (await heard(responses, event("output_item.done", item=item), cut)).done
    assert (done.stop, done.calls) == ("max_tokens", ())
    assert done.state is not None and done.state.payload == []


async def test_a_refusal_is_told_as_one(responses: Responses) -> None:
    refused = event("refusal.delta", delta="I can't.")
    found = await heard(responses, CREATED, refused, ended())
    assert (found.text, found.done.stop) == ("I can't.", "refusal")
    whole = [{"type": "refusal", "refusal": "No."}]
    found = await heard(responses, ended(output=[message("") | {"content": whole}]))
    assert (found.text, found.done.stop) == ("No.", "refusal")
    filtered = ended("incomplete", incomplete_details={"reason": "content_filter"})
    assert (await heard(responses, *SAID, filtered)).done.stop == "refusal"


async def test_a_stream_that_never_ends_its_answer_is_broken_off(responses: Responses) -> None:
    for events in (SAID, [*SAID, WHOLE], CALLED[:3]):
        for options in ({}, {"cut": True}, {"done": True}):
            assert (await heard(responses, *events, **options)).failed.kind == "network"


async def test_an_answer_of_nothing_is_an_empty_stream(responses: Responses) -> None:
    for events in ([], [CREATED], [event("in_progress")]):
        assert (await heard(responses, *events)).failed.kind == "empty_stream"


async def test_a_frame_that_is_no_json_is_a_protocol_error(responses: Responses) -> None:
    assert (await heard(responses, *SAID, "{broken", ended())).failed.kind == "protocol"


async def test_events_of_another_form_say_nothing(responses: Responses) -> None:
    odd = [None, 7, [], {}, {"type": 5}, {"type": "response.new_thing", "delta": "x"}]
    odd += [event("output_text.delta", delta=7), event("output_item.done", item=None)]
    odd += [event("output_item.added"), event("function_call_arguments.delta", delta="x")]
    found = await heard(responses, *SAID, *map(json.dumps, odd), ended())
    assert found.done.text == "Grüße 🧩"


def failed(**error: Any) -> dict[str, Any]:
    return event("failed", response={"status": "failed", "error": error or None})


@pytest.mark.parametrize(
    ("event", "kind"),
    [
        (failed(code="server_error", message="broke"), "server"),
        (failed(code="rate_limit_exceeded", message="slow down"), "rate_limit"),
        (failed(code="context_length_exceeded", message="too long"), "context_overflow"),
        (failed(code="invalid_prompt", message="no"), "bad_request"),
        (failed(code="invalid_image", message="no"), "bad_request"),
        (failed(), "server"),
        ({"type": "error", "code": "rate_limit_exceeded", "message": "slow down"}, "rate_limit"),
        ({"type": "error", "error": {"type": "server_error", "message": "broke"}}, "server"),
        ({"type": "error"}, "server"),
        ({"error": {"message": "The model is overloaded"}}, "overloaded"),
        ({"object": "response", "status": "failed", "error": {"message": "x"}}, "server"),
    ],
)
async def test_an_error_within_a_stream_has_its_kind(
    responses: Responses, event: Any, kind: str
) -> None:
    assert (await heard(responses, *SAID, event)).failed.kind == kind
