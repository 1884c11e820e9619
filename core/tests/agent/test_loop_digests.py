from __future__ import annotations

import pytest

from pegboard.agent.digests import RunDigests
from pegboard.agent.loop import run_loop
from pegboard.contracts.message import CallResult, Message
from pegboard.testing.model import Call, Fail, ScriptedModel

pytestmark = pytest.mark.anyio

ASKED = [Message.of("system", "You are."), Message.of("user", "Read all of them.")]
PAGE = "\n".join(f"line {number} of the page" for number in range(100))
TOO_LONG = Fail("context_overflow", "the prompt is too long")


class Kept:
    def __init__(self) -> None:
        self.texts: dict[str, str] = {}

    async def __call__(self, result: CallResult, text: str, outside: bool) -> str | None:
        self.texts[result.call_id] = text
        return f'Read the whole with tool_result_recall(call_id="{result.call_id}").'


class Counting(ScriptedModel):
    """A model that counts what it reads as a provider does: results included."""

    def _done(self, request, text, calls):  # type: ignore[no-untyped-def,override]
        from dataclasses import replace

        done = super()._done(request, text, calls)
        read = sum(len(result.text) for item in request.messages for result in item.results)
        return replace(done, usage=replace(done.usage, input=done.usage.input + read // 4))


def shortened(messages) -> list[bool]:
    return [
        result.text.startswith("[Shortened by the host")
        for message in messages
        for result in message.results
    ]


def reads(count: int) -> list:
    return [Call("page", number=number) for number in range(count)]


async def test_a_long_run_stays_within_the_window(bench) -> None:
    bench.tools["page"] = lambda number: PAGE
    model = Counting([*reads(12), "I read them all."], context=4_000)
    kept = Kept()
    result = await run_loop(bench.setup(model, digests=RunDigests(kept)), ASKED)
    assert result.text == "I read them all."
    longest = max(
        sum(len(item.text) + sum(len(r.text) for r in item.results) for item in request.messages)
        for request in model.requests
    )
    assert longest / 4 < 4_000
    assert len(kept.texts) >= 8
    assert set(kept.texts.values()) == {PAGE}


async def test_what_the_run_leaves_for_the_history_is_shortened_as_well(bench) -> None:
    bench.tools["page"] = lambda number: PAGE
    model = Counting([*reads(9), "done"], context=4_000)
    result = await run_loop(bench.setup(model, digests=RunDigests(Kept())), ASKED)
    found = shortened(result.messages)
    assert found[0]
    assert not any(found[-3:])


async def test_requests_after_a_shortening_begin_with_the_same_messages(bench) -> None:
    bench.tools["page"] = lambda number: PAGE
    model = Counting([*reads(9), "done"], context=4_000)
    await run_loop(bench.setup(model, digests=RunDigests(Kept())), ASKED)
    first = next(request for request in model.requests if any(shortened(request.messages)))
    after = model.requests[model.requests.index(first) + 1]
    assert after.messages[: len(first.messages)] == first.messages
    assert first.state is None
    assert after.state is not None


async def test_without_digests_nothing_is_shortened(bench) -> None:
    bench.tools["page"] = lambda number: PAGE
    model = Counting([*reads(9), "done"], context=4_000)
    await run_loop(bench.setup(model), ASKED)
    assert not any(shortened(model.requests[-1].messages))


async def test_a_refusal_for_the_length_is_met_by_shortening_more(bench) -> None:
    bench.tools["page"] = lambda number: PAGE
    model = ScriptedModel([*reads(5), TOO_LONG, TOO_LONG, TOO_LONG, "done"])
    result = await run_loop(bench.setup(model, digests=RunDigests(Kept())), ASKED)
    assert result.text == "done"
    counts = [sum(shortened(request.messages)) for request in model.requests[5:]]
    assert counts == [0, 2, 4, 5]


async def test_when_nothing_is_left_to_shorten_the_run_fails(bench) -> None:
    bench.tools["page"] = lambda number: PAGE
    model = ScriptedModel([*reads(2), *[TOO_LONG] * 4])
    result = await run_loop(bench.setup(model, digests=RunDigests(Kept())), ASKED)
    assert result.status == "failed"
    assert result.error is not None
    assert result.error["kind"] == "context_overflow"
    assert "/compact" in result.error["fix"]
    assert "/new" in result.error["fix"]


async def test_a_refusal_of_the_first_request_is_told_at_once(bench) -> None:
    model = ScriptedModel([TOO_LONG])
    result = await run_loop(bench.setup(model, digests=RunDigests(Kept())), ASKED)
    assert result.error is not None
    assert result.error["kind"] == "context_overflow"
    assert len(model.requests) == 1


@pytest.mark.parametrize("message", ["prompt is too long", "context window quota exceeded"])
async def test_a_rate_limit_is_no_overflow_whatever_it_says(bench, message) -> None:
    bench.tools["page"] = lambda number: PAGE
    model = ScriptedModel([*reads(4), Fail("rate_limit", message)])
    kept = Kept()
    result = await run_loop(bench.setup(model, digests=RunDigests(kept)), ASKED)
    assert result.error is not None
    assert result.error["kind"] == "rate_limit"
    assert not kept.texts
    assert "/compact" not in str(result.error)
