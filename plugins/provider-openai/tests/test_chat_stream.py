"""Chat Completions streams as servers really send them, byte by byte."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from counterparts import Answer, ask, asking, called, scripted
from pegboard_provider_openai.chat import ChatProvider

from pegboard import Start, ToolCall, ToolCallDelta, ToolCallStart, Usage

pytestmark = pytest.mark.anyio
Chat = Callable[..., ChatProvider]


def chunk(delta: Any = None, finish: str | None = None, **fields: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta or {}, "finish_reason": finish}
    return {"id": "chatcmpl-1", "model": "m-1", "choices": [choice], **fields}


def calls(*pieces: dict[str, Any]) -> dict[str, Any]:
    return chunk({"tool_calls": list(pieces)})


def piece(arguments: Any = None, *, index: int | None = 0, id: str = "", name: str = "") -> Any:
    function = {"name": name} if name else {}
    if arguments is not None:
        function["arguments"] = arguments
    made: dict[str, Any] = {"function": function}
    return made | ({} if index is None else {"index": index}) | ({"id": id} if id else {})


SAID = [chunk({"role": "assistant", "content": ""}), chunk({"content": "Grüße 🧩"})]
STOP = chunk(finish="stop")
ASKED = chunk(finish="tool_calls")


async def heard(chat: Chat, *events: Any, **options: Any) -> Any:
    async with scripted(Answer.stream(*events, **options)) as server:
        return await ask(chat(server.url))


async def test_text_is_streamed_and_told_whole_at_the_end(chat: Chat) -> None:
    found = await heard(chat, *SAID, chunk({"content": "!"}), STOP)
    assert found.text == found.done.text == "Grüße 🧩!"
    assert found.events[0] == Start("m-1", "chatcmpl-1")
    assert (found.done.stop, found.done.raw_stop) == ("end", "stop")


async def test_bytes_cut_at_every_offset_say_the_same(chat: Chat) -> None:
    body = b": ping\r\n\r\n" + b"".join(
        b"data: " + json.dumps(event, ensure_ascii=False).encode() + b"\r\n\r\n"
        for event in (*SAID, calls(piece('{"a": "ü"}', id="c1", name="echo")), ASKED)
    )
    cuts = [Answer([body[:cut], body[cut:]]) for cut in range(len(body))]
    async with scripted(*cuts) as server:
        provider = chat(server.url)
        for cut in range(len(body)):
            done = (await ask(provider)).done
            assert done.text == "Grüße 🧩", cut
            assert done.calls == (ToolCall("c1", "echo", '{"a": "ü"}'),), cut


async def test_single_bytes_say_the_same(chat: Chat) -> None:
    body = b"".join(f"data: {json.dumps(event)}\n\n".encode() for event in (*SAID, STOP))
    async with scripted(Answer([body[n : n + 1] for n in range(len(body))])) as server:
        assert (await ask(chat(server.url))).done.text == "Grüße 🧩"


async def test_an_event_of_two_megabytes_is_taken(chat: Chat) -> None:
    text = "x" * 2_000_000
    assert (await heard(chat, chunk({"content": text}), STOP)).done.text == text


async def test_a_stream_without_done_that_said_why_it_stopped_is_whole(chat: Chat) -> None:
    assert (await heard(chat, *SAID, STOP, done=False)).done.stop == "end"


async def test_tokens_come_in_a_chunk_without_choices(chat: Chat) -> None:
    usage = {
        "prompt_tokens": 10,
        "completion_tokens": 7,
        "prompt_tokens_details": {"cached_tokens": 4},
        "completion_tokens_details": {"reasoning_tokens": 2},
    }
    found = await heard(chat, *SAID, STOP, {"id": "chatcmpl-1", "choices": [], "usage": usage})
    assert found.done.usage == Usage(input=10, output=7, cache_read=4, reasoning=2)


async def test_tokens_that_nobody_counted_are_estimated_and_marked(chat: Chat) -> None:
    usage = (await heard(chat, *SAID, STOP)).done.usage
    assert usage.estimated
    assert usage.output > 0


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": -3, "completion_tokens": "many"},
        {"prompt_tokens": 3, "prompt_tokens_details": {"cached_tokens": 9}},
        {"prompt_tokens_details": None, "completion_tokens_details": 7},
        {"completion_tokens": 1, "completion_tokens_details": {"reasoning_tokens": 8}},
        {"prompt_tokens": True},
    ],
)
async def test_impossible_counts_do_no_harm(chat: Chat, usage: Any) -> None:
    found = (await heard(chat, *SAID, chunk(finish="stop", usage=usage))).done.usage
    assert 0 <= found.cache_read <= found.input
    assert 0 <= found.reasoning <= found.output


async def test_reasoning_is_shown_apart(chat: Chat) -> None:
    for field in ("reasoning_content", "reasoning"):
        found = await heard(chat, chunk({field: "Hm. "}), chunk({field: "So."}), *SAID, STOP)
        assert (found.thought, found.text) == ("Hm. So.", "Grüße 🧩")


async def test_content_in_parts_is_text(chat: Chat) -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "thinking"}, {"type": "text", "text": "b"}]
    assert (await heard(chat, chunk({"content": parts}), STOP)).done.text == "ab"


async def test_one_json_body_in_place_of_a_stream_is_an_answer(chat: Chat) -> None:
    call = piece('{"a": 1}', id="c1", name="echo")
    message = {"role": "assistant", "content": "Hi", "tool_calls": [call]}
    body = {"id": "1", "choices": [{"message": message, "finish_reason": "tool_calls"}]}
    async with scripted(Answer.json(body)) as server:
        done = (await ask(chat(server.url))).done
    assert (done.text, done.calls) == ("Hi", (ToolCall("c1", "echo", '{"a": 1}'),))


async def test_half_characters_of_two_pieces_are_passed_on(chat: Chat) -> None:
    found = await heard(chat, chunk({"content": "a\ud83e"}), chunk({"content": "\udde9b"}), STOP)
    assert found.text.encode("utf-16", "surrogatepass").decode("utf-16") == "a🧩b"


# --- calls ---------------------------------------------------------------------------------------


def of_calls(found: Any) -> list[tuple[str, str]]:
    """Return names and arguments of the calls, after checking that the stream said the same."""
    begun = [event for event in found.events if isinstance(event, ToolCallStart)]
    streamed = {event.index: "" for event in begun}
    for event in found.events:
        if isinstance(event, ToolCallDelta):
            streamed[event.index] += event.text
    made = found.done.calls
    assert [(event.id, event.name) for event in begun] == [(call.id, call.name) for call in made]
    assert list(streamed.values()) == [call.arguments for call in made]
    assert len({call.id for call in made}) == len(made)
    assert all(call.id for call in made)
    return [(call.name, call.arguments) for call in made]


A, B = ("read", '{"path": "a"}'), ("write", '{"path": "b"}')
SHAPES = {
    "as OpenAI sends them": [
        calls(piece("", id="c1", name="read")),
        calls(piece('{"path":')),
        calls(piece(' "a"}')),
        calls(piece("", index=1, id="c2", name="write")),
        calls(piece('{"path": "b"}', index=1)),
    ],
    "index 0 twice": [
        calls(piece('{"path": ', id="c1", name="read")),
        calls(piece('"a"}')),
        calls(piece('{"path": ', id="c2", name="write")),
        calls(piece('"b"}')),
    ],
    "interleaved": [
        calls(piece("", id="c1", name="read"), piece("", index=1, id="c2", name="write")),
        calls(piece('{"path": '), piece('{"path": ', index=1)),
        calls(piece('"a"}'), piece('"b"}', index=1)),
    ],
    "no index": [
        calls(piece(A[1], index=None, id="c1", name="read")),
        calls(piece('{"path": ', index=None, id="c2", name="write")),
        calls(piece('"b"}', index=None)),
    ],
    "no ids": [
        calls(piece('{"path": ', name="read")),
        calls(piece('"a"}')),
        calls(piece(B[1], index=1, name="write")),
    ],
    "neither ids nor indexes": [
        calls(piece(A[1], index=None, name="read")),
        calls(piece(B[1], index=None, name="write")),
    ],
    "no ids, and index 0 twice": [
        calls(piece(A[1], name="read")),
        calls(piece(B[1], name="write")),
    ],
    "late names": [
        calls(piece('{"path": ', id="c1")),
        calls(piece('"a"}')),
        calls(piece(None, name="read")),
        calls(piece(None, index=1, id="c2")),
        calls(piece(B[1], index=1, id="c2", name="write")),
    ],
    "late ids": [
        calls(piece('{"path": ', name="read")),
        calls(piece('"a"}', id="c1")),
        calls(piece(B[1], index=1, id="c2", name="write")),
    ],
    "id and name in each piece": [
        calls(piece('{"path": ', id="c1", name="read")),
        calls(piece('"a"}', id="c1", name="read")),
        calls(piece('{"path": ', index=1, id="c2", name="write")),
        calls(piece('"b"}', index=1, id="c2", name="write")),
    ],
    "name in each piece, no ids": [
        calls(piece('{"path": ', name="read")),
        calls(piece('"a"}', name="read")),
        calls(piece(B[1], index=1, name="write")),
    ],
    "arguments as objects": [
        calls(piece({"path": "a"}, id="c1", name="read")),
        calls(piece({"path": "b"}, index=1, id="c2", name="write")),
    ],
}


@pytest.mark.parametrize("events", SHAPES.values(), ids=SHAPES.keys())
async def test_two_calls_stay_two_however_they_are_sent(chat: Chat, events: Any) -> None:
    assert of_calls(await heard(chat, *events, ASKED)) == [A, B]


async def test_the_same_call_twice_without_ids_is_two_calls(chat: Chat) -> None:
    twice = [calls(piece(A[1], index=None, name="read"))] * 2
    assert of_calls(await heard(chat, *twice, ASKED)) == [A, A]


async def test_ids_that_are_made_up_are_none_of_the_conversation(chat: Chat) -> None:
    events = [calls(piece(A[1], name="read")), ASKED]
    async with scripted(Answer.stream(*events)) as server:
        provider = chat(server.url)
        before = called(ToolCall("call_1", "read", "{}"), ToolCall("call_2", "read", "{}"))
        first = (await ask(provider, asking("Hi", before))).done.calls[0].id
        second = (await ask(provider, asking("Hi", before))).done.calls[0].id
    assert len({first, second, "call_1", "call_2"}) == 4


@pytest.mark.parametrize("arguments", ["", "{", '{"a": 1', "nonsense", "[1]", "null"])
async def test_arguments_that_are_none_are_left_to_the_host(chat: Chat, arguments: str) -> None:
    found = await heard(chat, calls(piece(arguments, id="c1", name="read")), ASKED)
    assert of_calls(found) == [("read", arguments)]


@pytest.mark.parametrize("finish", ["tool_calls", "stop", "function_call", "eos", "odd"])
async def test_calls_mean_tool_use_whatever_the_server_calls_it(chat: Chat, finish: str) -> None:
    call = calls(piece("{}", id="c1", name="read"))
    assert (await heard(chat, call, chunk(finish=finish))).done.stop == "tool_use"


async def test_an_answer_cut_inside_arguments_says_that_it_was_cut(chat: Chat) -> None:
    call = calls(piece('{"path": "a', id="c1", name="read"))
    done = (await heard(chat, call, chunk(finish="length"))).done
    assert (done.stop, done.raw_stop) == ("max_tokens", "length")


async def test_a_call_that_is_cut_before_its_name_is_no_call(chat: Chat) -> None:
    done = (await heard(chat, calls(piece(None, id="c1")), chunk(finish="length"))).done
    assert (done.stop, done.calls) == ("max_tokens", ())


async def test_a_call_that_is_never_named_is_an_error(chat: Chat) -> None:
    failed = (await heard(chat, calls(piece("{}", id="c1")), ASKED)).failed
    assert failed.kind == "malformed_tool_call"


async def test_pieces_of_another_form_say_nothing(chat: Chat) -> None:
    odd = [None, 7, [], "text", {"choices": None}, {"choices": [None, 7]}, {"choices": {}}]
    odd += [chunk({"content": 7}), chunk({"tool_calls": [None, {}, {"function": 3}]}), {"usage": 1}]
    found = await heard(chat, *SAID, *map(json.dumps, odd), STOP)
    assert found.done.text == "Grüße 🧩"


# --- refusals and breaks -------------------------------------------------------------------------


async def test_a_refusal_is_told_as_one(chat: Chat) -> None:
    found = await heard(chat, chunk({"refusal": "I can't "}), chunk({"refusal": "do that."}), STOP)
    assert (found.done.stop, found.text) == ("refusal", "I can't do that.")
    filtered = await heard(chat, *SAID, chunk(finish="content_filter"))
    assert filtered.done.stop == "refusal"


async def test_text_beside_a_refusal_still_adds_up(chat: Chat) -> None:
    found = await heard(chat, chunk({"content": "Well. "}), chunk({"refusal": "No."}), STOP)
    assert found.text == found.done.text == "Well. No."


@pytest.mark.parametrize("events", [[], [SAID[0]], [{"choices": [], "usage": {}}]])
async def test_an_answer_of_nothing_is_an_empty_stream(chat: Chat, events: Any) -> None:
    assert (await heard(chat, *events)).failed.kind == "empty_stream"
    assert (await heard(chat, *events, done=False)).failed.kind == "empty_stream"


async def test_an_empty_body_is_an_empty_stream(chat: Chat) -> None:
    for kind in ("text/event-stream", "text/plain", ""):
        async with scripted(Answer([], kind=kind)) as server:
            assert (await ask(chat(server.url))).failed.kind == "empty_stream"


@pytest.mark.parametrize("done", [True, False])
async def test_an_answer_that_never_says_why_it_stopped_is_broken_off(
    chat: Chat, done: bool
) -> None:
    found = await heard(chat, *SAID, calls(piece("{}", id="c1", name="read")), done=done)
    assert found.failed.kind == "network"
    assert found.text == "Grüße 🧩"


async def test_a_connection_that_breaks_is_told(chat: Chat) -> None:
    found = await heard(chat, *SAID, done=False, cut=True)
    assert found.failed.kind == "network"


@pytest.mark.parametrize("frame", ["{broken", '{"choices": [', "<html>busy</html>", "9" * 5_000])
async def test_a_frame_that_is_no_json_is_a_protocol_error(chat: Chat, frame: str) -> None:
    found = await heard(chat, *SAID, frame, STOP)
    assert found.failed.kind == "protocol"


ERRORS = {
    "at the top": ({"error": {"message": "busy", "code": 503}}, "overloaded"),
    "beside choices": (
        chunk({"content": ""}, "error", error={"message": "slow down", "code": 429}),
        "rate_limit",
    ),
    "in a choice": ({"choices": [{"delta": {}, "error": {"message": "broke"}}]}, "server"),
    "as the reason to stop": (chunk(finish="error"), "server"),
    "as vLLM tells it": ({"object": "error", "message": "bad", "code": 400}, "bad_request"),
    "with its status as text": ({"error": {"message": "no", "code": "401"}}, "auth"),
    "as a text": ({"error": "The server is overloaded"}, "overloaded"),
    "of a window that is full": (
        {"error": {"message": "This model's maximum context length is 8192 tokens"}},
        "context_overflow",
    ),
}


@pytest.mark.parametrize(("event", "kind"), ERRORS.values(), ids=ERRORS.keys())
async def test_an_error_within_a_stream_has_its_kind(chat: Chat, event: Any, kind: str) -> None:
    found = await heard(chat, *SAID, event)
    assert found.failed.kind == kind


async def test_an_error_in_a_body_with_status_200_has_its_kind(chat: Chat) -> None:
    async with scripted(Answer.json({"error": {"message": "busy", "code": 503}})) as server:
        assert (await ask(chat(server.url))).failed.kind == "overloaded"
