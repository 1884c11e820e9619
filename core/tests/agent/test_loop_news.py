"""What happened beside a run is told to its model once, and again to who takes the run up."""

from __future__ import annotations

import pytest

from pegboard.agent.digests import RunDigests
from pegboard.agent.loop import run_loop
from pegboard.contracts.message import Message
from pegboard.contracts.news import NewsItem
from pegboard.testing.model import Call, Fail

pytestmark = pytest.mark.anyio
ASK = [Message.of("system", "Be brief."), Message.of("user", "How many?")]
ENDED = NewsItem(id="shell:1", text="p1 ended.")
TOLD = "[Meanwhile: p1 ended.]"


class Desk:
    """News by the step at which they are due."""

    def __init__(self, due) -> None:
        self.waiting = dict(due)
        self.told_of: list[NewsItem] = []

    async def due(self, step):
        return [item for at, item in self.waiting.items() if at <= step]

    async def told(self, items):
        self.told_of += items
        self.waiting = {at: it for at, it in self.waiting.items() if it not in items}


class Answers:
    """A journal in memory."""

    def __init__(self) -> None:
        self.answers = {}

    async def answered(self, step):
        return self.answers.get(step)

    async def done(self, step, answer, *, request, results):
        self.answers[step] = answer


async def test_what_waits_stands_beside_the_message_and_not_in_it(bench) -> None:
    setup = bench.setup(["Seven."], news=Desk({1: ENDED}))
    result = await run_loop(setup, ASK)
    (request,) = bench.model.requests
    assert [message.role for message in request.messages] == ["system", "user"]
    assert [part.text for part in request.messages[-1].parts] == ["How many?", TOLD]
    assert setup.progress.opening == (ENDED,)
    assert [message.text for message in result.messages] == ["Seven."]


async def test_what_happens_during_a_run_stands_behind_the_results_once(bench) -> None:
    bench.tools = {"count": lambda: "7"}
    desk = Desk({2: ENDED})
    result = await run_loop(
        bench.setup([[Call("count"), Call("count")], Call("count"), "Seven."], news=desk), ASK
    )
    first, second, third = bench.model.requests
    assert TOLD not in str(first.messages)
    assert [found.text for found in second.messages[-1].results] == ["7", f"7\n{TOLD}"]
    assert str(third.messages).count(TOLD) == 1
    assert str(result.messages).count(TOLD) == 1
    assert desk.told_of == [ENDED]


async def test_a_run_that_is_taken_up_reads_the_same_and_tells_nothing_twice(bench) -> None:
    bench.tools = {"count": lambda: "7"}
    journal = Answers()
    other = NewsItem(id="shell:2", text="p2 ended.")
    script = [Call("count"), "Seven."]
    setup = bench.setup(script, journal=journal, news=Desk({1: ENDED, 2: other}))
    first = await run_loop(setup, ASK)
    # the host died before anybody could forget what was told
    desk = Desk({1: ENDED, 2: other})
    again = bench.setup([], journal=journal, news=desk)
    assert (await run_loop(again, ASK)).messages == first.messages
    assert (again.progress.opening, desk.waiting) == ((ENDED,), {})


async def test_what_no_model_answered_was_not_told(bench) -> None:
    bench.tools = {"count": lambda: "7"}
    for script, step in (([Fail("auth")], 1), ([Call("count"), Fail("auth")], 2)):
        desk = Desk({step: ENDED})
        setup = bench.setup(script, news=desk)
        result = await run_loop(setup, ASK)
        assert result.status == "failed"
        assert TOLD not in str(result.messages)
        assert (setup.progress.opening, desk.told_of) == ((), [])


@pytest.mark.parametrize("answered", [True, False])
async def test_news_are_not_shortened_with_the_results_they_stand_behind(bench, answered) -> None:
    kept = {}

    async def keep(result, text, outside):
        kept[result.call_id] = text
        return "Read it again."

    page = "\n".join(map(str, range(500)))
    bench.tools = {"count": lambda: page}
    too_long = Fail("context_overflow", "the prompt is too long")
    desk = Desk({2: ENDED})
    script = [Call("count"), too_long, "Seven." if answered else Fail("auth")]
    setup = bench.setup(script, news=desk, digests=RunDigests(keep))
    result = await run_loop(setup, ASK)
    (read,) = bench.model.requests[-1].messages[-1].results
    assert read.text.startswith("[Shortened by the host")
    assert read.text.endswith(TOLD)
    assert list(kept.values()) == [page]
    assert desk.told_of == ([ENDED] if answered else [])
    assert str(result.messages).count(TOLD) == answered
