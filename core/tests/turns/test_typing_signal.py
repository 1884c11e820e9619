from __future__ import annotations

import anyio
import pytest

from pegboard.testing.clock import FakeClock
from pegboard.testing.model import Call
from pegboard.turns.typing_signal import keep_typing, typing_of

pytestmark = pytest.mark.anyio


async def test_it_is_shown_every_four_seconds_for_five_minutes() -> None:
    clock, shown = FakeClock(), []

    async def typing(chat: str) -> None:
        shown.append((chat, clock.monotonic()))

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(keep_typing, typing, "1", clock)
            await clock.advance(9)
            assert shown == [("1", 0.0), ("1", 4.0), ("1", 8.0)]
            await clock.advance(1000)
    assert len(shown) == 75
    assert shown[-1][1] < 300


async def test_a_channel_that_fails_to_show_it_is_not_asked_again() -> None:
    clock, shown = FakeClock(auto=True), []

    async def typing(chat: str) -> None:
        shown.append(chat)
        raise ConnectionError("no line")

    await keep_typing(typing, "1", clock)
    assert shown == ["1"]


async def test_it_is_shown_while_a_turn_runs_and_no_longer(make_bench, chat_channel) -> None:
    class Typing(chat_channel):
        def __init__(self) -> None:
            super().__init__()
            self.shown: list[str] = []

        async def typing(self, chat):
            self.shown.append(chat)

    bench = make_bench(clock=FakeClock())
    release = anyio.Event()

    async def wait(turn):
        await release.wait()
        return "ok"

    bench.tools = {"wait": wait}
    bench.script(Call("wait"), "Done.")
    channel = Typing()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: bench.run(channel=channel))
        await bench.until(lambda: channel.shown)
        await bench.clock.advance(4)
        release.set()
    assert channel.shown == ["1", "1"]
    await bench.clock.advance(100)
    assert channel.shown == ["1", "1"]
    assert bench.clock.sleepers == 0


def test_a_channel_without_it_has_none(chat_channel) -> None:
    assert typing_of(chat_channel()) is None
