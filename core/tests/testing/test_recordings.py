"""A recorded run as a test of a plugin."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import pytest

from pegboard import Arg, Plugin, ToolContext
from pegboard.agent.recording import Recording
from pegboard.config.paths import find_paths
from pegboard.contracts.clock import SystemClock
from pegboard.store.blobs import FolderBlobs
from pegboard.store.reading import reading
from pegboard.testing import Call, FakeClock, HostFactory, ScriptedModel, replay
from pegboard.turns.record import latest_turn, record

pytestmark = pytest.mark.anyio


NOW = 2_000_000_000.0


class StoppedClock(SystemClock):
    """Always tells the same time of day."""

    def now(self) -> float:
        return NOW


def greeter(word: str = "Hello") -> Plugin:
    plugin = Plugin(summary="Greets")

    @plugin.tool(effects=())
    async def greet(ctx: ToolContext, name: Annotated[str, Arg("Whom.")]) -> str:
        """Greet somebody."""
        return f"{word}, {name}, at {ctx.plugin.clock.now():.0f}"

    return plugin


def other() -> Plugin:
    plugin = Plugin(summary="Does something else")

    @plugin.tool(effects=())
    async def also() -> str:
        """Do something else."""
        return "also"

    return plugin


async def recorded(host: HostFactory) -> Recording:
    """Return the recording of a turn that used both plugins."""
    model = ScriptedModel([Call("greet", name="Ann"), Call("also"), "Done."])
    inline = {"greeter": greeter(), "other": other()}
    async with host(inline=inline, model=model, clock=StoppedClock()) as running:
        assert (await running.ask("Greet Ann.")).text == "Done."
    state = find_paths({"PEGBOARD_HOME": str(host.home)}).state
    async with reading(state) as store:
        return await record(
            store,
            await latest_turn(store),
            FolderBlobs(state / "blobs"),
            redact=lambda data: data,
            pegboard="",
            plugins={},
        )


async def test_a_recording_runs_without_any_plugin(host: HostFactory, tmp_path: Path) -> None:
    file = tmp_path / "greeting.json"
    file.write_text((await recorded(host)).text())
    replayed = await replay(file)
    assert (replayed.text, replayed.status, replayed.steps) == ("Done.", "done", 3)


async def test_the_tools_of_a_host_are_called_at_the_recorded_time(host: HostFactory) -> None:
    recording = await recorded(host)
    clock = FakeClock(start=0.0, auto=True)
    async with host(inline={"greeter": greeter()}, clock=clock) as running:
        await replay(recording, running)
    assert clock.now() == NOW


async def test_a_tool_that_returns_something_else_fails_the_test(host: HostFactory) -> None:
    recording = await recorded(host)
    clock = FakeClock(start=0.0, auto=True)
    async with host(inline={"greeter": greeter("Bye")}, clock=clock) as running:
        with pytest.raises(AssertionError, match="Bye, Ann") as caught:
            await replay(recording, running)
    assert "Hello, Ann" in str(caught.value)
