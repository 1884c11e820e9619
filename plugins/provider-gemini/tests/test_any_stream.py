"""Whatever chunks come, in whatever order: the laws hold, or one error says why not."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from pegboard_provider_gemini.stream import FAULTS, STOPS, GenerateFold
from pegboard_provider_http.api import HttpApi

from pegboard import ProviderError, TextDelta, ToolCallDelta, ToolCallStart
from pegboard.providers import ToolNames

API = HttpApi("Test", "http://127.0.0.1:9")
odd = st.one_of(st.none(), st.booleans(), st.integers(-1, 3), st.text(max_size=3), st.just([]))
call = st.fixed_dictionaries(
    {},
    optional={
        "name": st.one_of(st.just("echo"), odd),
        "args": st.one_of(st.just({"a": "é"}), odd),
        "id": st.one_of(st.sampled_from(["a", "b"]), odd),
    },
)
part = st.fixed_dictionaries(
    {},
    optional={
        "text": st.one_of(st.text(max_size=4), odd),
        "thought": odd,
        "thoughtSignature": st.sampled_from(["c2ln", ""]),
        "functionCall": st.one_of(odd, call),
        "inlineData": st.one_of(odd, st.just({"mimeType": "image/png"})),
    },
)
reason = st.one_of(odd, st.sampled_from([*STOPS, *FAULTS, "NEW"]))
candidate = st.fixed_dictionaries(
    {},
    optional={
        "content": st.one_of(
            odd, st.fixed_dictionaries({"parts": st.one_of(odd, st.lists(part, max_size=3))})
        ),
        "finishReason": reason,
        "finishMessage": odd,
        "continuationToken": odd,
    },
)
counts = st.dictionaries(
    st.sampled_from(
        [f"{name}TokenCount" for name in ("prompt", "candidates", "thoughts", "cachedContent")]
    ),
    odd,
)
chunk = st.one_of(
    odd,
    st.fixed_dictionaries(
        {},
        optional={
            "candidates": st.one_of(odd, st.lists(st.one_of(odd, candidate), max_size=2)),
            "usageMetadata": st.one_of(odd, counts),
            "promptFeedback": st.one_of(odd, st.just({"blockReason": "SAFETY"})),
            "error": st.one_of(st.none(), st.just({"code": 500}), st.just("x")),
        },
    ),
)


@given(st.lists(chunk, max_size=10))
def test_the_laws_hold(chunks: list[Any]) -> None:
    numbers = iter(range(1_000))
    fold = GenerateFold(API, ToolNames(["echo"]), lambda: str(next(numbers)))
    passed = []
    try:
        for item in chunks:
            passed += fold.add(item)
        done = fold.done()
    except ProviderError:
        return
    assert "".join(item.text for item in passed if isinstance(item, TextDelta)) == done.text
    begun = [item for item in passed if isinstance(item, ToolCallStart)]
    pieces = [item for item in passed if isinstance(item, ToolCallDelta)]
    assert [item.index for item in begun] == list(range(len(begun)))
    if done.stop != "refusal":
        assert [
            (item.id, item.name, piece.text) for item, piece in zip(begun, pieces, strict=True)
        ] == [(made.id, made.name, made.arguments) for made in done.calls]
    assert all(isinstance(json.loads(made.arguments), dict) for made in done.calls)
    assert (done.stop == "tool_use") == bool(done.calls) or done.stop in ("max_tokens", "pause")
    usage = done.usage
    assert min(usage.input, usage.output, usage.cache_read, usage.reasoning) >= 0
    assert usage.reasoning <= usage.output
    assert usage.cache_read <= usage.input
    wire = fold.parts()
    assert json.loads(json.dumps(wire)) == wire
    made = [item for item in wire if isinstance(item.get("functionCall"), dict)]
    assert done.stop == "refusal" or len(made) == len(done.calls)
