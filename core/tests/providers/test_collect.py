from __future__ import annotations

import asyncio
from dataclasses import replace

import anyio
import pytest

from pegboard.contracts.errors import PluginError
from pegboard.contracts.message import ToolCall
from pegboard.contracts.provider import (
    NO_USAGE,
    ChatRequest,
    Done,
    Notice,
    ProviderError,
    ProviderState,
    Restart,
    Start,
    TextDelta,
    ToolCallDelta,
    ToolCallStart,
)
from pegboard.providers.collect import StreamFold, collect, lawful

pytestmark = pytest.mark.anyio

STATE = ProviderState("raw", "raw", "", "", {"items": [1]})


async def passed(provider, *, seen=None, strict=False):
    fold = StreamFold(provider.info, seen=seen)
    events = lawful(provider.stream(ChatRequest()), fold, strict=strict)
    return [event async for event in events]


async def fails(provider, *, strict=False) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        await passed(provider, strict=strict)
    return caught.value


async def test_a_lawful_stream_passes_unchanged(raw) -> None:
    call = ToolCall("a", "read", '{"path": "x"}')
    done = Done(stop="tool_use", text="Hi", calls=(call,), state=STATE)
    events = [
        Start("m"), TextDelta("H"), TextDelta("i"), ToolCallStart(0, "a", "read"),
        ToolCallDelta(0, '{"path": "x"}'), done,
    ]  # fmt: skip
    assert await passed(raw(events), strict=True) == events


async def test_collect_returns_the_end(raw) -> None:
    provider = raw([Start("m"), TextDelta("Hi"), Done(text="Hi", state=STATE)])
    done = await collect(provider.stream(ChatRequest()), provider.info)
    assert (done.text, done.state) == ("Hi", STATE)


async def test_nothing_is_read_after_the_end_and_the_stream_is_closed(raw) -> None:
    provider = raw([Done(text="Hi"), TextDelta("more"), RuntimeError("late")])
    assert await passed(provider) == [TextDelta("Hi"), Done(text="Hi")]
    assert provider.closed == 1


@pytest.mark.parametrize("late", [TextDelta("more"), Done(text="again")])
async def test_a_contract_test_sees_what_comes_after_the_end(raw, late) -> None:
    error = await fails(raw([Done(text="Hi"), late]), strict=True)
    assert error.kind == "protocol"
    assert "after the end" in error.message


@pytest.mark.parametrize("events", [[], [Start("m")], [Start("m"), Notice("n", "hello")]])
async def test_a_stream_without_any_answer_is_an_empty_stream(raw, events) -> None:
    error = await fails(raw(events))
    assert (error.kind, error.started) == ("empty_stream", False)


async def test_a_truncated_stream_fails_and_its_calls_are_lost(raw) -> None:
    events = [TextDelta("I will"), ToolCallStart(0, "a", "rm"), ToolCallDelta(0, '{"path": "/"}')]
    error = await fails(raw(events))
    assert (error.kind, error.started) == ("protocol", True)
    assert error.details["cut_calls"] == ["rm"]


async def test_a_call_that_was_announced_but_not_finished_is_malformed(raw) -> None:
    events = [ToolCallStart(0, "a", "rm"), Done(stop="tool_use")]
    assert (await fails(raw(events))).kind == "malformed_tool_call"


async def test_missing_and_repeated_ids_are_replaced_and_the_state_dropped(raw) -> None:
    calls = tuple(ToolCall(id, "t", "{}") for id in ("", "a", "a", "old"))
    provider = raw([Done(stop="tool_use", calls=calls, state=STATE)])
    seen = {"old"}
    (done,) = await passed(provider, seen=seen)
    ids = [call.id for call in done.calls]
    assert len(set(ids)) == 4
    assert ids[1] == "a"
    assert "old" not in ids
    assert "" not in ids
    assert set(ids) <= seen
    # its record knows the calls by other ids, so it would not fit the results
    assert done.state is None


async def test_unique_ids_keep_the_state_untouched(raw) -> None:
    provider = raw([Done(stop="tool_use", calls=(ToolCall("a", "t", "{}"),), state=STATE)])
    (done,) = await passed(provider)
    assert done.state is STATE


async def test_a_call_cut_by_the_output_limit_is_dropped_with_a_notice(raw) -> None:
    calls = (ToolCall("a", "read", "{}"), ToolCall("b", "write", '{"path": "x", "te'))
    notice, done = await passed(raw([Done(stop="max_tokens", calls=calls, state=STATE)]))
    assert [call.id for call in done.calls] == ["a"]
    assert notice.code == "call_cut"
    assert "write" in notice.text
    assert done.state is None


@pytest.mark.parametrize("arguments", ["", " \n", "{", '{"a": 1', "[1]"])
async def test_a_call_cut_before_its_arguments_are_whole_never_runs(raw, arguments) -> None:
    calls = (ToolCall("a", "delete_all", arguments),)
    notice, done = await passed(raw([Done(stop="max_tokens", calls=calls)]))
    assert (notice.code, done.calls) == ("call_cut", ())


async def test_an_answer_without_deltas_is_shown_all_the_same(raw) -> None:
    assert (await passed(raw([Done(text="Hi")])))[0] == TextDelta("Hi")


async def test_deltas_make_up_an_answer_that_the_end_leaves_out(raw) -> None:
    events = await passed(raw([TextDelta("H"), TextDelta("i"), Done()]))
    assert events[-1].text == "Hi"


async def test_the_rest_of_an_answer_is_shown(raw) -> None:
    events = await passed(raw([TextDelta("Hel"), Done(text="Hello")]))
    assert events == [TextDelta("Hel"), TextDelta("lo"), Done(text="Hello")]


async def test_text_that_is_not_the_answer_is_taken_back(raw) -> None:
    events = await passed(raw([TextDelta("Yes"), Done(text="No")]))
    assert events == [TextDelta("Yes"), Restart(0, "raw"), TextDelta("No"), Done(text="No")]


async def test_a_restart_forgets_what_was_streamed(raw) -> None:
    events = [TextDelta("Ye"), Restart(1, "raw"), TextDelta("No"), Done()]
    assert (await passed(raw(events)))[-1].text == "No"


async def test_a_character_torn_between_two_deltas_is_whole(raw) -> None:
    high, low = "\ud83e", "\udde9"
    events = await passed(raw([TextDelta("a" + high), TextDelta(low + "b"), Done()]))
    assert [e.text for e in events[:-1]] == ["a", "🧩b"]
    assert events[-1].text == "a🧩b"


async def test_half_a_character_at_the_end_is_replaced(raw) -> None:
    events = await passed(raw([TextDelta("a\ud83e"), Done()]))
    assert events[-1].text == "a\ufffd"
    events[-1].text.encode()


async def test_an_astral_character_in_arguments_round_trips(raw) -> None:
    call = ToolCall("a", "button", '{"label": "🧩 Check"}')
    torn = ToolCall("b", "button", '{"label": "\ud83e\udde9"}')
    (done,) = await passed(raw([Done(stop="tool_use", calls=(call, torn))]))
    assert done.calls[0] == call
    assert done.calls[1].arguments == '{"label": "🧩"}'


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (KeyError("choices"), "protocol"),
        (ConnectionResetError(), "network"),
        (TimeoutError(), "timeout"),
    ],
)
async def test_foreign_exceptions_become_provider_errors(raw, error, kind) -> None:
    found = await fails(raw([TextDelta("x"), error]))
    assert (found.kind, found.started) == (kind, True)
    assert found.__cause__ is error


async def test_the_text_of_a_foreign_exception_stays_in_the_log(raw) -> None:
    found = await fails(raw([ValueError("bad header: Bearer sk-secret")]))
    assert "sk-secret" not in str(found.to_dict())


async def test_an_error_that_was_written_for_people_keeps_its_words_and_its_fix(raw) -> None:
    error = PluginError(
        "The key ACME_KEY is not set.",
        fix="pegboard secret set ACME_KEY",
        secret="ACME_KEY",
        kind="of a clash",
    )
    found = await fails(raw([error]))
    assert (found.kind, found.message, found.fix) == ("not_found", error.message, error.fix)
    assert found.details["secret"] == "ACME_KEY"
    assert found.__cause__ is error


async def test_what_looks_like_a_key_is_masked_in_an_error_for_people(raw) -> None:
    key = "sk-abcdefghijklmnopqrstuv"
    found = await fails(raw([PluginError(f"no {key}", fix=f"unset {key}", header=[key])]))
    assert "[redacted]" in found.message
    assert key not in str(found.to_dict())


async def test_a_provider_error_says_whether_anything_was_shown(raw) -> None:
    shown = await fails(raw([TextDelta("x"), ProviderError("no", kind="server")]))
    silent = await fails(raw([Start("m"), ProviderError("no", kind="server")]))
    assert (shown.started, silent.started) == (True, False)


async def test_something_that_is_no_event_is_a_protocol_error(raw) -> None:
    assert (await fails(raw(["text"]))).kind == "protocol"


async def test_closing_early_closes_the_provider(raw) -> None:
    provider = raw([TextDelta("a"), TextDelta("b"), Done()])
    events = lawful(provider.stream(ChatRequest()), StreamFold(provider.info))
    assert await anext(events) == TextDelta("a")
    await events.aclose()
    assert provider.closed == 1


async def test_a_cancelled_reader_closes_the_provider(raw) -> None:
    class Slow(raw):
        async def stream(self, request):
            try:
                yield TextDelta("a")
                await anyio.sleep_forever()
            finally:
                self.closed += 1

    provider = Slow()
    with anyio.move_on_after(0.05):
        await passed(provider)
    assert provider.closed == 1


@pytest.mark.parametrize(
    "error",
    [SystemExit(3), GeneratorExit(), asyncio.CancelledError(), RecursionError(), BaseException()],
    ids=lambda error: type(error).__name__,
)
async def test_whatever_a_provider_raises_is_a_failure_of_the_provider(raw, error) -> None:
    provider = raw([Start("m"), error])
    failure = await fails(provider)
    assert failure.kind == "protocol"
    assert type(error).__name__ in failure.message
    assert provider.closed == 1
    await anyio.sleep(0)  # the task is not being cancelled


async def test_ctrl_c_is_no_failure_of_the_provider(raw) -> None:
    with pytest.raises(KeyboardInterrupt):
        await passed(raw([KeyboardInterrupt()]))


async def test_a_stream_that_is_no_stream_is_a_protocol_error(raw) -> None:
    class Odd(raw):
        async def stream(self, request):
            return iter(())

    assert (await fails(Odd())).kind == "protocol"


async def test_names_ids_and_counts_that_nobody_can_use_are_mended(raw) -> None:
    deep = "[" * 100_000
    done = Done(stop="tool_use", calls=(ToolCall("1\ud800", "re\ud800ad", deep),), usage=None)
    (end,) = await passed(raw([done]))
    (call,) = end.calls
    assert (call.id, call.name, call.arguments) == ("1\ufffd", "re\ufffdad", deep)
    assert end.usage == NO_USAGE
    cut = replace(done, stop="max_tokens")
    notice, end = await passed(raw([cut]))
    assert (notice.code, end.calls) == ("call_cut", ())


async def test_the_cause_of_a_failure_reaches_no_terminal(raw, caplog) -> None:
    caplog.set_level("DEBUG")
    await fails(raw([ValueError("Authorization: Bearer KEY")]))
    assert [record.levelname for record in caplog.records if record.exc_info] == ["INFO"]
