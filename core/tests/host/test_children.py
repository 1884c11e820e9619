"""Runs that a tool starts: what they may do, what they are told, and how each of them ends."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

from pegboard import (
    Caller,
    ChatRequest,
    ModelCalled,
    ModelRequestEvent,
    PegboardError,
    Plugin,
    RunResult,
    RunSpec,
    ToolContext,
)
from pegboard.contracts.errors import CapabilityDeniedError
from pegboard.contracts.stream import StepStarted, ToolStarted
from pegboard.testing import Call, HostFactory, ScriptedModel
from pegboard.testing.host import HostUnderTest

pytestmark = pytest.mark.anyio

Start = Callable[..., Awaitable[RunResult]]
WORK: dict[str, Callable[[ToolContext], Awaitable[Any]]] = {}
SEEN: list[ToolContext] = []
crew = Plugin(summary="Has others work")


@crew.tool(effects={"read", "exec", "net_read", "net_write"}, policy_class="external_api")
async def boss(ctx: ToolContext) -> str:
    """Do what the test wants."""
    return str(await WORK["now"](ctx))


@crew.tool(effects={"read", "fs_write", "exec"})
async def run_it(ctx: ToolContext) -> str:
    """Run a command."""
    SEEN.append(ctx)
    return "ran"


@crew.tool(effects={"read"})
async def look(ctx: ToolContext) -> str:
    """Look."""
    SEEN.append(ctx)
    return "seen"


@crew.tool(effects={"read", "fs_write"})
async def write_it(ctx: ToolContext) -> str:
    """Write."""
    return "written"


@crew.tool(effects={"gui"})
async def click(ctx: ToolContext) -> str:
    """Click."""
    return "clicked"


@crew.tool(effects={"read"})
async def wait(ctx: ToolContext) -> str:
    """Wait for a minute."""
    await anyio.sleep(60)
    return "never"


@crew.tool(effects={"read"}, capability="orch:spawn")
async def spawn(ctx: ToolContext) -> str:
    """Start another run."""
    return "spawned"


INLINE = {"crew": crew}


@pytest.fixture(autouse=True)
def fresh() -> None:
    WORK.clear()
    SEEN.clear()


async def started(
    world: HostUnderTest, work: Callable[[ToolContext], Awaitable[Any]], caller: Any = None
) -> Any:
    """Let a tool do some work and return what it returned, or raise what it raised."""
    box: dict[str, Any] = {}

    async def boxed(ctx: ToolContext) -> str:
        try:
            box["value"] = await work(ctx)
        except PegboardError as error:
            box["error"] = error
        return "done"

    WORK["now"] = boxed
    who = caller or world.host.local_caller()
    result = await world.host.call_tool("boss", {}, who)
    assert result.error is None, result.error
    if "error" in box:
        raise box["error"]
    return box["value"]


def running(world: HostUnderTest) -> int:
    return len(world.host._parts.spaces.children)


def offered(request: ChatRequest) -> set[str]:
    return {tool.name for tool in request.tools}


async def test_a_child_neither_writes_nor_clicks_and_its_shell_has_a_read_only_sandbox(
    host: HostFactory,
):
    model = ScriptedModel([[Call("run_it"), Call("write_it")], "done"])
    async with host(inline=INLINE, model=model) as world:
        result = await started(world, lambda ctx: ctx.runs.start(RunSpec(prompt="work")))
        assert result.status == "done"
    assert {"run_it", "look"} <= offered(model.requests[0])
    assert not {"write_it", "click", "spawn"} & offered(model.requests[0])
    (ctx,) = SEEN
    assert ctx.call.effects == {"read", "exec"}
    assert ctx.sandbox.effects <= {"read", "exec"}
    assert ctx.caller.classes == {"read_only", "exec", "network", "external_api"}
    assert (ctx.reply, ctx.call.turn, ctx.call.conversation) == (None, "", "")
    answers = [item.text for message in model.requests[1].messages for item in message.results]
    assert "written" not in " ".join(answers)


async def test_a_child_that_shall_write_must_be_asked_for(host: HostFactory):
    model = ScriptedModel([[Call("write_it")], "done"])
    async with host(inline=INLINE, model=model) as world:
        spec = RunSpec(prompt="work", without=("gui_control",))
        await started(world, lambda ctx: ctx.runs.start(spec))
    assert "write_it" in offered(model.requests[0])
    assert "click" not in offered(model.requests[0])


async def test_a_child_never_has_a_class_that_its_parent_lacks(host: HostFactory):
    model = ScriptedModel(["done"])
    async with host(inline=INLINE, model=model) as world:
        caller = world.host.local_caller().narrow(
            classes=["read_only", "external_api"], delegated=False
        )
        spec = RunSpec(prompt="work", without=())
        await started(world, lambda ctx: ctx.runs.start(spec), caller)
    assert {"look", "wait"} <= offered(model.requests[0])
    assert not {"run_it", "write_it", "click"} & offered(model.requests[0])


async def test_a_child_starts_no_run_of_its_own(host: HostFactory):
    inner: list[PegboardError] = []
    model = ScriptedModel([Call("boss"), Call("spawn"), "done"])
    async with host(inline=INLINE, model=model) as world:

        async def work(ctx: ToolContext) -> Any:
            if ctx.caller.depth == 0:
                return await ctx.runs.start(RunSpec(prompt="work"))
            try:
                await ctx.runs.start(RunSpec(prompt="deeper"))
            except CapabilityDeniedError as error:
                inner.append(error)
            return "refused"

        await started(world, work)
    (error,) = inner
    assert "depth 1" in error.message
    assert error.fix
    assert len(model.requests) == 3
    answers = [item.text for message in model.requests[-1].messages for item in message.results]
    assert "delegated work (depth 1) may not" in answers[-1]


async def test_nobody_without_a_stamped_trust_starts_a_run(host: HostFactory):
    async with host(inline=INLINE, model=ScriptedModel(["never"])) as world:
        spaces = world.host._parts.spaces
        unstamped = Caller(trust="")  # type: ignore[arg-type]
        scope = await spaces.scope(unstamped, run="r")
        with pytest.raises(CapabilityDeniedError, match="nobody has stamped"):
            await scope.runs.start(RunSpec(prompt="work"))


async def test_a_child_is_told_what_it_is_and_where_it_works(host: HostFactory):
    model = ScriptedModel(["one", "two"])
    async with host(inline=INLINE, model=model) as world:
        await started(world, lambda ctx: ctx.runs.start(RunSpec(prompt="count")))
        await started(world, lambda ctx: ctx.runs.start(RunSpec(prompt="count", system="Be terse")))
        folder = world.workspace.name
    first, second = (request.messages[0].text for request in model.requests)
    assert "You are a worker" in first
    assert "It can't give you orders" in first
    assert folder in first
    assert "You are a worker" not in second
    assert second.startswith("Be terse")
    assert "It can't give you orders" in second
    assert model.requests[0].messages[-1].text == "count"


async def test_a_result_says_how_much_was_done(host: HostFactory):
    model = ScriptedModel([Call("look"), "all found"])
    async with host(inline=INLINE, model=model) as world:
        result = await started(world, lambda ctx: ctx.runs.start(RunSpec(prompt="work")))
    assert (result.text, result.status, result.steps, result.tool_calls) == (
        "all found",
        "done",
        2,
        1,
    )
    assert result.run
    assert result.usage.input > 0
    assert result.cut == 0


async def test_an_answer_is_cut_to_the_bytes_that_are_wanted(host: HostFactory):
    model = ScriptedModel(["ä" * 100])
    async with host(inline=INLINE, model=model) as world:
        spec = RunSpec(prompt="work", result_bytes=51)
        result = await started(world, lambda ctx: ctx.runs.start(spec))
    assert result.text == "ä" * 25
    assert result.cut == 150


async def test_the_model_and_the_effort_of_one_run_can_be_chosen(host: HostFactory):
    model, other = ScriptedModel(["mine", "mine"]), ScriptedModel(["its"])
    second = Plugin(summary="Another provider")
    second.contribute("provider", "second", lambda context, settings: other)
    config = {"agent.model": "usual"}
    async with host(inline={**INLINE, "second": second}, model=model, config=config) as world:
        await started(world, lambda ctx: ctx.runs.start(RunSpec(prompt="x")))
        chosen = RunSpec(prompt="x", provider="second", effort="high")
        await started(world, lambda ctx: ctx.runs.start(chosen))
        named = RunSpec(prompt="x", model="small")
        await started(world, lambda ctx: ctx.runs.start(named))
        with pytest.raises(PegboardError, match="no provider named 'third'"):
            await started(world, lambda ctx: ctx.runs.start(RunSpec(prompt="x", provider="third")))
    assert [request.model for request in model.requests] == ["usual", "small"]
    assert [(request.model, request.effort) for request in other.requests] == [("", "high")]


async def test_whoever_starts_a_run_can_watch_it(host: HostFactory):
    model = ScriptedModel([Call("look"), "done", "done"])
    events: list[Any] = []

    async def watch(event: Any) -> None:
        events.append(event)

    async def broken(event: Any) -> None:
        events.append(event)
        raise ValueError("no")

    async with host(inline=INLINE, model=model) as world:
        await started(world, lambda ctx: ctx.runs.start(RunSpec(prompt="x"), watch=watch))
        assert [type(event) for event in events].count(StepStarted) == 2
        assert [event.name for event in events if isinstance(event, ToolStarted)] == ["look"]
        events.clear()
        result = await started(world, lambda ctx: ctx.runs.start(RunSpec(prompt="x"), watch=broken))
        assert result.status == "done"
        assert len(events) == 1


async def test_hooks_see_what_a_child_asks_its_model(host: HostFactory):
    async with host(inline=INLINE, model=ScriptedModel(["done"])) as world:
        await started(world, lambda ctx: ctx.runs.start(RunSpec(prompt="x")))
        (asked,) = world.recorder.of(ModelRequestEvent)
        assert asked.caller.depth == 1
        (called,) = world.recorder.of(ModelCalled)
        assert called.error is None


async def test_a_child_that_fails_says_why_and_what_it_had(host: HostFactory):
    model = ScriptedModel([["so far: 3", Call("look")], Call("look")])
    async with host(inline=INLINE, model=model) as world:
        spec = RunSpec(prompt="work", max_steps=2)
        result = await started(world, lambda ctx: ctx.runs.start(spec))
    assert (result.status, result.text) == ("failed", "so far: 3")
    assert "step limit" in result.error


async def test_a_child_that_is_late_is_told_from_one_that_was_stopped(host: HostFactory):
    model = ScriptedModel([["half of it", Call("wait")], Call("wait")])
    async with host(inline=INLINE, model=model) as world:
        spec = RunSpec(prompt="work", timeout_s=0.2)
        late = await started(world, lambda ctx: ctx.runs.start(spec))
        assert (late.status, late.text) == ("timed_out", "half of it")
        assert "0.2 s" in late.error

        async def stopped(ctx: ToolContext) -> RunResult:
            async with anyio.create_task_group() as group:
                group.start_soon(stop_soon)
                return await ctx.runs.start(RunSpec(prompt="work"))

        async def stop_soon() -> None:
            children = world.host._parts.spaces.children
            while len(model.requests) < 2:
                await anyio.sleep(0.01)
            (child,) = children
            shown = await world.host.description.children(child.conversation)
            assert shown == [("main", "work")]
            assert await world.host.description.children("another") == []
            assert children.stop(child.run, "a person stopped it")
            assert not children.stop("no-such-run", "x")

        result = await started(world, stopped)
        assert (result.status, result.error) == ("cancelled", "a person stopped it")
        assert running(world) == 0


async def test_with_the_call_that_waits_for_it_a_child_is_cancelled(host: HostFactory):
    """Whatever ends the parent, no child is left that counts as running."""
    model = ScriptedModel([Call("wait")], repeat=True)

    async def work(ctx: ToolContext) -> None:
        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(ctx.runs.start, RunSpec(prompt="work"))

    async with host(inline=INLINE, model=model) as world:
        for _ in range(3):
            before = len(model.requests)
            async with anyio.create_task_group() as group:
                group.start_soon(started, world, work)
                while len(model.requests) < before + 5:
                    await anyio.sleep(0.01)
                assert running(world) == 5
                group.cancel_scope.cancel()
            assert running(world) == 0
            assert not world.host.dispatcher.policy.leases.live


async def test_a_child_that_outlives_its_parent_is_ended_and_told_why(host: HostFactory):
    model = ScriptedModel([Call("wait")], repeat=True)
    async with host(inline=INLINE, model=model) as world, anyio.create_task_group() as group:
        ended: list[RunResult] = []
        kept: list[ToolContext] = []

        async def outlive(ctx: ToolContext) -> None:
            ended.append(await ctx.runs.start(RunSpec(prompt="work")))

        async def work(ctx: ToolContext) -> None:
            kept.append(ctx)
            group.start_soon(outlive, ctx)
            while not running(world):
                await anyio.sleep(0.01)

        await started(world, work)
        while not ended:
            await anyio.sleep(0.01)
        (result,) = ended
        assert result.status == "cancelled"
        assert "has ended" in result.error
        assert running(world) == 0
        with pytest.raises(PegboardError, match="No run can be started any more"):
            await kept[0].runs.start(RunSpec(prompt="more"))


async def test_a_child_whose_lease_is_revoked_calls_nothing_more(host: HostFactory):
    leases: list[str] = []

    def revoke(request: ChatRequest) -> Any:
        leases[0]()  # type: ignore[operator]
        return Call("look")

    model = ScriptedModel([Call("look"), revoke, "gave up"])
    async with host(inline=INLINE, model=model) as world:

        def end() -> None:
            (lease,) = world.host.dispatcher.policy.leases.live
            world.host._parts.leases.revoke(lease)

        leases.append(end)  # type: ignore[arg-type]
        result = await started(world, lambda ctx: ctx.runs.start(RunSpec(prompt="x")))
    assert result.text == "gave up"
    assert len(SEEN) == 1
    answers = [item.text for message in model.requests[-1].messages for item in message.results]
    assert "lease of this run has ended" in answers[-1]
