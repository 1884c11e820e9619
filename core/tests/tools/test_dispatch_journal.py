"""How calls are recorded, and how a recorded one is taken for what it was."""

from __future__ import annotations

import anyio
import pytest

from pegboard.contracts.result import Suspend, ToolResult
from pegboard.contracts.store import FencedError
from pegboard.contracts.verdict import Ask
from pegboard.tools.parallel import StepRunner

pytestmark = pytest.mark.anyio


class Rows:
    """A journal in memory: what it knows, and the rows that were written."""

    def __init__(self, known=(), *, refuse=()):
        self.rows = []
        self.results = dict(known)
        self.refuse = set(refuse)

    async def known(self, call, name, arguments):
        self.rows.append(("asked", call, name, arguments))
        return self.results.get(call)

    def attempt(self, call):
        return 3

    def idempotency_key(self, call):
        return f"turn:{call}"

    async def intent(self, call, tool, arguments, effects):
        await anyio.lowlevel.checkpoint()
        self._write("intent", call, tool.canonical, dict(arguments), sorted(effects))

    async def result(self, call, result):
        await anyio.lowlevel.checkpoint()
        self._write("result", call, result.output)

    def _write(self, what, call, *facts):
        if call in self.refuse or what in self.refuse:
            raise FencedError("another attempt has begun")
        self.rows.append((what, call, *facts))

    def of(self, what):
        return [row[1:] for row in self.rows if row[0] == what]


@pytest.fixture
def ran(world):
    """Names of the tools that ran; `echo`, and `twice`, which calls it twice."""
    ran = []

    @world.add
    async def echo(text: str) -> str:
        """Give a text back."""
        ran.append(text)
        return text

    @world.add
    async def twice(ctx, text: str) -> str:
        """Call echo twice."""
        ran.append("twice")
        first = await ctx.invoke("echo", {"text": text})
        second = await ctx.invoke("echo", {"text": first.text * 2})
        return second.text

    return ran


async def test_a_call_is_written_before_and_after(world, ran):
    world.run.journal = journal = Rows()
    await world.call("echo", '{"text": "a"}', id="c1")
    assert journal.rows == [
        ("asked", "c1", "echo", '{"text": "a"}'),
        ("intent", "c1", "demo:echo", {"text": "a"}, ["read"]),
        ("result", "c1", "a"),
    ]


async def test_what_does_not_run_is_no_intent(world, ran):
    world.run.journal = journal = Rows()
    await world.call("echo", "{}", id="c1")
    await world.call("nothing", id="c2")
    assert journal.of("intent") == journal.of("result") == []


async def test_a_cancelled_call_stays_an_intent(world):
    @world.add
    async def wait() -> str:
        """Wait."""
        await anyio.sleep_forever()
        return ""

    world.run.journal = journal = Rows()
    with anyio.move_on_after(0.05) as scope:
        await world.call("wait", id="c1")
    assert scope.cancelled_caught
    assert [row[0] for row in journal.rows] == ["asked", "intent"]


async def test_a_known_result_is_used_and_nobody_judges_the_call_again(world, ran, taking):
    hooks = world.dispatcher.hooks = taking(
        pegboard_tool_guard=lambda event: Ask("Really?"), pegboard_event=None
    )
    world.run.journal = Rows({"c1": ToolResult("from before")})
    assert (await world.call("echo", '{"text": "a"}', id="c1")).output == "from before"
    assert ran == hooks.observed == []
    assert isinstance((await world.call("echo", '{"text": "a"}', id="c2")).control, Suspend)


async def test_a_known_result_needs_no_tool(world):
    world.run.journal = Rows({"c1": ToolResult("from before")})
    assert (await world.call("gone", id="c1")).output == "from before"


async def test_a_tool_learns_attempt_and_key_from_the_journal(world):
    @world.add
    async def which(ctx) -> str:
        """Tell."""
        return f"{ctx.call.attempt} {ctx.call.idempotency_key}"

    world.run.journal = Rows()
    assert (await world.call("which", id="c1")).output == "3 turn:c1"


async def test_calls_of_a_tool_have_the_same_ids_each_time(world, ran):
    world.run.journal = first = Rows()
    await world.call("twice", '{"text": "a"}', id="c1")
    assert [call for call, *_ in first.of("intent")] == ["c1", "c1.1", "c1.2"]
    ran.clear()
    world.run.journal = second = Rows({"c1.1": ToolResult("a"), "c1.2": ToolResult("kept")})
    assert (await world.call("twice", '{"text": "a"}', id="c1")).output == "kept"
    assert ran == ["twice"]
    assert second.of("asked") == [
        ("c1", "twice", '{"text": "a"}'),
        ("c1.1", "echo", {"text": "a"}),
        ("c1.2", "echo", {"text": "aa"}),
    ]


@pytest.mark.parametrize("what", ["intent", "result"])
async def test_a_lost_fence_ends_the_run(world, ran, what):
    world.run.journal = Rows(refuse=[what])
    with pytest.raises(FencedError):
        await world.call("echo", '{"text": "a"}', id="c1")
    assert ran == ([] if what == "intent" else ["a"])


async def test_a_lost_fence_inside_of_a_tool_ends_the_run_too(world, ran):
    world.run.journal = journal = Rows(refuse=["c1.2"])
    with pytest.raises(FencedError):
        await world.call("twice", '{"text": "a"}', id="c1")
    assert ran == ["twice", "a"]
    assert ("c1", "aa") not in journal.of("result")


async def test_a_lost_fence_in_a_group_of_a_tool_ends_the_run(world, ran):
    @world.add
    async def both(ctx) -> str:
        """Call echo twice at a time."""
        async with anyio.create_task_group() as group:
            for text in "ab":
                group.start_soon(ctx.invoke, "echo", {"text": text})
        return "both"

    world.run.journal = Rows(refuse=["c1.1", "c1.2"])
    with pytest.raises(FencedError):
        await world.call("both", id="c1")


async def test_a_tool_that_hides_a_lost_fence_gets_no_further(world, ran):
    @world.add
    async def stubborn(ctx) -> str:
        """Go on whatever happens."""
        try:
            await ctx.invoke("echo", {"text": "a"})
        except Exception:
            return "as if nothing was"
        return "well"

    world.run.journal = Rows(refuse=["intent-of-others", "c1.1", "result"])
    with pytest.raises(FencedError):
        await world.call("stubborn", id="c1")


async def test_a_lost_fence_of_one_call_cancels_those_beside_it(world):
    ended = []

    @world.add
    async def wait(name: str) -> str:
        """Wait."""
        try:
            await anyio.sleep_forever()
        finally:
            ended.append(name)
        return ""

    @world.add
    async def quick() -> str:
        """Return at once."""
        return ""

    world.run.journal = Rows(refuse=["call2"])
    step = StepRunner(world.dispatcher, world.run, world.caller)
    calls = [world.tool_call("wait", '{"name": "a"}'), world.tool_call("quick")]
    with anyio.fail_after(2), pytest.raises(FencedError):
        await step(calls)
    assert ended == ["a"]
