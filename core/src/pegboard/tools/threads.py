"""The threads in which the plain functions of a plugin run."""

from __future__ import annotations

import asyncio
import math
import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from typing import Final, TypeVar

import anyio
import anyio.to_thread

T = TypeVar("T")

THREADS_PER_PLUGIN: Final = 4
_inside: ContextVar[bool] = ContextVar("pegboard_tool_thread", default=False)


class Threads:
    """Runs the functions of one plugin, so many at a time.

    A thread can't be stopped. One whose call was cancelled runs to its end and keeps its place till
    then: a plugin whose functions hang holds up its own calls, and threads do not pile up.

    Args:
        most: Functions that may run at a time.
    """

    def __init__(self, most: int) -> None:
        self._places = anyio.CapacityLimiter(most)
        self._free = anyio.CapacityLimiter(math.inf)

    async def run(self, function: Callable[[], T]) -> T:
        """Return what a function returns, off the event loop; cancelling this leaves it behind."""
        if _inside.get():
            # the function that called this one waits for it: were it to queue, none might ever end
            return await self._run(function)
        place = _Place(self._places)
        await self._places.acquire_on_behalf_of(place)
        token = _inside.set(True)
        try:
            return await self._run(lambda: place.used_by(function))
        finally:
            _inside.reset(token)
            place.leave_unused()

    async def _run(self, function: Callable[[], T]) -> T:
        return await anyio.to_thread.run_sync(function, limiter=self._free, abandon_on_cancel=True)


class _Place:
    """One place among those of a plugin, given back once: by the thread, or where none began."""

    def __init__(self, places: anyio.CapacityLimiter) -> None:
        self._places = places
        self._loop = asyncio.get_running_loop()
        self._taken = threading.Lock()

    def used_by(self, function: Callable[[], T]) -> T:
        """Run a function, in its thread."""
        if not self._taken.acquire(blocking=False):
            raise RuntimeError("the call was over before its thread began")
        try:
            return function()
        finally:
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                self._loop.call_soon_threadsafe(self._places.release_on_behalf_of, self)

    def leave_unused(self) -> None:
        """Give the place back unless a thread has it."""
        if self._taken.acquire(blocking=False):
            self._places.release_on_behalf_of(self)
