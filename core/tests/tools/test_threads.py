"""Plain functions run in threads, which nobody can stop."""

from __future__ import annotations

import threading
import time

import anyio
import anyio.from_thread
import pytest

from pegboard.tools.parallel import StepRunner
from pegboard.tools.threads import THREADS_PER_PLUGIN, Threads

pytestmark = pytest.mark.anyio


async def test_functions_that_call_functions_of_their_own_plugin_do_not_wait_for_one_another(world):
    @world.add
    def inner() -> str:
        """Work inside."""
        return "done"

    @world.add
    def outer(ctx) -> str:
        """Call a function of the same plugin."""
        time.sleep(0.02)
        return anyio.from_thread.run(ctx.invoke, "inner", {}).output

    @world.add(plugin="other")
    def farther(ctx) -> str:
        """Call a function of another plugin, which calls one of its own."""
        return anyio.from_thread.run(ctx.invoke, "outer", {}).output

    names = ["outer", "farther"] * (THREADS_PER_PLUGIN + 1)
    calls = [world.tool_call(name) for name in names]
    with anyio.fail_after(5):
        results = await StepRunner(world.dispatcher, world.run, world.caller)(calls)
    assert [result.output for result in results] == ["done"] * len(names)


async def test_a_thread_that_was_left_behind_keeps_its_place_until_it_ends():
    threads, release, begun = Threads(2), threading.Event(), []

    def hang():
        begun.append(1)
        release.wait(10)

    for _ in range(2):
        with anyio.move_on_after(0.05):
            await threads.run(hang)
    with anyio.move_on_after(0.1):
        await threads.run(hang)
    assert len(begun) == 2
    release.set()
    with anyio.fail_after(5):
        assert await threads.run(lambda: "free again") == "free again"


async def test_a_place_that_no_thread_took_is_given_back():
    threads = Threads(1)
    for _ in range(3):
        with anyio.CancelScope() as scope:
            scope.cancel()
            await threads.run(lambda: "never")
    with anyio.fail_after(5):
        assert await threads.run(lambda: "done") == "done"
