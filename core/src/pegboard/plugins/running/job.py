"""The task that makes a plugin active and keeps it so, from the first call to its end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import anyio
import anyio.lowlevel

from pegboard.plugins.running.active import ActivePlugin
from pegboard.plugins.running.owner import Owner

GRACE_S: Final = 1.0
"""Seconds on top: for what ends just in time, and for what is cancelled past its shields."""
_CUTS: Final = 3


class ActivationJob:
    """The life of one activation."""

    def __init__(self) -> None:
        self.done = anyio.Event()
        """Set when it is known whether the plugin is active."""
        self.ended = anyio.Event()
        self.scope = anyio.CancelScope(shield=True)
        self.active: ActivePlugin | None = None
        self.owner: Owner | None = None
        self.waits_for = ""
        """Id of the plugin whose service it needs first."""
        self._task: asyncio.Task[Any] | None = None
        self._cut = False

    async def run(self, live: Callable[[], Awaitable[None]]) -> None:
        """Do the work of this task; whoever waits for it is told when it ends."""
        self._task = asyncio.current_task()
        try:
            with self.scope:
                await anyio.lowlevel.checkpoint()  # it may be stopped before it has begun
                await live()
        except asyncio.CancelledError:
            if not self._cut:
                raise
        finally:
            self.active = None
            self.done.set()
            self.ended.set()

    def ask_to_end(self) -> None:
        """Ask for the end: break off what is being loaded, stop what lives."""
        if self.owner is None:
            self.scope.cancel()
        else:
            self.owner.stop()

    async def end(self, within_s: float) -> bool:
        """Ask for the end and wait for it; return False when it had to be cut off.

        A plugin that shields its last words from being cancelled, and never comes to their end,
        would keep the host from ending too.

        Args:
            within_s: Seconds that it has.
        """
        self.ask_to_end()
        if await self._ends(within_s + GRACE_S):
            return True
        for _ in range(_CUTS):
            self._cancel_past_shields()
            if await self._ends(GRACE_S):
                break
        return False

    async def _ends(self, within_s: float) -> bool:
        with anyio.move_on_after(within_s):
            await self.ended.wait()
        return self.ended.is_set()

    def _cancel_past_shields(self) -> None:
        """Cancel this task and all that it began as the event loop does, which knows no shields."""
        self._cut = True
        parents = {info.id: info.parent_id for info in anyio.get_running_tasks()}
        for task in asyncio.all_tasks():
            at: int | None = id(task)
            while at is not None and at != id(self._task):
                at = parents.get(at)
            if at is not None:
                task.cancel()


def waits_in_circle(jobs: Mapping[str, ActivationJob], plugin_id: str) -> bool:
    """Tell whether a plugin waits for one that, over others or at once, waits for it."""
    at = plugin_id
    while (job := jobs.get(at)) is not None and job.waits_for:
        at = job.waits_for
        if at == plugin_id:
            return True
    return False
