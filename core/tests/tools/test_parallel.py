from __future__ import annotations

import anyio
import pytest

from pegboard.contracts.effects import Access
from pegboard.contracts.message import ToolCall
from pegboard.contracts.tool import Arg
from pegboard.tools.footprint import conflict, footprint
from pegboard.tools.parallel import StepRunner, run_step

pytestmark = pytest.mark.anyio


class Log:
    """Tools that note when they begin and end."""

    def __init__(self, world):
        self.world = world
        self.lines = []

    def add(self, name, **facts):
        from typing import Annotated

        access = facts.pop("path", None)

        async def plain(label: str = "") -> str:
            """Work."""
            return await self._work(f"{name}{label}")

        async def with_path(path: str, label: str = "") -> str:
            """Work on a path."""
            return await self._work(f"{name}{label}")

        function = plain
        if access:
            function = with_path
            function.__annotations__["path"] = Annotated[str, Arg(access=access)]
        self.world.add(function, name=name, **facts)

    async def _work(self, name):
        self.lines.append(f"+{name}")
        await anyio.sleep(0.03)
        self.lines.append(f"-{name}")
        return name

    @property
    def overlapping(self):
        running, most = 0, 0
        for line in self.lines:
            running += 1 if line[0] == "+" else -1
            most = max(most, running)
        return most


@pytest.fixture
def log(world):
    return Log(world)


async def step(world, *calls):
    requests = [world.request(name, arguments) for name, arguments in calls]
    return [result.output for result in await run_step(requests, world.dispatcher)]


async def test_reads_run_at_the_same_time_and_results_keep_their_order(world, log):
    log.add("look", effects={"read"})
    outputs = await step(world, *(("look", f'{{"label": "{n}"}}') for n in range(5)))
    assert outputs == [f"look{n}" for n in range(5)]
    assert log.overlapping == 5


async def test_writes_to_one_path_run_in_order(world, log):
    log.add("write", effects={"fs_write"}, path="fs_write")
    log.add("read", effects={"read"}, path="read")
    await step(
        world,
        ("write", '{"path": "a.txt", "label": "1"}'),
        ("read", '{"path": "./x/../a.txt"}'),
        ("write", '{"path": "a.txt", "label": "2"}'),
    )
    assert log.lines == ["+write1", "-write1", "+read", "-read", "+write2", "-write2"]


async def test_writes_to_different_paths_run_at_the_same_time(world, log):
    log.add("write", effects={"fs_write"}, path="fs_write")
    await step(world, ("write", '{"path": "a"}'), ("write", '{"path": "ab"}'))
    assert log.overlapping == 2


async def test_a_folder_stands_for_what_is_in_it(world, log):
    log.add("write", effects={"fs_write"}, path="fs_write")
    log.add("search", effects={"read"}, path="read")
    await step(world, ("write", '{"path": "src/a"}'), ("search", '{"path": "src"}'))
    assert log.overlapping == 1


@pytest.mark.parametrize("facts", [{"effects": None}, {"effects": {"read"}, "kind": "mcp"}])
async def test_what_is_unknown_and_what_is_elsewhere_runs_alone(world, log, facts):
    log.add("odd", **facts)
    log.add("look", effects={"read"})
    await step(world, ("look", "{}"), ("odd", "{}"), ("look", "{}"), ("odd", "{}"))
    assert log.overlapping == 1


async def test_tool_call_counts_as_what_is_inside(world, log):
    world.add_core()
    log.add("write", effects={"fs_write"}, path="fs_write")
    wrapped = '{"name": "write", "arguments": {"path": "a", "label": "1"}}'
    await step(world, ("tool_call", wrapped), ("write", '{"path": "a", "label": "2"}'))
    assert log.lines == ["+write1", "-write1", "+write2", "-write2"]


async def test_calls_that_will_not_run_hold_up_nothing(world, log):
    log.add("look", effects={"read"})
    log.add("odd", effects=None)
    requests = [
        world.request("nothing"),
        world.request("odd", "{bad"),
        world.request("look"),
    ]
    results = await run_step(requests, world.dispatcher)
    assert [r.error and r.error.code for r in results] == [
        "not_found",
        "invalid_arguments",
        None,
    ]


async def test_a_failing_call_does_not_stop_the_others(world, log):
    log.add("look", effects={"read"})

    @world.add
    async def crash() -> str:
        """Crash."""
        raise SystemExit

    results = await run_step([world.request("crash"), world.request("look")], world.dispatcher)
    assert results[0].error.code == "tool_crashed"
    assert results[1].output == "look"


async def test_each_call_is_watched_and_a_finished_one_survives_cancellation(world, log):
    log.add("look", effects={"read"})

    @world.add
    async def hang() -> str:
        """Hang."""
        await anyio.sleep_forever()
        return ""

    ended = {}

    async def watch(call, run):
        ended[call.id] = None
        ended[call.id] = await run()
        return ended[call.id]

    runner = StepRunner(world.dispatcher, world.run, world.caller)
    calls = [ToolCall("a", "look", "{}"), ToolCall("b", "hang", "{}")]
    with anyio.move_on_after(0.3) as scope:
        await runner(calls, watch=watch)
    assert scope.cancelled_caught
    assert ended["a"].output == "look"
    assert ended["b"] is None


async def test_an_approved_step_runs_what_waited(world, log, taking):
    from pegboard.contracts.verdict import Ask

    log.add("look", effects={"read"})
    world.dispatcher.hooks = taking(pegboard_tool_guard=lambda event: Ask("Sure?"))
    runner = StepRunner(world.dispatcher, world.run, world.caller)
    (waiting,) = await runner([ToolCall("a", "look", "{}")])
    assert waiting.control is not None
    (done,) = await runner([ToolCall("a", "look", "{}")], approved=True)
    assert done.output == "look"


async def test_many_calls_are_bounded(world, log):
    log.add("look", effects={"read"})
    await step(world, *[("look", "{}")] * 40)
    assert log.overlapping == 16


def test_what_conflicts(plain):
    def of(*access, effects=("read",)):
        items = [Access(effect, resource) for effect, resource in access]
        return footprint(plain("t", effects=effects), items)

    read_a, read_b = of(("read", "/w/a")), of(("read", "/w/b"))
    write_a, write_any = of(("fs_write", "/w/a")), of(("fs_write", ""))
    read_any, command = of(("read", "")), of(("exec", ""))
    store, fetch, post = of(("state_write", "")), of(("net_read", "")), of(("net_write", ""))
    screen = of(("gui", ""))
    assert not conflict(read_a, read_b)
    assert not conflict(read_a, read_any)
    assert not conflict(write_a, read_b)
    assert not conflict(fetch, fetch)
    assert not conflict(fetch, write_a)
    assert not conflict(store, read_a)
    for one, other in [
        (write_a, read_a),
        (write_a, read_any),
        (write_any, read_b),
        (command, read_a),
        (command, command),
        (command, store),
        (store, store),
        (store, read_any),
        (post, post),
        (post, fetch),
        (screen, screen),
    ]:
        assert conflict(one, other)
        assert conflict(other, one)
