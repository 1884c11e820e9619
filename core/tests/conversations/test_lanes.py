from __future__ import annotations

import anyio
import anyio.abc
import pytest

from pegboard.conversations.key import ConversationKey
from pegboard.conversations.lanes import Lanes

pytestmark = pytest.mark.anyio
KEY, OTHER = ConversationKey("c", "1"), ConversationKey("c", "2")


async def test_one_at_a_time_and_in_order() -> None:
    lanes, ran, running = Lanes(), [], 0

    async def work(n: int) -> None:
        nonlocal running
        async with lanes.place(KEY):
            running += 1
            assert running == 1
            await anyio.sleep(0.001)
            ran.append(n)
            running -= 1

    async with anyio.create_task_group() as tasks:
        for n in range(20):
            tasks.start_soon(work, n)
            await anyio.lowlevel.checkpoint()
    assert ran == list(range(20))
    assert lanes.waiting(KEY) == 0


async def test_another_conversation_does_not_wait() -> None:
    lanes = Lanes()
    async with lanes.place(KEY):
        with anyio.fail_after(1):
            async with lanes.place(OTHER):
                assert lanes.waiting(KEY) == 1


async def test_one_who_gives_up_waiting_leaves_the_lane() -> None:
    lanes, free = Lanes(), anyio.Event()

    async def hold(*, task_status: anyio.abc.TaskStatus[None]) -> None:
        async with lanes.place(KEY):
            task_status.started()
            await free.wait()

    async with anyio.create_task_group() as tasks:
        await tasks.start(hold)
        with anyio.move_on_after(0.02) as scope:
            async with lanes.place(KEY):
                raise AssertionError
        assert scope.cancelled_caught
        assert lanes.waiting(KEY) == 1
        free.set()
    with anyio.fail_after(1):
        async with lanes.place(KEY):
            pass
    assert lanes.waiting(KEY) == 0
