"""Time as the host and its plugins read it, so that tests can move it."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """A source of time."""

    def now(self) -> float:
        """Return seconds since the epoch (UTC)."""
        ...

    def monotonic(self) -> float:
        """Return seconds that never go back, for durations."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait for `seconds`."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> float:
        """Return seconds since the epoch (UTC)."""
        return time.time()

    def monotonic(self) -> float:
        """Return seconds that never go back, for durations."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait for `seconds`."""
        # imported here: a command that never waits shall not pay for it
        import asyncio

        await asyncio.sleep(seconds)
