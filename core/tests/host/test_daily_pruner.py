from __future__ import annotations

import time

import anyio
import pytest

from pegboard.contracts.errors import StoreError
from pegboard.host.daily_pruner import DailyPruner
from pegboard.store.retention import DAY_S, Pruned, Retention
from pegboard.testing.clock import FakeClock

pytestmark = pytest.mark.anyio


class Admin:
    """Counts how often it is asked."""

    def __init__(self, error: Exception | None = None) -> None:
        self.done = 0
        self._error = error

    async def erase_elsewhere(self) -> None:
        """There is nothing elsewhere."""

    async def prune(self, retention: Retention) -> Pruned:
        self.done += 1
        if self._error is not None:
            raise self._error
        return Pruned()


def pruner(admin, folder, clock, **times) -> DailyPruner:
    facts = {"after_s": 0.0, "look_s": 0.01, **times}
    return DailyPruner(admin, Retention(), clock, folder / "tidied", **facts)  # type: ignore[arg-type]


async def test_it_is_done_once_a_day_whatever_the_number_of_hosts(tmp_path) -> None:
    clock, admin = FakeClock(start=time.time()), Admin()
    async with pruner(admin, tmp_path, clock), pruner(admin, tmp_path, clock):
        await anyio.sleep(0.1)
        assert admin.done == 1
        await clock.advance(DAY_S)
        await anyio.sleep(0.1)
    assert admin.done == 2


async def test_a_host_that_is_over_soon_has_no_time_for_it(tmp_path) -> None:
    admin = Admin()
    async with pruner(admin, tmp_path, FakeClock(), after_s=60.0):
        await anyio.sleep(0.02)
    assert admin.done == 0


async def test_where_nothing_was_ever_written_nothing_is_made(tmp_path) -> None:
    admin = Admin()
    async with pruner(admin, tmp_path / "state", FakeClock()):
        await anyio.sleep(0.05)
    assert admin.done == 0
    assert not (tmp_path / "state").exists()


async def test_a_failure_is_told_and_does_not_end_the_host(tmp_path, caplog) -> None:
    admin = Admin(StoreError("the disk is full"))
    async with pruner(admin, tmp_path, FakeClock(start=time.time())):
        await anyio.sleep(0.05)
    assert admin.done == 1
    assert "the disk is full" in caplog.text


async def test_an_error_of_the_block_leaves_it_as_it_is(tmp_path) -> None:
    with pytest.raises(KeyError):
        async with pruner(Admin(), tmp_path, FakeClock()):
            raise KeyError("mine")


async def test_once_stopped_it_begins_nothing(tmp_path) -> None:
    admin = Admin()
    async with pruner(admin, tmp_path, FakeClock(start=time.time())) as running:
        running.stop()
        with anyio.CancelScope(shield=True):
            await anyio.sleep(0.05)
    assert admin.done == 0
