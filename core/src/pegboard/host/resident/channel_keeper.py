"""Runs the channels of a resident host, and starts again what fails."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import anyio
import anyio.abc

from pegboard.config.instances import Instance
from pegboard.contracts.clock import Clock
from pegboard.contracts.errors import PegboardError
from pegboard.plugins.building.isolation import is_plugin_fault, one_line
from pegboard.plugins.running.guard_stdout import quiet

FIRST_PAUSE_S: Final = 1.0
LONGEST_PAUSE_S: Final = 300.0
SOUND_S: Final = 60.0
"""Seconds that a channel has to run before a failure counts as its first again."""
STOP_S: Final = 10.0
"""Seconds that a channel has to end when it is told to."""
ChannelState = Literal["running", "waiting", "ended"]
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class KeptChannel:
    """A channel and how it is doing.

    Args:
        instance: Which one.
        state: `running`; `waiting` = it failed, and is started again; `ended` = it wanted no more.
        failures: How often in a row it failed.
        error: Why it failed last, or "".
        fix: What mends that, or None.
        since: Since when it is in this state, in seconds since the epoch.
        again_at: When it is started again, or None.
    """

    instance: Instance
    state: ChannelState = "running"
    failures: int = 0
    error: str = ""
    fix: str | None = None
    since: float = 0.0
    again_at: float | None = None
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    hurry: anyio.Event = field(default_factory=anyio.Event)
    gone: anyio.Event = field(default_factory=anyio.Event)

    def to_dict(self) -> dict[str, Any]:
        """Return it as `pegboard status` tells it."""
        return {
            "name": self.instance.name,
            "type": self.instance.type,
            "plugin": self.instance.plugin,
            "state": self.state,
            "failures": self.failures,
            "error": self.error,
            "fix": self.fix,
            "since": self.since,
            "again_at": self.again_at,
        }


class ChannelKeeper:
    """Runs channels until it is told not to; one that fails never touches the others.

    Args:
        run: Lets the channel of a name receive until it ends.
        drop: Closes the instance of a name, so that it is made anew.
        clock: Time.
        group: Where the channels run.
    """

    def __init__(
        self,
        run: Callable[[str], Awaitable[None]],
        drop: Callable[[str], Awaitable[None]],
        clock: Clock,
        group: anyio.abc.TaskGroup,
    ) -> None:
        self._run = run
        self._drop = drop
        self._clock = clock
        self._group = group
        self._kept: dict[str, KeptChannel] = {}

    @property
    def channels(self) -> tuple[KeptChannel, ...]:
        """The channels, by name."""
        return tuple(self._kept[name] for name in sorted(self._kept))

    async def adopt(self, wanted: Iterable[Instance]) -> None:
        """Run these channels and no others; one that is configured otherwise begins anew.

        One that waits after a failure is tried at once.
        """
        instances = {instance.name: instance for instance in wanted}
        for name, kept in tuple(self._kept.items()):
            if instances.get(name) != kept.instance:
                await self._end(name)
            else:
                kept.hurry.set()
        for name, instance in instances.items():
            if name not in self._kept:
                kept = self._kept[name] = KeptChannel(instance, since=self._clock.now())
                self._group.start_soon(self._keep, kept, name=f"channel {name}")

    async def stop(self) -> None:
        """End every channel."""
        for name in tuple(self._kept):
            await self._end(name)

    async def _end(self, name: str) -> None:
        kept = self._kept.pop(name)
        kept.scope.cancel()
        with anyio.move_on_after(STOP_S) as late:
            await kept.gone.wait()
        if late.cancelled_caught:
            _log.warning("the channel %s does not end", name)

    async def _keep(self, kept: KeptChannel) -> None:
        name = kept.instance.name
        try:
            with kept.scope:
                while True:
                    began = self._clock.monotonic()
                    if await self._ran(kept):
                        self._mark(kept, "ended")
                        _log.warning("the channel %s has ended", name)
                        return
                    if self._clock.monotonic() - began >= SOUND_S:
                        kept.failures = 0
                    await self._rest(kept)
        finally:
            kept.gone.set()

    async def _ran(self, kept: KeptChannel) -> bool:
        """Run a channel once; False when it failed."""
        name = kept.instance.name
        self._mark(kept, "running")
        try:
            with quiet(kept.instance.plugin):
                await self._run(name)
            return True
        except BaseException as error:
            if not isinstance(error, PegboardError) and not is_plugin_fault(error):
                raise
            kept.error = one_line(error)
            kept.fix = error.fix if isinstance(error, PegboardError) else None
            _log.warning("the channel %s failed: %s", name, kept.error)
            _log.info("the channel %s failed", name, exc_info=error)
            return False

    async def _rest(self, kept: KeptChannel) -> None:
        kept.failures += 1
        pause = pause_s(kept.failures)
        self._mark(kept, "waiting", self._clock.now() + pause)
        kept.hurry = anyio.Event()
        with anyio.move_on_after(pause):
            await kept.hurry.wait()
        await self._drop(kept.instance.name)

    def _mark(self, kept: KeptChannel, state: ChannelState, again_at: float | None = None) -> None:
        kept.state, kept.since, kept.again_at = state, self._clock.now(), again_at


def pause_s(failures: int) -> float:
    """Return the seconds to wait after so many failures in a row."""
    return min(FIRST_PAUSE_S * 2.0 ** min(failures - 1, 16), LONGEST_PAUSE_S)
