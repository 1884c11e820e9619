from __future__ import annotations

import json
from typing import Annotated

import anyio
import pytest

from pegboard.contracts.argument import Arg
from pegboard.contracts.effects import Access
from pegboard.contracts.message import ToolCall
from pegboard.contracts.result import Suspend
from pegboard.tools.footprint import conflict, footprint
from pegboard.tools.parallel import StepRunner

pytestmark = pytest.mark.anyio


class Log:
    """Tools that note when they begin and end."""

    def __init__(self, world):
        self.world = world
        self.lines = []

    def add(self, name, **facts):
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


async def run_calls(world, *calls):
    runner = StepRunner(world.dispatcher, world.run, world.caller)
    return await runner([world.tool_call(name, arguments) for name, arguments in calls])


async def step(world, *calls):
    return [result.output for result in await run_calls(world, *calls)]


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


@pytest.mark.parametrize(
    "other",
    ["//{folder}/a.txt", "link.txt", "linked/a.txt", "{folder}/./A.TXT", "~/a.txt"],
)
async def test_two_spellings_of_one_path_are_one_path(world, log, monkeypatch, other):
    folder = world.run.workspace
    monkeypatch.setenv("HOME", str(folder))
    (folder / "a.txt").touch()
    (folder / "link.txt").symlink_to("a.txt")
    (folder / "linked").symlink_to(folder)
    log.add("write", effects={"fs_write"}, path="fs_write")
    other = other.format(folder=folder)
    await step(world, ("write", '{"path": "a.txt"}'), ("write", f'{{"path": "{other}"}}'))
    assert log.overlapping == 1


async def test_a_path_that_no_file_can_have_holds_up_nothing(world, log):
    log.add("write", effects={"fs_write"}, path="fs_write")
    for path in ("~\\u0000", "\\u0000", "~nobody/x", "x" * 5_000):
        await step(world, ("write", '{"path": "a"}'), ("write", f'{{"path": "{path}"}}'))
    assert log.overlapping == 2


async def test_paths_are_taken_from_the_arguments_as_they_will_be_repaired(world, log):
    @world.add(effects={"fs_write"})
    async def write_all(paths: Annotated[list[str], Arg(access="fs_write")]) -> str:
        """Write files."""
        return await log._work("all")

    log.add("write", effects={"fs_write"}, path="fs_write")
    packed = json.dumps({"paths": '["a", "b"]'})
    await step(world, ("write_all", packed), ("write", '{"path": "b"}'))
    assert log.overlapping == 1


async def test_where_hooks_change_arguments_no_path_is_relied_on(world, log, taking):
    from dataclasses import replace

    log.add("write", effects={"fs_write"}, path="fs_write")
    log.add("read", effects={"read"}, path="read")
    world.dispatcher.hooks = taking(
        pegboard_tool_arguments=lambda event: replace(event, arguments={"path": "same"})
    )
    await step(world, ("write", '{"path": "a"}'), ("write", '{"path": "b"}'))
    assert log.overlapping == 1
    log.lines.clear()
    await step(world, ("read", '{"path": "a"}'), ("read", '{"path": "b"}'))
    assert log.overlapping == 2


async def test_what_must_come_after_a_call_that_waits_for_a_person_is_not_run(world, log, taking):
    from pegboard.contracts.verdict import Ask

    log.add("write", effects={"fs_write"}, path="fs_write")
    log.add("read", effects={"read"}, path="read")
    log.add("careful", effects={"fs_write"}, path="fs_write")
    world.dispatcher.hooks = taking(
        pegboard_tool_guard=lambda event: Ask("Sure?") if event.tool.name == "careful" else None
    )
    results = await run_calls(
        world,
        ("careful", '{"path": "a"}'),
        ("write", '{"path": "a"}'),
        ("read", '{"path": "a"}'),
        ("write", '{"path": "b"}'),
    )
    assert isinstance(results[0].control, Suspend)
    assert [result and ((result.control and "waits") or result.output) for result in results] == [
        "waits",
        None,
        None,
        "write",
    ]
    assert log.lines == ["+write", "-write"]


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
    results = await run_calls(world, ("nothing", "{}"), ("odd", "{bad"), ("look", "{}"))
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

    results = await run_calls(world, ("crash", "{}"), ("look", "{}"))
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


async def test_a_call_of_a_name_that_is_not_there_is_counted_once(world):
    from dataclasses import replace

    counted = []
    world.dispatcher._decided = lambda caller, *facts, **more: counted.append(caller.lease)
    leased = replace(world.caller, lease="l1")
    runner = StepRunner(world.dispatcher, world.run, leased)
    await runner([world.tool_call("nothing"), world.tool_call("nowhere")])
    assert counted == ["l1", "l1"]
