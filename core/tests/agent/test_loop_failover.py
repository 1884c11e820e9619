"""A run whose provider fails: another goes on, no call is made twice, and a journal says who."""

from __future__ import annotations

import pytest

from pegboard.agent.loop import run_loop
from pegboard.contracts.journal import Answered
from pegboard.contracts.message import Message
from pegboard.providers.route import Hop, Route
from pegboard.testing.model import Call, Cut, Fail, ScriptedModel

pytestmark = pytest.mark.anyio
ASK = [Message.of("user", "How many?")]


class Answers:
    """A journal in memory."""

    def __init__(self) -> None:
        self.answers: dict[int, Answered] = {}

    async def answered(self, step):
        return self.answers.get(step)

    async def done(self, step, answer, *, request, results):
        self.answers[step] = answer


def route(bench, *models, **facts) -> Route:
    hops = [Hop(name=f"p{n}", provider=model) for n, model in enumerate(models)]
    return Route(hops, clock=bench.clock, **facts)


async def test_a_chain_of_a_limit_a_cut_and_an_answer(bench) -> None:
    runs = []
    bench.tools = {"count": lambda: runs.append(1) or "7"}
    models = (
        ScriptedModel([Fail("rate_limit", retry_after=1_806.0)]),
        ScriptedModel([Cut("Let me", call=Call("count"))]),
        ScriptedModel([["Looking.", Call("count")], "Seven."]),
    )
    setup = bench.setup(models[0], route=route(bench, *models), retracts=True)
    result = await run_loop(setup, ASK)
    assert (result.text, result.status, len(runs)) == ("Seven.", "done", 1)
    assert bench.recorder.types().count("restart") == 1
    assert bench.recorder.text.endswith("Seven.")
    assert [len(model.requests) for model in models] == [1, 1, 2]
    assert bench.clock.slept == []


async def test_in_the_middle_of_a_run_no_call_is_made_again(bench) -> None:
    runs = []
    bench.tools = {"count": lambda: runs.append(1) or "7"}
    first = ScriptedModel([Call("count"), Fail("billing")])
    second = ScriptedModel(["Seven."])
    both = route(bench, first, second, mid_run=True)
    result = await run_loop(bench.setup(first, route=both), ASK)
    assert (result.text, len(runs)) == ("Seven.", 1)
    (asked,) = second.requests
    assert asked.state is None
    assert [message.role for message in asked.messages] == ["user", "assistant", "tool"]


async def test_without_that_the_run_fails_where_it_is(bench) -> None:
    bench.tools = {"count": lambda: "7"}
    first, second = ScriptedModel([Call("count"), Fail("billing")]), ScriptedModel(["Seven."])
    result = await run_loop(bench.setup(first, route=route(bench, first, second)), ASK)
    assert result.status == "failed"
    assert second.requests == []


async def test_an_attempt_that_goes_on_asks_who_answered_the_one_before(bench) -> None:
    bench.tools = {"count": lambda: "7"}
    journal = Answers()
    first = ScriptedModel([Fail("billing")])
    second = ScriptedModel([Call("count"), Fail("auth")])
    setup = bench.setup(first, route=route(bench, first, second), journal=journal)
    assert (await run_loop(setup, ASK)).status == "failed"
    assert {answer.hop for answer in journal.answers.values()} == {"p1"}
    # the host was started again: nobody remembers who failed
    again, there = ScriptedModel(["no"]), ScriptedModel(["Seven."])
    setup = bench.setup(again, route=route(bench, again, there), journal=journal)
    assert (await run_loop(setup, ASK)).text == "Seven."
    assert again.requests == []
    assert there.requests[0].state == journal.answers[1].done.state


async def test_a_request_that_was_too_long_for_all_is_made_shorter_for_the_first(bench) -> None:
    first = ScriptedModel([Fail("context_overflow"), "Short."])
    second = ScriptedModel([Fail("auth")])

    class Digests:
        async def fitted(self, messages, *, tokens, window):
            return None

        async def squeezed(self, messages, refusals):
            return messages if refusals == 1 else None

    setup = bench.setup(first, route=route(bench, first, second), digests=Digests())
    assert (await run_loop(setup, ASK)).text == "Short."
