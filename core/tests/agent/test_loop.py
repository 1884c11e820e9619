from __future__ import annotations

import itertools
import json
from contextlib import suppress
from dataclasses import replace

import anyio
import pytest

from pegboard.agent.loop import run_loop
from pegboard.agent.step import MAX_QUESTIONS
from pegboard.contracts.approval import AGREED, REFUSED
from pegboard.contracts.message import CallResult, Message, ToolCall, summary, tool_message
from pegboard.contracts.provider import (
    Done,
    Notice,
    ProviderState,
    Restart,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    ToolCallStart,
)
from pegboard.contracts.result import AddTools, Handoff, Suspend, Terminate, ToolResult
from pegboard.contracts.stream import ApprovalAsked, Noticed, ToolFinished, ToolStarted
from pegboard.testing.model import Call, Cut, Fail, ScriptedModel

pytestmark = pytest.mark.anyio
ASK = [Message.of("system", "Be brief."), Message.of("user", "How many?")]


def is_paired(messages) -> bool:
    """True when each message with calls is followed by one that answers exactly these, in order."""
    for position, message in enumerate(messages):
        if message.calls:
            results = messages[position + 1].results
            if [r.call_id for r in results] != [c.id for c in message.calls]:
                return False
        if message.role == "tool" and not messages[position - 1].calls:
            return False
    return True


async def test_an_answer_without_calls_ends_the_run(bench) -> None:
    result = await run_loop(bench.setup(["Seven."]), ASK)
    assert (result.text, result.status, result.steps, result.error) == ("Seven.", "done", 1, None)
    assert [summary(m) for m in result.messages] == [{"role": "assistant", "text": "Seven."}]
    assert result.usage.output > 0
    assert bench.recorder.text == "Seven."


async def test_calls_run_and_their_results_go_back_to_the_model(bench) -> None:
    bench.tools = {"count": lambda path: f"{path}: 7"}
    result = await run_loop(
        bench.setup([["Let me look. ", Call("count", path="a")], "Seven."]), ASK
    )
    assert (result.text, result.steps, result.tool_calls, result.tool_failures) == (
        "Seven.",
        2,
        1,
        0,
    )
    second = bench.model.requests[1].messages
    assert [m.role for m in second] == ["system", "user", "assistant", "tool"]
    assert second[2].text == "Let me look. "
    assert second[3].results[0].text == "a: 7"


async def test_the_events_of_a_run_come_in_order(bench) -> None:
    bench.tools = {"count": lambda: "7"}
    await run_loop(bench.setup([Call("count"), "Seven"]), ASK)
    assert bench.recorder.types() == [
        "step_started", "usage", "tool_started", "tool_finished",
        "step_started", "text", "usage",
    ]  # fmt: skip


async def test_a_call_is_shown_with_its_arguments_its_output_and_its_time(bench) -> None:
    async def count(path):
        await bench.clock.sleep(2)
        return f"{path}: 7"

    bench.tools = {"count": count, "fail": lambda: ToolResult.failed("no", "Can't.", output="x")}
    await run_loop(bench.setup([[Call("count", path="a"), Call("fail")], "Seven."]), ASK)
    started, failing = bench.recorder.of(ToolStarted)
    counted, failed = bench.recorder.of(ToolFinished)
    assert (started.name, started.arguments, failing.arguments) == ("count", {"path": "a"}, {})
    assert (counted.call, counted.output, counted.error) == (started.call, "a: 7", None)
    assert counted.duration_ms == 2000
    assert (failed.output, failed.error) == ("Error: Can't.\nx", "no")


async def test_arguments_that_are_no_json_are_shown_as_they_are(bench) -> None:
    async def dispatch_step(calls, *, approved, watch):
        async def run():
            return ToolResult.failed("invalid_arguments", "No JSON.")

        return [await watch(call, run) for call in calls]

    setup = bench.setup([Call("count", "{oops"), "Sorry."], dispatch_step=dispatch_step)
    await run_loop(setup, ASK)
    assert [e.arguments for e in bench.recorder.of(ToolStarted)] == ["{oops"]


async def test_several_calls_of_a_step_answer_in_one_message_in_call_order(bench) -> None:
    bench.tools = {"count": lambda path: path}
    calls = [Call("count", path=str(n)) for n in range(7)]
    result = await run_loop(bench.setup([calls, "Done."]), ASK)
    (_, tool, _) = result.messages
    assert [r.text for r in tool.results] == [str(n) for n in range(7)]
    assert is_paired(result.messages)


async def test_state_of_the_last_answer_goes_with_the_next_request(bench) -> None:
    bench.tools = {"count": lambda: "7"}
    await run_loop(bench.setup([Call("count"), "Seven."]), ASK)
    first, second = bench.model.requests
    assert first.state is None
    assert second.state == ProviderState("scripted", "scripted", "", "", {"request": 1})


async def test_a_provider_can_read_the_images_of_the_conversation(bench) -> None:
    """Every request says where their bytes are."""
    bench.tools = {"count": lambda: "7"}
    blobs = object()
    await run_loop(bench.setup([Call("count"), "Seven."], blobs=blobs), ASK)
    assert [request.blobs is blobs for request in bench.model.requests] == [True, True]


async def test_every_request_of_a_run_has_its_own_key(bench) -> None:
    bench.tools = {"count": lambda: "7"}
    await run_loop(bench.setup([Call("count"), "Seven."]), ASK)
    assert [r.idempotency_key for r in bench.model.requests] == ["run:1", "run:2"]


async def test_the_step_limit_ends_the_run_with_a_sentence(bench) -> None:
    bench.tools = {"count": lambda n: str(n)}
    script = [Call("count", n=n) for n in range(10)]
    result = await run_loop(bench.setup(script, max_steps=3), ASK)
    assert (result.status, result.error["code"], result.steps) == ("failed", "step_limit", 3)
    assert result.text == (
        "I reached the step limit (3 steps) before this request was finished. Try a narrower "
        "request, or go on from here with the next part of it."
    )
    # the calls of the last step could not be told to the model, so they do not run
    assert len(bench.ran) == 2
    assert is_paired(result.messages)
    assert "step limit" in result.messages[-1].results[0].text


async def test_a_run_may_take_a_hundred_steps_by_default(bench) -> None:
    bench.tools = {"count": lambda n: str(n)}
    script = [*(Call("count", n=n) for n in range(99)), "Done."]
    result = await run_loop(bench.setup(script), ASK)
    assert (result.status, result.steps) == ("done", 100)
    over = await run_loop(bench.setup([Call("count", n=n) for n in range(100)]), ASK)
    assert over.error["code"] == "step_limit"


async def test_a_repeated_call_is_warned_about_once_and_stopped_at_five(bench) -> None:
    bench.tools = {"count": lambda path: "7"}
    script = [Call("count", path="a") for _ in range(6)]
    result = await run_loop(bench.setup(script), ASK)
    assert (result.status, result.error["code"], result.steps) == ("failed", "repetition", 5)
    assert len(bench.ran) == 4
    warned = [m.results[0].text for m in result.messages if m.results]
    assert ["Note from the host" in text for text in warned] == [False, False, True, False, False]
    assert is_paired(result.messages)
    assert "repeating the same tool calls" in result.text


async def test_a_call_of_a_truncated_stream_never_runs(bench) -> None:
    bench.tools = {"delete": lambda: "gone"}
    result = await run_loop(bench.setup([Cut("I will ", Call("delete"))]), ASK)
    assert (result.status, bench.ran, result.messages) == ("failed", [], ())


async def test_a_call_that_only_the_deltas_hold_never_runs(bench, raw) -> None:
    bench.tools = {"delete": lambda: "gone"}
    events = [ToolCallStart(0, "a", "delete"), ToolCallDelta(0, "{}"), Done(text="Never mind.")]
    result = await run_loop(bench.setup(raw(events)), ASK)
    assert (result.text, bench.ran) == ("Never mind.", [])


async def test_a_failed_tool_is_told_and_counted(bench) -> None:
    bench.tools = {"read": lambda: ToolResult.failed("not_found", "No such file.", output="so far")}
    result = await run_loop(bench.setup([Call("read"), "There is no such file."]), ASK)
    assert (result.status, result.tool_calls, result.tool_failures) == ("done", 1, 1)
    answer = result.messages[1].results[0]
    assert answer.error
    assert answer.text == "Error: No such file.\nso far"


async def test_an_empty_result_still_says_something(bench) -> None:
    bench.tools = {"touch": lambda: ""}
    result = await run_loop(bench.setup([Call("touch"), "Done."]), ASK)
    assert result.messages[1].results[0].text == "The call succeeded and returned nothing."


async def test_tools_that_a_search_adds_are_declared_from_the_next_step_on(bench) -> None:
    bench.tools = {"search": lambda: ToolResult("found", control=AddTools(("weather",)))}
    await run_loop(bench.setup([Call("search"), "Found it."]), ASK)
    assert bench.declared == [frozenset(), frozenset({"weather"})]
    assert [t.name for t in bench.model.requests[1].tools] == ["search", "weather"]


async def test_a_tool_can_end_the_turn(bench) -> None:
    bench.tools = {"react": lambda: ToolResult("ok", control=Terminate())}
    result = await run_loop(bench.setup([Call("react"), "never asked"]), ASK)
    assert (result.status, result.terminated, result.text, result.steps) == ("done", True, "", 1)
    assert is_paired(result.messages)


async def test_a_tool_that_failed_does_not_end_the_turn(bench) -> None:
    def react():
        failed = ToolResult.failed("no", "Not delivered.")
        failed.control = Terminate()
        return failed

    bench.tools = {"react": react}
    result = await run_loop(bench.setup([Call("react"), "It did not work."]), ASK)
    assert (result.text, result.terminated) == ("It did not work.", False)


async def test_a_handoff_to_nobody_is_an_error_for_the_model(bench) -> None:
    bench.tools = {"handoff": lambda: ToolResult("ok", control=Handoff("lawyer"))}
    result = await run_loop(bench.setup([Call("handoff"), "There is no lawyer."]), ASK)
    assert result.messages[1].results[0].error
    assert result.tool_failures == 1


def suspending(bench):
    """A tool that needs a word the first time it is dispatched."""

    def delete(path):
        approved = bench.ran[-1][2]
        return f"deleted {path}" if approved else ToolResult(control=Suspend(f"Delete {path}?"))

    return delete


async def test_an_approved_call_is_dispatched_again_as_approved(bench) -> None:
    bench.tools = {"delete": suspending(bench), "read": lambda: "text"}
    asked = []

    async def approve(call, suspend):
        asked.append((call.name, suspend.question))
        return AGREED

    script = [[Call("delete", path="a"), Call("read")], "Deleted."]
    result = await run_loop(bench.setup(script, approve=approve), ASK)
    assert asked == [("delete", "Delete a?")]
    assert bench.ran == [
        ("delete", {"path": "a"}, False),
        ("read", {}, False),
        ("delete", {"path": "a"}, True),
    ]
    assert [r.text for r in result.messages[1].results] == ["deleted a", "text"]
    assert [e.name for e in bench.recorder.of(ToolStarted)] == ["delete", "read"]
    assert [e.name for e in bench.recorder.of(ToolFinished)] == ["read", "delete"]
    (event,) = bench.recorder.of(ApprovalAsked)
    assert (event.name, event.question) == ("delete", "Delete a?")


async def test_a_denied_call_does_not_run_and_the_model_is_told(bench) -> None:
    bench.tools = {"delete": suspending(bench)}

    async def approve(call, suspend):
        return REFUSED

    result = await run_loop(
        bench.setup([Call("delete", path="a"), "As you wish."], approve=approve), ASK
    )
    assert [approved for _, _, approved in bench.ran] == [False]
    answer = result.messages[1].results[0]
    assert answer.error
    assert "did not agree" in answer.text
    (event,) = bench.recorder.of(ToolFinished)
    assert event.error == "denied"
    assert result.tool_failures == 1


async def test_where_nobody_can_be_asked_the_answer_is_no(bench) -> None:
    bench.tools = {"delete": suspending(bench)}
    result = await run_loop(bench.setup([Call("delete", path="a"), "I may not."]), ASK)
    assert "nobody is there" in result.messages[1].results[0].text
    assert bench.recorder.of(ApprovalAsked) == []


async def test_a_call_that_asks_again_after_approval_is_denied(bench) -> None:
    bench.tools = {"delete": lambda: ToolResult(control=Suspend("Sure?"))}

    async def approve(call, suspend):
        return AGREED

    result = await run_loop(bench.setup([Call("delete"), "No."], approve=approve), ASK)
    assert len(bench.ran) == 2
    assert result.messages[1].results[0].error


async def test_an_empty_completion_is_not_stored(bench) -> None:
    result = await run_loop(bench.setup([""]), ASK)
    assert (result.status, result.error["code"]) == ("failed", "empty_completion")
    assert result.text == "I got no answer from the model. Please try again."
    assert result.messages == ()


async def test_blank_space_is_no_answer(bench) -> None:
    assert (await run_loop(bench.setup([" \n "]), ASK)).error["code"] == "empty_completion"


async def test_an_empty_completion_after_calls_keeps_the_calls(bench) -> None:
    bench.tools = {"send": lambda: "sent"}
    result = await run_loop(bench.setup([Call("send"), ""]), ASK)
    assert [m.role for m in result.messages] == ["assistant", "tool"]


async def test_a_usage_limit_is_one_friendly_sentence(bench) -> None:
    limit = Fail("rate_limit", retry_after=1806)
    result = await run_loop(bench.setup([limit]), ASK)
    assert result.text == (
        "You have reached the usage limit of Scripted model. Try again in about 31 min."
    )
    assert result.error["kind"] == "rate_limit"
    assert result.error["cause"] == "The scripted model fails here."


async def test_a_failure_in_a_later_step_keeps_what_was_done(bench) -> None:
    bench.tools = {"send": lambda: "sent"}
    result = await run_loop(bench.setup([Call("send"), Fail("auth", "The key expired.")]), ASK)
    assert (result.status, result.steps, len(bench.ran)) == ("failed", 2, 1)
    assert [m.role for m in result.messages] == ["assistant", "tool"]
    assert "The key expired." in result.text


async def test_a_retried_continuation_runs_no_tool_again(bench) -> None:
    bench.tools = {"send": lambda: "sent"}
    result = await run_loop(bench.setup([Call("send"), Fail("timeout"), "Sent."]), ASK)
    assert (result.text, len(bench.ran), bench.clock.slept) == ("Sent.", 1, [2.0])


async def test_an_overflow_points_at_a_new_conversation(bench) -> None:
    result = await run_loop(bench.setup([Fail("context_overflow", "too long")]), ASK)
    assert "no longer fits" in result.text
    assert "/new" in result.error["fix"]


async def test_thinking_restarts_and_notices_are_events(bench, raw) -> None:
    events = [
        ThinkingDelta("hm"), TextDelta("Ye"), Restart(1, "raw"), Notice("n", "watch out"),
        TextDelta("No"), Done(text="No"),
    ]  # fmt: skip
    result = await run_loop(bench.setup(raw(events), retracts=True), ASK)
    assert result.text == "No"
    assert bench.recorder.types() == [
        "step_started", "thinking", "text", "restart", "notice", "text", "usage",
    ]  # fmt: skip
    assert bench.recorder.text == "No"


async def test_an_answer_cut_at_the_output_limit_says_so(bench, raw) -> None:
    result = await run_loop(bench.setup(raw([Done(stop="max_tokens", text="Once upon")])), ASK)
    assert (result.status, result.text) == ("done", "Once upon")
    assert [n.code for n in bench.recorder.of(Noticed)] == ["max_tokens"]


async def test_a_refusal_without_words_is_a_failure(bench, raw) -> None:
    result = await run_loop(bench.setup(raw([Done(stop="refusal")])), ASK)
    assert result.error["code"] == "refusal"
    told = await run_loop(bench.setup(raw([Done(stop="refusal", text="I can't.")])), ASK)
    assert (told.status, told.text) == ("done", "I can't.")


async def test_a_pause_goes_on(bench, raw) -> None:
    state = ProviderState("raw", "raw", "", "", 1)
    provider = raw([Done(stop="pause", text="So far ", state=state)], [Done(text="and done.")])
    result = await run_loop(bench.setup(provider), ASK)
    assert (result.text, result.steps) == ("So far and done.", 2)
    assert provider.requests[1].state is state
    assert provider.requests[1].messages[-1].text == "So far "


async def test_a_pause_after_which_nothing_comes_is_the_answer(bench, raw) -> None:
    provider = raw([Done(stop="pause", text="All.")], [Done(stop="pause")], [Done()])
    result = await run_loop(bench.setup(provider), ASK)
    assert (result.status, result.text, result.steps) == ("done", "All.", 3)


async def test_what_was_said_before_a_call_is_no_part_of_the_answer(bench, raw) -> None:
    bench.tools = {"count": lambda: "7"}
    call = ToolCall("c", "count", "{}")
    answers = [Done(stop="pause", text="Wait. ")], [Done(stop="tool_use", calls=(call,))]
    result = await run_loop(bench.setup(raw(*answers, [Done(text="Seven.")])), ASK)
    assert result.text == "Seven."


async def test_a_hook_that_only_adds_messages_leaves_the_state(bench) -> None:
    bench.tools = {"count": lambda: "7"}
    note = Message.of("user", "It is late.")

    async def prepare(request, step):
        first, *rest, last = request.messages
        more = replace(last, parts=(*last.parts, *note.parts))
        return replace(request, messages=(first, note, *rest, more))

    await run_loop(bench.setup([Call("count"), "Seven."], prepare=prepare), ASK)
    second = bench.model.requests[1]
    assert second.messages[-1].text == note.text
    assert second.state is not None


async def test_hooks_may_change_a_request_and_then_the_state_is_dropped(bench) -> None:
    bench.tools = {"count": lambda: "secret 7"}

    async def prepare(request, step):
        if step == 1:
            return replace(request, effort="low")
        return replace(request, messages=(*request.messages[:-1], Message.of("user", "hidden")))

    await run_loop(bench.setup([Call("count"), "Seven."], prepare=prepare), ASK)
    first, second = bench.model.requests
    assert first.effort == "low"
    assert second.messages[-1].text == "hidden"
    assert second.state is None


async def test_an_unpaired_history_is_mended_before_it_is_sent(bench) -> None:
    broken = [*ASK, Message("assistant", calls=(ToolCall("x", "t", "{}"),))]
    await run_loop(bench.setup(["Fine."]), [*broken, Message.of("user", "And?")])
    assert is_paired(bench.model.requests[0].messages)


async def test_call_ids_are_unique_in_the_whole_conversation(bench) -> None:
    bench.tools = {"count": lambda: "7"}
    old = Message("assistant", calls=(ToolCall("call-1", "count", "{}"),))
    history = [old, tool_message([CallResult("call-1", "count", ())]), *ASK]
    result = await run_loop(bench.setup([Call("count"), "Seven."]), history)
    assert result.messages[0].calls[0].id != "call-1"
    assert is_paired(result.messages)


async def test_an_astral_character_in_arguments_reaches_the_tool_whole(bench) -> None:
    bench.tools = {"button": lambda label: label}
    raw_arguments = json.dumps({"label": "🧩 Check"})
    result = await run_loop(bench.setup([Call("button", raw_arguments), "Done."]), ASK)
    assert result.messages[1].results[0].text == "🧩 Check"
    assert json.loads(result.messages[0].calls[0].arguments) == {"label": "🧩 Check"}


async def test_a_cancelled_run_keeps_what_finished_and_answers_the_rest(bench) -> None:
    async def slow():
        await anyio.sleep_forever()

    bench.tools = {"quick": lambda: "done", "slow": slow, "never": lambda: "no"}
    setup = bench.setup([[Call("quick"), Call("slow"), Call("never")], "no"])
    with anyio.move_on_after(0.1) as scope:
        await run_loop(setup, ASK)
    assert scope.cancelled_caught
    messages = setup.progress.messages
    assert is_paired(messages)
    texts = [r.text for r in messages[-1].results]
    assert texts[0] == "done"
    assert "Cancelled" in texts[1]
    assert "Cancelled" in texts[2]
    assert [name for name, _, _ in bench.ran] == ["quick", "slow"]
    assert [e.error for e in bench.recorder.of(ToolFinished)] == [None, "cancelled"]
    assert setup.progress.steps == 1


async def test_cancelling_while_the_person_is_asked_cancels_the_call(bench) -> None:
    bench.tools = {"delete": suspending(bench)}

    async def approve(call, suspend):
        await anyio.sleep_forever()

    setup = bench.setup([Call("delete", path="a")], approve=approve)
    with anyio.move_on_after(0.1):
        await run_loop(setup, ASK)
    assert [r.text for r in setup.progress.messages[-1].results] == ["Cancelled"]
    assert is_paired(setup.progress.messages)


async def test_cancelling_while_the_model_answers_stores_nothing_of_it(bench) -> None:
    class Slow:
        def __init__(self, inner):
            self.info, self.capabilities = inner.info, inner.capabilities

        async def stream(self, request):
            yield TextDelta("Half")
            await anyio.sleep_forever()

    setup = bench.setup(Slow(ScriptedModel()))
    with anyio.move_on_after(0.1):
        await run_loop(setup, ASK)
    assert setup.progress.messages == []


async def test_a_crash_in_dispatch_leaves_the_conversation_paired(bench) -> None:
    def broken():
        raise RuntimeError("bug")

    bench.tools = {"fine": lambda: "7", "broken": broken}
    setup = bench.setup([[Call("fine"), Call("broken")]])
    with pytest.raises(RuntimeError):
        await run_loop(setup, ASK)
    assert is_paired(setup.progress.messages)
    assert setup.progress.messages[-1].results[0].text == "7"


async def test_arguments_nested_beyond_measure_are_shown_as_they_are(bench) -> None:
    deep = '{"a": ' + "[" * 100_000

    async def dispatch_step(calls, *, approved, watch):
        async def run():
            return ToolResult.failed("invalid_arguments", "It is nested too deeply.")

        return [await watch(call, run) for call in calls]

    setup = bench.setup([Call("count", deep), "Sorry."], dispatch_step=dispatch_step)
    assert (await run_loop(setup, ASK)).text == "Sorry."
    assert bench.recorder.of(ToolStarted)[0].arguments == deep


async def test_a_call_that_changed_while_the_person_thought_is_asked_about_again(bench) -> None:
    questions = iter(["Delete a?", "Delete b?"])

    def delete():
        question = next(questions, None)
        return "deleted b" if question is None else ToolResult(control=Suspend(question))

    bench.tools = {"delete": delete}
    asked = []

    async def approve(call, suspend):
        asked.append(suspend.question)
        return AGREED

    result = await run_loop(bench.setup([Call("delete"), "Done."], approve=approve), ASK)
    assert asked == ["Delete a?", "Delete b?"]
    assert result.messages[1].results[0].text == "deleted b"


async def test_a_call_that_never_stops_asking_is_denied(bench) -> None:
    numbers = itertools.count()
    bench.tools = {"delete": lambda: ToolResult(control=Suspend(f"Delete {next(numbers)}?"))}

    async def approve(call, suspend):
        return AGREED

    result = await run_loop(bench.setup([Call("delete"), "No."], approve=approve), ASK)
    assert len(bench.recorder.of(ApprovalAsked)) == MAX_QUESTIONS
    assert "asked for more than that" in result.messages[1].results[0].text


async def test_a_call_that_had_to_wait_for_another_runs_after_it(bench) -> None:
    bench.tools = {"delete": suspending(bench), "write": lambda: "written"}

    async def dispatch_step(calls, *, approved, watch):
        if len(calls) == 1:
            return await bench.dispatch_step(calls, approved=approved, watch=watch)
        first = await bench.dispatch_step(calls[:1], approved=approved, watch=watch)
        return [*first, None]

    async def approve(call, suspend):
        return AGREED

    script = [[Call("delete", path="a"), Call("write")], "Done."]
    setup = bench.setup(script, approve=approve, dispatch_step=dispatch_step)
    result = await run_loop(setup, ASK)
    assert [name for name, _, _ in bench.ran] == ["delete", "delete", "write"]
    assert [r.text for r in result.messages[1].results] == ["deleted a", "written"]


@pytest.mark.parametrize("how", ["cancelled", "crashed"])
async def test_a_stream_is_closed_before_the_run_ends_however_it_ends(bench, how) -> None:
    closed = []

    class Slow:
        def __init__(self, inner):
            self.info, self.capabilities = inner.info, inner.capabilities

        async def stream(self, request):
            try:
                yield TextDelta("Half")
                yield TextDelta("way")
            finally:
                closed.append(how)

    async def emit(event):
        if event.type == "text":
            if how == "crashed":
                raise RuntimeError
            await anyio.sleep_forever()

    setup = bench.setup(Slow(ScriptedModel()), emit=emit)
    with anyio.move_on_after(0.1), suppress(RuntimeError):
        await run_loop(setup, ASK)
    assert closed == [how]
