"""Streams of Messages as servers send them, and as none should."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from counterparts import ECHO, Answer, Heard, ask, asking, scripted
from pegboard_provider_anthropic.provider import AnthropicProvider

from pegboard import Start, TextDelta, ToolCall, ToolCallDelta, ToolCallStart, Usage
from pegboard.providers import SseParser, ToolNames

pytestmark = pytest.mark.anyio
Make = Callable[..., AnthropicProvider]
THINKING = {"type": "thinking", "thinking": "", "signature": ""}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "echo", "input": {}}


def begun(**usage: int) -> dict[str, Any]:
    message = {"id": "msg_1", "model": "claude-x", "role": "assistant", "content": []}
    return {"type": "message_start", "message": {**message, "usage": usage or {"input_tokens": 5}}}


def opened(index: int, **block: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def piece(index: int, kind: str, **delta: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **delta}}


def closed(index: int) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


def ended(stop: str | None = "end_turn", **usage: Any) -> list[dict[str, Any]]:
    delta = {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": usage}
    return [delta, {"type": "message_stop"}]


def text(said: str, index: int = 0) -> list[dict[str, Any]]:
    return [
        opened(index, type="text", text=""),
        piece(index, "text_delta", text=said),
        closed(index),
    ]


def call(arguments: str, index: int = 0, **block: Any) -> list[dict[str, Any]]:
    return [
        opened(index, **{**CALL, **block}),
        *(piece(index, "input_json_delta", partial_json=part) for part in halves(arguments)),
        closed(index),
    ]


def halves(whole: str) -> Iterator[str]:
    middle = len(whole) // 2
    yield from (part for part in (whole[:middle], whole[middle:]) if part)


def body(*events: Any) -> bytes:
    """Return a stream as the service writes it: a name, the data, now and then a ping."""
    lines = []
    for event in events:
        lines.append(f"event: {event['type']}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n")
    lines.insert(1, 'event: ping\ndata: {"type": "ping"}\n\n')
    return "".join(lines).encode()


async def heard(messages: Make, *events: Any, **answer: Any) -> Heard:
    """Return what a provider makes of a stream."""
    async with scripted(Answer([body(*events)], **answer)) as server:
        return await ask(messages(server.url), asking(tools=(ECHO,)))


async def test_text_reasoning_and_a_call_become_one_answer(messages: Make) -> None:
    found = await heard(
        messages,
        begun(input_tokens=10, cache_read_input_tokens=100, cache_creation_input_tokens=7),
        opened(0, **THINKING),
        piece(0, "thinking_delta", thinking="They want "),
        piece(0, "thinking_delta", thinking="an echo."),
        piece(0, "signature_delta", signature="c2ln"),
        closed(0),
        *text("Here it is.", 1),
        *call('{"text": "hi"}', 2),
        *ended("tool_use", output_tokens=20, output_tokens_details={"thinking_tokens": 8}),
    )
    done = found.done
    assert found.events[0] == Start("claude-x", "msg_1")
    assert (found.text, found.thought) == ("Here it is.", "They want an echo.")
    assert (done.stop, done.raw_stop, done.text) == ("tool_use", "tool_use", "Here it is.")
    assert done.calls == (ToolCall("toolu_1", "echo", '{"text": "hi"}'),)
    assert done.usage == Usage(117, 20, cache_read=100, cache_write=7, reasoning=8)
    assert done.state is not None
    assert done.state.payload == [
        {
            "calls": ["toolu_1"],
            "wire": [
                {"type": "thinking", "thinking": "They want an echo.", "signature": "c2ln"},
                {"type": "text", "text": "Here it is."},
                {**CALL, "input": {"text": "hi"}},
            ],
        }
    ]


async def test_a_body_cut_at_any_byte_says_the_same(messages: Make) -> None:
    whole = body(
        begun(),
        opened(0, **THINKING),
        piece(0, "thinking_delta", thinking="修 🧩"),
        *text("né 🧩\u2028.", 1),
        *call('{"text": "修"}', 2),
        *ended("tool_use", output_tokens=3),
    )
    cuts = [[whole[:cut], whole[cut:]] for cut in range(1, len(whole), 7)]
    crlf = whole.replace(b"\n", b"\r\n")
    cuts += [[crlf[:cut], crlf[cut:]] for cut in range(1, len(crlf), 7)]
    cuts.append([whole[at : at + 1] for at in range(len(whole))])
    async with scripted(*(Answer(pieces) for pieces in cuts)) as server:
        provider = messages(server.url)
        found = [(await ask(provider, asking(tools=(ECHO,)))).done for _ in cuts]
    assert {done.text for done in found} == {"né 🧩\u2028."}
    assert {done.calls for done in found} == {(ToolCall("toolu_1", "echo", '{"text": "修"}'),)}


def test_the_parser_takes_the_stream_at_every_cut() -> None:
    whole = body(begun(), *text("修🧩"), *ended())
    expected = [event.data for event in SseParser().feed(whole)]
    for cut in range(len(whole) + 1):
        parser = SseParser()
        found = [*parser.feed(whole[:cut]), *parser.feed(whole[cut:])]
        assert [event.data for event in found] == expected


@pytest.mark.parametrize(
    ("arguments", "told"),
    [("", "{}"), ("{}", "{}"), ('{"text": ', '{"text": '), ("[1]", "[1]"), ("nope", "nope")],
)
async def test_arguments_are_passed_on_as_they_came(
    messages: Make, arguments: str, told: str
) -> None:
    found = await heard(messages, begun(), *call(arguments), *ended("tool_use"))
    assert found.done.calls == (ToolCall("toolu_1", "echo", told),)
    streamed = [event.text for event in found.events if isinstance(event, ToolCallDelta)]
    assert "".join(streamed) == told


async def test_arguments_that_are_none_come_back_as_an_object(messages: Make) -> None:
    found = await heard(
        messages, begun(), *call("nope"), *call("[1]", 1, id="toolu_2"), *ended("tool_use")
    )
    assert found.done.state is not None
    (kept,) = found.done.state.payload
    assert kept["calls"] == ["toolu_1", "toolu_2"]
    assert [block["input"] for block in kept["wire"]] == [{}, {"value": [1]}]


async def test_a_call_without_input_takes_what_it_is_given_whole(messages: Make) -> None:
    bare = {"type": "tool_use", "id": "toolu_1", "name": "echo"}
    found = await heard(messages, begun(), opened(0, **bare), closed(0), *ended("tool_use"))
    assert found.done.calls == (ToolCall("toolu_1", "echo", "{}"),)
    whole = opened(0, **bare, input={"text": "修"})
    found = await heard(messages, begun(), whole, closed(0), *ended("tool_use"))
    assert found.done.calls == (ToolCall("toolu_1", "echo", '{"text": "修"}'),)


async def test_blocks_may_begin_before_the_one_before_ended(messages: Make) -> None:
    found = await heard(
        messages,
        begun(),
        opened(0, type="text", text=""),
        opened(1, **CALL),
        piece(1, "input_json_delta", partial_json='{"text":'),
        piece(0, "text_delta", text="Late "),
        piece(1, "input_json_delta", partial_json=' "a"}'),
        piece(0, "text_delta", text="words."),
        closed(0),
        closed(1),
        *ended("tool_use"),
    )
    assert found.done.text == "Late words."
    assert found.done.calls == (ToolCall("toolu_1", "echo", '{"text": "a"}'),)
    assert found.done.state is not None
    assert [block["type"] for block in found.done.state.payload[0]["wire"]] == ["text", "tool_use"]


async def test_one_index_for_two_calls_is_two_calls(messages: Make) -> None:
    found = await heard(
        messages,
        begun(),
        *call('{"text": "a"}'),
        *call('{"text": "b"}', id="toolu_2"),
        *ended("tool_use"),
    )
    assert [(made.id, made.arguments) for made in found.done.calls] == [
        ("toolu_1", '{"text": "a"}'),
        ("toolu_2", '{"text": "b"}'),
    ]
    begins = [event for event in found.events if isinstance(event, ToolCallStart)]
    assert [event.index for event in begins] == [0, 1]


async def test_pieces_may_come_before_their_block(messages: Make) -> None:
    found = await heard(
        messages,
        begun(),
        piece(0, "text_delta", text="No start. "),
        piece(1, "input_json_delta", partial_json='{"text": "a"}'),
        opened(1, **CALL),
        piece(2, "thinking_delta", thinking="Hm."),
        piece(2, "signature_delta", signature="c2ln"),
        *ended("tool_use"),
    )
    assert (found.text, found.thought) == ("No start. ", "Hm.")
    assert found.done.calls == (ToolCall("toolu_1", "echo", '{"text": "a"}'),)
    kinds = [type(event) for event in found.events]
    assert kinds.index(ToolCallStart) < kinds.index(ToolCallDelta)
    assert found.done.state is not None
    assert found.done.state.payload[0]["wire"][-1] == {
        "type": "thinking",
        "thinking": "Hm.",
        "signature": "c2ln",
    }


async def test_pieces_of_arguments_become_no_text(messages: Make) -> None:
    stray = piece(0, "input_json_delta", partial_json='{"text": "a"}')
    found = await heard(messages, begun(), stray, *text("Words."), *call("{}", 1), *ended())
    assert found.done.text == "Words."
    assert found.done.state is not None
    assert [block["type"] for block in found.done.state.payload[0]["wire"]] == ["text", "tool_use"]


async def test_pieces_of_a_block_of_another_kind_are_a_block_of_their_own(messages: Make) -> None:
    found = await heard(
        messages, begun(), *call('{"text": "a"}'), piece(0, "text_delta", text="x"), *ended()
    )
    assert found.done.state is not None
    assert found.done.state.payload[0]["wire"] == [
        {**CALL, "input": {"text": "a"}},
        {"type": "text", "text": "x"},
    ]


async def test_calls_that_the_service_runs_itself_are_nobody_elses(messages: Make) -> None:
    found = await heard(
        messages,
        begun(),
        opened(0, type="server_tool_use", id="srv_1", name="web_search", input={}),
        piece(0, "input_json_delta", partial_json='{"query": "x"}'),
        opened(1, type="web_search_tool_result", tool_use_id="srv_1", content=[]),
        *call('{"text": "a"}', 2),
        *ended("tool_use"),
    )
    assert [made.name for made in found.done.calls] == ["echo"]
    deltas = [event for event in found.events if isinstance(event, ToolCallDelta)]
    assert "".join(event.text for event in deltas) == '{"text": "a"}'
    assert found.done.state is not None
    wire = found.done.state.payload[0]["wire"]
    assert wire[0]["input"] == {"query": "x"}
    assert wire[1] == {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": []}


async def test_hidden_reasoning_is_kept_and_not_shown(messages: Make) -> None:
    found = await heard(
        messages,
        begun(),
        opened(0, type="redacted_thinking", data="b3BhcXVl"),
        opened(1, type="thinking", thinking="", signature=""),
        piece(1, "signature_delta", signature="c2"),
        piece(1, "signature_delta", signature="ln"),
        *call("{}", 2),
        *ended("tool_use"),
    )
    assert found.thought == ""
    assert found.done.state is not None
    assert found.done.state.payload[0]["wire"][:2] == [
        {"type": "redacted_thinking", "data": "b3BhcXVl"},
        {"type": "thinking", "thinking": "", "signature": "c2ln"},
    ]


async def test_a_text_of_nothing_but_space_is_not_sent_back(messages: Make) -> None:
    found = await heard(messages, begun(), *text("\n\n"), *call("{}", 1), *ended("tool_use"))
    assert found.done.text == "\n\n"
    assert found.done.state is not None
    assert [block["type"] for block in found.done.state.payload[0]["wire"]] == ["tool_use"]


async def test_a_character_torn_into_two_deltas_is_whole_where_it_comes_back(
    messages: Make,
) -> None:
    raw = b"".join(
        b"data: "
        + json.dumps(event).replace("HIGH", r"\ud83e").replace("LOW", r"\udde9").encode()
        + b"\n\n"
        for event in (
            begun(),
            opened(0, type="text", text=""),
            piece(0, "text_delta", text="HIGH"),
            piece(0, "text_delta", text="LOW"),
            *call("{}", 1),
            *ended("tool_use"),
        )
    )
    async with scripted(Answer([raw])) as server:
        found = await ask(messages(server.url), asking(tools=(ECHO,)))
    assert found.done.state is not None
    assert found.done.state.payload[0]["wire"][0] == {"type": "text", "text": "🧩"}


@pytest.mark.parametrize(
    ("said", "stop"),
    [
        ("end_turn", "end"),
        ("stop_sequence", "end"),
        ("max_tokens", "max_tokens"),
        ("pause_turn", "pause"),
        ("refusal", "refusal"),
        ("model_context_window_exceeded", "context_overflow"),
        ("brand_new_reason", "other"),
        (None, "other"),
    ],
)
async def test_why_it_stopped_is_told(messages: Make, said: str | None, stop: str) -> None:
    found = await heard(messages, begun(), *text("So far"), *ended(said))
    assert (found.done.stop, found.done.raw_stop) == (stop, said or "")
    assert found.done.text == "So far"


async def test_calls_beside_another_reason_to_stop_are_calls(messages: Make) -> None:
    found = await heard(messages, begun(), *call("{}"), *ended("end_turn"))
    assert found.done.stop == "tool_use"
    found = await heard(messages, begun(), *call("{}"), *ended("refusal"))
    assert (found.done.stop, found.done.calls) == ("refusal", ())


async def test_a_refusal_tells_why(messages: Make) -> None:
    why = {"type": "refusal", "category": "cyber", "explanation": "That is about malware."}
    last = {"type": "message_delta", "delta": {"stop_reason": "refusal", "stop_details": why}}
    found = await heard(messages, begun(), last, {"type": "message_stop"})
    assert found.done.stop == "refusal"
    assert found.notices == ["refusal"]


async def test_arguments_cut_by_the_longest_answer_are_left_to_the_host(messages: Make) -> None:
    found = await heard(
        messages,
        begun(),
        *call('{"text": "a"}'),
        opened(1, **{**CALL, "id": "toolu_2"}),
        piece(1, "input_json_delta", partial_json='{"text": "b'),
        *ended("max_tokens"),
    )
    assert found.done.stop == "max_tokens"
    assert [made.arguments for made in found.done.calls] == ['{"text": "a"}', '{"text": "b']


async def test_a_call_cut_before_its_arguments_is_not_one_without_any(messages: Make) -> None:
    found = await heard(
        messages, begun(), *call(""), *call("", 1, id="toolu_2"), *ended("max_tokens")
    )
    assert [made.arguments for made in found.done.calls] == ["{}", ""]


async def test_counts_never_shrink(messages: Make) -> None:
    found = await heard(
        messages,
        begun(input_tokens=0, output_tokens=1),
        *text("x"),
        *ended(input_tokens=272, output_tokens=4, cache_read_input_tokens=None),
    )
    assert found.done.usage == Usage(272, 4)
    found = await heard(
        messages,
        begun(input_tokens=1, cache_read_input_tokens=272),
        *text("x"),
        *ended(input_tokens=0, output_tokens=True, thinking_tokens=9),
    )
    assert found.done.usage == Usage(273, 0, cache_read=272)


async def test_a_second_beginning_begins_nothing(messages: Make) -> None:
    found = await heard(messages, begun(), *text("a"), begun(), *text("b", 1), *ended())
    assert sum(isinstance(event, Start) for event in found.events) == 1
    assert found.done.text == "ab"


async def test_an_answer_without_a_beginning_begins_all_the_same(messages: Make) -> None:
    found = await heard(messages, *text("a"), *ended())
    assert isinstance(found.events[0], Start)
    assert isinstance(found.events[1], TextDelta)


@pytest.mark.parametrize(
    "event",
    [
        {"type": "vault_opened", "index": 0},
        {"type": ["message_stop"]},
        {"type": "content_block_start", "index": "x", "content_block": 5},
        {"type": "content_block_delta", "index": 0, "delta": None},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": 7}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "new_delta"}},
        {"type": "message_delta", "delta": [], "usage": 3},
        {"type": "message_start"},
    ],
    ids=json.dumps,
)
async def test_what_nobody_knows_says_nothing(messages: Make, event: Any) -> None:
    found = await heard(messages, begun(), event, *text("a"), *ended())
    assert (found.done.text, found.done.stop) == ("a", "end")


async def test_events_that_are_no_objects_say_nothing(messages: Make) -> None:
    raw = b'data: 5\n\ndata: null\n\ndata: "x"\n\ndata: [1]\n\n' + body(*text("a"), *ended())
    async with scripted(Answer([raw])) as server:
        assert (await ask(messages(server.url))).done.text == "a"


async def test_the_end_is_the_end_although_the_server_goes_on(messages: Make) -> None:
    late = {"type": "error", "error": {"type": "api_error", "message": "late"}}
    found = await heard(messages, begun(), *text("a"), *ended(), late, stall=True)
    assert found.done.text == "a"


async def test_names_come_back_as_they_were(messages: Make) -> None:
    declared = [ECHO.__class__(name, "", {"type": "object"}) for name in ("mcp:a.b", "é" * 70)]
    aliases = [ToolNames(tool.name for tool in declared).alias(tool.name) for tool in declared]
    events = [
        event
        for number, alias in enumerate(aliases)
        for event in call("{}", number, id=f"toolu_{number}", name=alias)
    ]
    answer = Answer([body(begun(), *events, *ended("tool_use"))])
    async with scripted(answer) as server:
        found = await ask(messages(server.url), asking(tools=tuple(declared)))
    assert [made.name for made in found.done.calls] == ["mcp:a.b", "é" * 70]
    assert found.done.state is not None
    assert [block["name"] for block in found.done.state.payload[0]["wire"]] == aliases


async def test_a_call_that_was_announced_and_never_came_is_an_error(messages: Make) -> None:
    found = await heard(messages, begun(), *text("I will."), *ended("tool_use"))
    assert found.failed.kind == "malformed_tool_call"


async def test_a_long_answer_costs_no_more_for_each_piece(messages: Make) -> None:
    word = "word " * 20
    pieces = [piece(0, "text_delta", text=word)] * 5_000
    found = await heard(messages, begun(), opened(0, type="text", text=""), *pieces, *ended())
    assert found.done.text == word * 5_000
