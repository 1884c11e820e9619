"""A run that is taken up again from its journal, and one that waits for a person."""

from __future__ import annotations

import pytest

from pegboard.agent.loop import run_loop
from pegboard.contracts.approval import AGREED, Suspended
from pegboard.contracts.errors import StoreError
from pegboard.contracts.journal import Answered
from pegboard.contracts.message import Message, ToolCall, summary
from pegboard.contracts.provider import Done, ProviderState
from pegboard.contracts.result import AddTools, Suspend, ToolResult
from pegboard.contracts.store import FencedError
from pegboard.providers.route import Hop, Route
from pegboard.testing.model import Call, Fail, ScriptedModel
from pegboard.testing.recorder import Recorder

pytestmark = pytest.mark.anyio
ASK = [Message.of("system", "Be brief."), Message.of("user", "How many?")]


class Answers:
    """A journal in memory. It breaks when it is told to write an answer after `last`."""

    def __init__(self, answers=(), *, last=None):
        self.answers = dict(answers)
        self.told = []
        self.last = last

    async def answered(self, step):
        return self.answers.get(step)

    async def done(self, step, answer, *, request, results):
        if self.last is not None and step > self.last:
            raise FencedError("another attempt has begun")
        self.answers[step] = answer
        self.told.append((step, len(request.messages), dict(results)))


async def test_every_answer_is_written_with_what_the_step_before_came_to(bench) -> None:
    bench.tools = {"count": lambda: "7"}
    journal = Answers()
    await run_loop(bench.setup([Call("count"), "Seven."], journal=journal), ASK)
    assert [answer.done.text for answer in journal.answers.values()] == ["", "Seven."]
    assert {answer.hop for answer in journal.answers.values()} == {"model"}
    assert journal.told == [(1, 2, {}), (2, 4, {"call-1": ToolResult("7")})]


async def test_what_was_answered_is_not_asked_again(bench) -> None:
    bench.tools = {"count": lambda: "7"}
    script = [["Let me look.", Call("count")], "Seven."]
    journal = Answers()
    first = await run_loop(bench.setup(script, journal=journal), ASK)
    bench.recorder = Recorder()
    again = await run_loop(bench.setup([], journal=journal), ASK)
    assert bench.model.requests == []
    assert (again.text, again.status, again.steps) == ("Seven.", "done", 2)
    assert [summary(m) for m in again.messages] == [summary(m) for m in first.messages]
    assert bench.recorder.types() == [
        "step_started", "text", "tool_started", "tool_finished", "step_started", "text",
    ]  # fmt: skip
    assert bench.recorder.text == "Let me look.Seven."


async def test_tokens_of_an_earlier_attempt_are_part_of_the_run_and_reported_once(bench) -> None:
    bench.tools = {"count": lambda: "7"}
    journal = Answers()
    first = await run_loop(bench.setup([Call("count"), "Seven."], journal=journal), ASK)
    del journal.answers[2]
    reported = []

    async def on_attempt(attempt):
        reported.append(attempt.usage)

    bench.recorder = Recorder()
    again = await run_loop(bench.setup(["Seven."], journal=journal, on_attempt=on_attempt), ASK)
    assert again.usage == first.usage
    assert len(reported) == bench.recorder.types().count("usage") == 1


async def test_the_run_goes_on_with_the_state_of_the_last_answer(bench) -> None:
    bench.tools = {"count": lambda: "7"}
    journal = Answers(last=1)
    with pytest.raises(FencedError):
        await run_loop(bench.setup([Call("count"), "Seven."], journal=journal), ASK)
    journal.last = None
    await run_loop(bench.setup(["Seven."], journal=journal), ASK)
    (request,) = bench.model.requests
    assert request.state is not None
    assert request.state.payload == {"request": 1}
    assert [m.role for m in request.messages] == ["system", "user", "assistant", "tool"]


@pytest.mark.parametrize("why", ["another provider", "another model"])
async def test_state_of_another_provider_or_model_is_not_sent(bench, why) -> None:
    bench.tools = {"count": lambda: "7"}
    state = ProviderState("scripted", "scripted", "", "", {"request": 1})
    answer = Answered(
        done=Done(stop="tool_use", calls=(ToolCall("c1", "count", "{}"),), state=state),
        hop="gone" if why == "another provider" else "model",
        model="older" if why == "another model" else "",
    )
    await run_loop(bench.setup(["Seven."], journal=Answers({1: answer})), ASK)
    assert bench.model.requests[0].state is None


async def test_the_run_stays_with_the_provider_that_answered(bench) -> None:
    bench.tools = {"count": lambda: "7"}
    broken = ScriptedModel([Fail("auth")])
    second = ScriptedModel([Call("count"), "Seven.", "Seven."])

    def route():
        hops = [Hop(name="first", provider=broken), Hop(name="second", provider=second)]
        return Route(hops, clock=bench.clock)

    journal = Answers(last=1)
    with pytest.raises(FencedError):
        await run_loop(bench.setup([], route=route(), journal=journal), ASK)
    journal.last = None
    assert (await run_loop(bench.setup([], route=route(), journal=journal), ASK)).text == "Seven."
    assert len(broken.requests) == 1
    assert second.requests[-1].state is not None


async def test_ids_of_new_calls_differ_from_those_of_an_earlier_attempt(bench) -> None:
    bench.tools = {"count": lambda: "7"}
    journal = Answers(last=1)
    with pytest.raises(FencedError):
        await run_loop(bench.setup([Call("count"), "x"], journal=journal), ASK)
    journal.last = None
    # the new model counts from 1 again
    result = await run_loop(bench.setup([Call("count"), "Seven."], journal=journal), ASK)
    ids = [call.id for message in result.messages for call in message.calls]
    assert len(set(ids)) == 2


async def test_tools_added_before_are_declared_after(bench) -> None:
    bench.tools = {"find": lambda: ToolResult("found", control=AddTools(("extra",)))}
    journal = Answers(last=1)
    with pytest.raises(FencedError):
        await run_loop(bench.setup([Call("find"), "x"], journal=journal), ASK)
    journal.last = None
    await run_loop(bench.setup(["Seven."], journal=journal), ASK)
    assert [tool.name for tool in bench.model.requests[0].tools] == ["extra", "find"]


async def test_repetition_is_counted_over_attempts(bench) -> None:
    bench.tools = {"count": lambda: "7"}
    journal = Answers(last=3)
    with pytest.raises(FencedError):
        await run_loop(bench.setup([Call("count")] * 4, journal=journal), ASK)
    journal.last = None
    result = await run_loop(bench.setup([Call("count")] * 2, journal=journal), ASK)
    assert result.error is not None
    assert (result.error["code"], result.steps) == ("repetition", 5)


async def test_a_journal_that_can_not_be_written_ends_the_run(bench) -> None:
    class Full(Answers):
        async def done(self, step, answer, *, request, results):
            raise StoreError("the disk is full")

    with pytest.raises(StoreError, match="full"):
        await run_loop(bench.setup(["Seven."], journal=Full()), ASK)


class Approving:
    """Tools of which some wait for a person, as dispatch has them."""

    def __init__(self, bench, *waiting):
        self.bench = bench
        self.waiting = set(waiting)

    async def __call__(self, calls, *, approved, watch):
        results, stopped = [], False
        for call in calls:
            if stopped and call.name == "after":
                results.append(None)
                continue

            async def run(call=call):
                self.bench.ran.append((call.name, {}, approved))
                if call.name in self.waiting and not approved:
                    return ToolResult(control=Suspend(f"May I {call.name}?"))
                return ToolResult(f"{call.name} done")

            result = await watch(call, run)
            stopped = stopped or isinstance(result.control, Suspend)
            results.append(result)
        return results


async def test_a_call_that_waits_for_a_person_ends_the_run_once_the_others_are_done(bench) -> None:
    asked = []

    async def approve(call, suspend):
        asked.append(suspend.question)
        raise Suspended(200.0 if call.name == "one" else 100.0)

    calls = [Call("one"), Call("after"), Call("quick"), Call("two")]
    setup = bench.setup(
        [calls], dispatch_step=Approving(bench, "one", "two"), approve=approve, journal=Answers()
    )
    with pytest.raises(Suspended) as caught:
        await run_loop(setup, ASK)
    assert caught.value.until == 100.0
    assert asked == ["May I one?", "May I two?"]
    assert [name for name, *_ in bench.ran] == ["one", "quick", "two"]
    finished = [event.name for event in bench.recorder.stream if event.type == "tool_finished"]
    assert finished == ["quick"]
    assert setup.progress.messages == []


async def test_the_answer_lets_the_run_go_on(bench) -> None:
    words = [Suspended(100.0), AGREED]

    async def approve(call, suspend):
        word = words.pop(0)
        if isinstance(word, Suspended):
            raise word
        return word

    journal = Answers()
    facts = {"dispatch_step": Approving(bench, "one"), "approve": approve, "journal": journal}
    with pytest.raises(Suspended):
        await run_loop(bench.setup([[Call("one"), Call("after")]], **facts), ASK)
    result = await run_loop(bench.setup(["Done."], **facts), ASK)
    assert result.text == "Done."
    assert [r.text for r in result.messages[1].results] == ["one done", "after done"]
    assert journal.told[-1][2].keys() == {"call-1", "call-2"}
