"""One task per active plugin that holds its lifespan and its background services.

The lifespan must be entered and left in the same task, whoever asked first for the plugin. One
cancel scope spans its whole life, and its deadline is moved: a lifespan that keeps a task group
open while it yields would not stand a scope that is closed before it.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from typing import Any, Final

import anyio

from pegboard.contracts.clock import Clock
from pegboard.contracts.context import PluginContext
from pegboard.contracts.service import BackgroundStatus, Health
from pegboard.plugins.building.isolation import is_plugin_fault, one_line
from pegboard.plugins.declared import BackgroundFacts
from pegboard.plugins.running.guard_stdout import quiet
from pegboard.plugins.running.loading import LoadFailed

FIRST_DELAY_S: Final = 1.0
LONGEST_DELAY_S: Final = 60.0
Lifespan = Callable[[PluginContext], AsyncIterator[Any]]


class Owner:
    """Runs what belongs to one active plugin.

    Args:
        plugin_id: Id of the plugin.
        lifespan: Its lifespan, or None.
        backgrounds: Its background services.
        clock: For the pauses between restarts.
        report: Told what went wrong.
        start_timeout_s: Seconds until the lifespan has to yield.
        stop_timeout_s: Seconds until everything has to be over after `stop`.
    """

    def __init__(
        self,
        plugin_id: str,
        *,
        lifespan: Lifespan | None,
        backgrounds: Sequence[BackgroundFacts],
        clock: Clock,
        report: Callable[[str], None],
        start_timeout_s: float,
        stop_timeout_s: float,
    ) -> None:
        self._plugin_id = plugin_id
        self._lifespan = lifespan
        self._backgrounds = backgrounds
        self._clock = clock
        self._report = report
        self._start_timeout_s = start_timeout_s
        self._stop_timeout_s = stop_timeout_s
        self._stop = anyio.Event()
        self._starting: anyio.CancelScope | None = None
        self._status = {item.name: self._new_status(item.name, "starting") for item in backgrounds}

    @property
    def status(self) -> tuple[BackgroundStatus, ...]:
        """How the background services are doing."""
        return tuple(self._status.values())

    def stop(self) -> None:
        """Ask for the end; `run` returns when it is over. A start is broken off."""
        self._stop.set()
        if self._starting is not None:
            self._starting.cancel()

    async def run(self, context: PluginContext, ready: Callable[[], Awaitable[None]]) -> None:
        """Start, call `await ready()`, serve until `stop`, and end. Runs in a task of its own.

        Raises:
            LoadFailed: When the lifespan does not start (`ready` is not called then), or ends
                before anybody asked it to.
        """
        started = False
        try:
            # shielded: the end comes by `stop`, in an order that the host decides
            with anyio.CancelScope(shield=True) as scope, quiet(self._plugin_id):
                scope.deadline = anyio.current_time() + self._start_timeout_s
                self._starting = scope
                async with self._entered(context) as context.state:
                    scope.deadline = math.inf
                    self._starting = None
                    started = True
                    await ready()
                    await self._serve_all(context)
                    scope.deadline = anyio.current_time() + self._stop_timeout_s
        except BaseException as error:
            if not is_plugin_fault(error):
                raise
            if not self._stop.is_set():
                raise LoadFailed.of("lifespan", error) from error
            self._report(f"its lifespan failed at the end: {one_line(error)}")
            return
        if not self._stop.is_set():
            limit = self._start_timeout_s
            words = "ended before the host stopped" if started else f"did not yield in {limit:g} s"
            raise LoadFailed("lifespan", f"its lifespan {words}")
        if started and scope.cancelled_caught:
            self._report_late("its lifespan")

    def _entered(self, context: PluginContext) -> AbstractAsyncContextManager[Any]:
        if self._lifespan is None:
            return nullcontext()
        # a failure of the lifespan's own tasks reaches the code that waits inside it, and goes
        # back into the generator: just what an async context manager does
        return asynccontextmanager(self._lifespan)(context)

    async def _serve_all(self, context: PluginContext) -> None:
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as group:
                for item in self._backgrounds:
                    group.start_soon(self._serve, item, context)
                await self._stop.wait()
                scope.deadline = anyio.current_time() + self._stop_timeout_s
                group.cancel_scope.cancel()
        if scope.cancelled_caught:
            self._report_late("a background service")

    def _report_late(self, what: str) -> None:
        self._report(f"{what} did not end within {self._stop_timeout_s:g} s and was cut off")

    async def _serve(self, item: BackgroundFacts, context: PluginContext) -> None:
        delay = FIRST_DELAY_S
        while True:
            self._set(item.name, "running")
            began = self._clock.monotonic()
            error = await self._run_once(item, context)
            self._set(item.name, "failed" if error else "stopped", error)
            if error:
                self._report(f"background service {item.name} failed: {error}")
            if item.restart == "never" or (item.restart == "on_failure" and not error):
                return
            if self._clock.monotonic() - began > LONGEST_DELAY_S:
                delay = FIRST_DELAY_S  # it had been well for a while
            await self._clock.sleep(delay)
            delay = min(delay * 2, LONGEST_DELAY_S)
            self._count_restart(item.name)

    async def _run_once(self, item: BackgroundFacts, context: PluginContext) -> str:
        """Run a service to its end; return why it failed, or ""."""
        try:
            await item.run(context)
        except BaseException as error:
            if not is_plugin_fault(error):
                self._set(item.name, "stopped")
                raise
            return one_line(error)
        return ""

    def _set(self, name: str, health: Health, error: str = "") -> None:
        old = self._status[name]
        self._status[name] = self._new_status(
            name, health, restarts=old.restarts, error=error or old.error
        )

    def _count_restart(self, name: str) -> None:
        old = self._status[name]
        self._status[name] = self._new_status(
            name, "starting", restarts=old.restarts + 1, error=old.error
        )

    def _new_status(
        self, name: str, health: Health, *, restarts: int = 0, error: str = ""
    ) -> BackgroundStatus:
        return BackgroundStatus(
            plugin=self._plugin_id, name=name, health=health, restarts=restarts, error=error
        )
