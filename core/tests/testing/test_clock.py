from __future__ import annotations

import anyio
import pytest

from pegboard.testing import FakeClock

pytestmark = pytest.mark.anyio


async def test_time_stands_still_until_it_is_moved() -> None:
    clock = FakeClock(start=100.0)
    assert (clock.now(), clock.monotonic()) == (100.0, 0.0)
    await clock.advance(2.5)
    assert (clock.now(), clock.monotonic()) == (102.5, 2.5)


async def test_sleepers_wake_in_their_order_at_their_time() -> None:
    clock, woke = FakeClock(), []

    async def sleeper(seconds: float) -> None:
        await clock.sleep(seconds)
        woke.append((seconds, clock.monotonic()))

    async with anyio.create_task_group() as group:
        for seconds in (3.0, 1.0, 2.0, 9.0):
            group.start_soon(sleeper, seconds)
        await clock.advance(5.0)
        assert woke == [(1.0, 1.0), (2.0, 2.0), (3.0, 3.0)]
        assert clock.sleepers == 1
        group.cancel_scope.cancel()
    assert clock.sleepers == 0


async def test_what_wakes_may_sleep_again_within_one_move() -> None:
    clock, beats = FakeClock(), []

    async def beat() -> None:
        while True:
            await clock.sleep(1.0)
            beats.append(clock.monotonic())

    async with anyio.create_task_group() as group:
        group.start_soon(beat)
        await clock.advance(3.5)
        group.cancel_scope.cancel()
    assert beats == [1.0, 2.0, 3.0]


async def test_an_automatic_clock_moves_itself() -> None:
    clock = FakeClock(auto=True)
    await clock.sleep(3600)
    assert clock.monotonic() == 3600
    assert clock.slept == [3600]


async def test_time_never_goes_back() -> None:
    with pytest.raises(ValueError, match="never goes back"):
        await FakeClock().advance(-1)
