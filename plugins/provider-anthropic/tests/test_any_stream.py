"""Whatever events come, in whatever order: the laws hold, or one error says why not."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from pegboard_provider_anthropic.stream import MessagesFold
from pegboard_provider_http.api import HttpApi

from pegboard import ProviderError, TextDelta, ToolCallDelta, ToolCallStart
from pegboard.providers import ToolNames

API = HttpApi("Test", "http://127.0.0.1:9")
odd = st.one_of(st.none(), st.booleans(), st.integers(-1, 3), st.text(max_size=3), st.just([]))
index = st.one_of(st.integers(0, 2), odd)
words = st.one_of(st.text(max_size=4), odd)
block = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(
            ["text", "thinking", "redacted_thinking", "tool_use", "server_tool_use", "new", 7]
        ),
        "id": st.one_of(st.sampled_from(["a", "b"]), odd),
        "name": st.one_of(st.just("echo"), odd),
        "input": st.one_of(st.just({"a": 1}), odd),
        "text": words,
        "thinking": words,
        "signature": words,
        "data": words,
    },
)
delta = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(
            ["text_delta", "thinking_delta", "signature_delta", "input_json_delta", "new", None]
        ),
        "text": words,
        "thinking": words,
        "signature": words,
        "partial_json": st.one_of(st.sampled_from(['{"a"', ": 1}", "{}", "x"]), odd),
    },
)
usage = st.one_of(odd, st.dictionaries(st.sampled_from(["input_tokens", "output_tokens"]), odd))
event = st.one_of(
    odd,
    st.fixed_dictionaries({"type": st.just("message_start"), "message": st.one_of(odd, block)}),
    st.fixed_dictionaries(
        {"type": st.just("content_block_start"), "index": index, "content_block": block}
    ),
    st.fixed_dictionaries(
        {"type": st.just("content_block_delta"), "index": index, "delta": st.one_of(odd, delta)}
    ),
    st.fixed_dictionaries({"type": st.just("content_block_stop"), "index": index}),
    st.fixed_dictionaries(
        {
            "type": st.just("message_delta"),
            "delta": st.fixed_dictionaries(
                {},
                optional={
                    "stop_reason": st.one_of(
                        st.sampled_from(["end_turn", "tool_use", "max_tokens", "refusal"]), odd
                    ),
                    "stop_details": odd,
                },
            ),
            "usage": usage,
        }
    ),
)
ends = st.sampled_from([[], [{"type": "message_stop"}], [{"type": "error", "error": {}}]])


@given(st.lists(event, max_size=12), ends)
def test_the_laws_hold(events: list[Any], end: list[Any]) -> None:
    fold, passed = MessagesFold(API, ToolNames(["echo"])), []
    try:
        for item in (*events, *end):
            passed += fold.add(item)
        done = fold.done()
    except ProviderError:
        return
    assert "".join(item.text for item in passed if isinstance(item, TextDelta)) == done.text
    begun = [item for item in passed if isinstance(item, ToolCallStart)]
    assert [item.index for item in begun] == list(range(len(begun)))
    streamed = dict.fromkeys(range(len(begun)), "")
    for item in passed:
        if isinstance(item, ToolCallDelta):
            streamed[item.index] += item.text
    if done.stop != "refusal":
        assert [(item.id, item.name) for item in begun] == [(c.id, c.name) for c in done.calls]
        assert list(streamed.values()) == [call.arguments for call in done.calls]
    assert (done.stop == "tool_use") == bool(done.calls) or done.stop in ("max_tokens", "pause")
    usage = done.usage
    assert min(usage.input, usage.output, usage.reasoning) >= 0
    assert usage.reasoning <= usage.output
    wire = fold.content()
    assert json.loads(json.dumps(wire)) == wire
    uses = [made for made in wire if made["type"] == "tool_use"]
    assert all(isinstance(made["input"], dict) for made in uses)
    assert done.stop == "refusal" or len(uses) == len(done.calls)
