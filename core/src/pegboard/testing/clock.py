"""A clock that a test moves by hand."""

from __future__ import annotations

import heapq
import itertools
from typing import Final

import anyio
import anyio.lowlevel

EPOCH_S: Final = 1_767_225_600.0
"""2026-01-01 00:00 UTC: a fixed start, so that two runs of a test see the same time."""


class FakeClock:
    """A `Clock` that stands still until it is moved.

    It does not move the deadlines of anyio (`fail_after`), which follow the event loop.

    Args:
        start: Seconds since the epoch at which it begins.
        auto: True = a sleep moves the clock itself and returns at once.
    """

    def __init__(self, start: float = EPOCH_S, *, auto: bool = False) -> None:
        self.auto = auto
        self.slept: list[float] = []
        self._start = start
        self._elapsed = 0.0
        self._waiting: list[tuple[float, int, anyio.Event]] = []
        self._order = itertools.count()

    @property
    def sleepers(self) -> int:
        """How many tasks wait for the clock."""
        return sum(1 for _, _, event in self._waiting if not event.is_set())

    def now(self) -> float:
        """Return seconds since the epoch (UTC)."""
        return self._start + self._elapsed

    def monotonic(self) -> float:
        """Return seconds since the clock was made."""
        return self._elapsed

    async def sleep(self, seconds: float) -> None:
        """Wait until the clock was moved by `seconds`; at once when `auto`."""
        self.slept.append(seconds)
        if self.auto or seconds <= 0:
            self._elapsed += max(0.0, seconds)
            await anyio.lowlevel.checkpoint()
            return
        event = anyio.Event()
        entry = (self._elapsed + seconds, next(self._order), event)
        heapq.heappush(self._waiting, entry)
        try:
            await event.wait()
        finally:
            event.set()  # a cancelled sleeper no longer counts

    async def advance(self, seconds: float) -> None:
        """Move the clock, waking sleepers in their order and letting each run before the next.

        Raises:
            ValueError: When `seconds` is negative: time never goes back.
        """
        if seconds < 0:
            raise ValueError("a clock never goes back")
        target = self._elapsed + seconds
        await anyio.wait_all_tasks_blocked()
        while self._waiting and self._waiting[0][0] <= target:
            wake, _, event = heapq.heappop(self._waiting)
            self._elapsed = max(self._elapsed, wake)
            event.set()
            await anyio.wait_all_tasks_blocked()
        self._elapsed = target
