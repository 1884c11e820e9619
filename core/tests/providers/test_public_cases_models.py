"""What broke other agents between a model and its tools, by the public report of each case."""

from __future__ import annotations

import json

import pytest

from pegboard import ToolDeclaration
from pegboard.contracts.message import CallResult, Message, Text, ToolCall
from pegboard.contracts.provider import (
    ChatRequest,
    Done,
    ProviderError,
    Start,
    TextDelta,
    ToolCallDelta,
    ToolCallStart,
)
from pegboard.providers import CallAssembler, SseParser, failure, project_tools
from pegboard.providers.pairing import paired
from pegboard.providers.retry import continuation_wait, first_wait
from pegboard.providers.route import Hop, Route
from pegboard.providers.schema_projection import project

FAST = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "type": "object",
    "properties": {
        "who": {"$ref": "#/$defs/Person"},
        "when": {"anyOf": [{"type": "string", "format": "date-time"}, {"type": "null"}]},
    },
    "required": ["who"],
    "$defs": {"Person": {"type": "object", "properties": {"name": {"type": "string"}}}},
}
"""The shape in which servers written with FastMCP declare a tool."""


@pytest.mark.parametrize("cut", [1, 2])
def test_anomalyco_opencode_39694_a_character_of_two_pieces_is_whole(cut: int) -> None:
    data = 'data: {"text": "修"}\n\n'.encode()
    place = data.index("修".encode()) + cut
    parser = SseParser()
    events = [*parser.feed(data[:place]), *parser.feed(data[place:])]
    assert [json.loads(event.data) for event in events] == [{"text": "修"}]


@pytest.mark.anyio
async def test_openclaw_18105_an_emoji_in_arguments_of_two_pieces_is_whole(raw, clock) -> None:
    written = ('{"label": "\ud83e', '\udde9 Check"}')
    events = [
        Start("m"),
        ToolCallStart(0, "a", "button"),
        *(ToolCallDelta(0, piece) for piece in written),
        Done(stop="tool_use", calls=(ToolCall("a", "button", "".join(written)),)),
    ]
    route = Route([Hop(name="raw", provider=raw(events))], clock=clock)
    passed = [event async for event in route.session().stream(ChatRequest())]
    assert passed[-1].calls[0].arguments == '{"label": "🧩 Check"}'


def test_agno_8879_parallel_calls_are_never_merged() -> None:
    calls = CallAssembler()
    for id in ("a", "b"):  # both say index 0
        calls.start(index=0, id=id, name="read")
        calls.add('{"of": ', index=0, id=id)
    calls.add('"A"}', index=0, id="a")  # a known id wins over the index
    calls.add('"B"}')  # neither id nor index: the call in hand
    calls.start(name="write")  # no index at all
    calls.add("{}")
    assert calls.calls() == (
        ToolCall("a", "read", '{"of": "A"}'),
        ToolCall("b", "read", '{"of": "B"}'),
        ToolCall("", "write", "{}"),
    )


@pytest.mark.parametrize("dialect", ["openai", "anthropic", "gemini"])
def test_gemini_cli_13326_and_pydantic_ai_1250_a_servers_schema_is_declared(dialect) -> None:
    made = project(FAST, dialect)
    assert made["properties"]["who"]["properties"] == {"name": {"type": "string"}}
    assert not {"$ref", "$defs", "$schema"} & set(json.dumps(made).replace('"', " ").split())
    odd = ToolDeclaration("odd", "", {"properties": {"a": {"$ref": "#/$defs/none"}}})
    found = project_tools([odd, ToolDeclaration("meet", "", FAST)], dialect)
    assert [tool.name for tool in found.tools] == ["meet"]
    assert [name for name, _ in found.dropped] == ["odd"]


def test_pydantic_ai_741_and_2360_results_come_together_and_nothing_between_them() -> None:
    def result(id: str) -> Message:
        return Message("tool", results=(CallResult(id, "read", (Text(id),)),))

    asked = Message("assistant", calls=tuple(ToolCall(id, "read", "{}") for id in "abc"))
    image = Message.of("user", "an image")
    messages = paired([asked, result("b"), image, result("c"), result("a")])
    assert [message.role for message in messages] == ["assistant", "tool", "user"]
    assert [item.call_id for item in messages[1].results] == ["a", "b", "c"]


def test_pi_mono_1038_a_limit_of_requests_is_not_taken_for_a_long_conversation() -> None:
    text = "Rate limit reached: too many input tokens per minute, reduce the length of the prompt."
    for status, body in (
        (429, {"error": {"message": text}}),
        (400, {"error": {"type": "rate_limit_error", "message": text}}),
        (None, {"error": {"status": "RESOURCE_EXHAUSTED", "message": text}}),
    ):
        assert failure("Test", status=status, body=body, now=0.0).kind == "rate_limit"


@pytest.mark.anyio
@pytest.mark.parametrize("mid_run", [False, True])
async def test_openclaw_143364_a_limit_of_half_an_hour_in_the_third_step(
    raw, answer, clock, mid_run: bool
) -> None:
    limit = ProviderError("slow", kind="rate_limit", status=429, retry_after=1_806.0)
    assert first_wait(limit, 1, 0.0) is None
    assert continuation_wait(limit, 1, data=False) is None
    call = ToolCall("a", "read", "{}")
    asks = [Done(stop="tool_use", calls=(call,))]
    first, second = raw(asks, asks, [limit], id="one"), raw(answer("Done"), id="two")
    hops = [Hop(name=item.info.id, provider=item) for item in (first, second)]
    session = Route(hops, clock=clock, mid_run=mid_run).session()
    said = [Message.of("user", "go")]
    for number in range(2):
        request = ChatRequest(messages=tuple(said))
        (*_, done) = [event async for event in session.stream(request)]
        result = CallResult(done.calls[0].id, "read", (Text(f"result {number}"),))
        said += [Message("assistant", calls=done.calls), Message("tool", results=(result,))]
    request = ChatRequest(messages=tuple(said))
    if mid_run:
        events = [event async for event in session.stream(request)]
        assert [event.text for event in events if isinstance(event, TextDelta)] == ["Done"]
        assert second.requests[0].messages == tuple(said)  # what ran, ran: it goes along
    else:
        with pytest.raises(ProviderError) as raised:
            _ = [event async for event in session.stream(request)]
        assert (raised.value.status, raised.value.retry_after) == (429, 1_806.0)
    assert len(first.requests) == 3  # half an hour is not waited for
