"""What is kept no longer is erased once a day, beside everything else that a host does."""

from __future__ import annotations

import logging
import math
import os
from pathlib import Path
from types import TracebackType
from typing import Final

import anyio
import anyio.abc
import anyio.to_thread

from pegboard.contracts.clock import Clock
from pegboard.contracts.errors import StoreError
from pegboard.host.session_admin import SessionAdmin
from pegboard.plugins.building.isolation import one_line
from pegboard.store.host_lock import locked
from pegboard.store.retention import DAY_S, Retention

AFTER_S: Final = 20.0
"""Seconds after the start: a command that is over sooner has no time for it."""
LOOK_S: Final = 3_600.0
"""Seconds between two looks whether a day has gone by."""
_LONGEST_TIME: Final = 40
_log = logging.getLogger(__name__)


class DailyPruner:
    """Prunes the store in the background for as long as it is entered.

    Args:
        admin: Does it.
        retention: How long things are kept.
        clock: Time.
        stamp: File that tells when it was last done, by whichever host.
        after_s: Seconds until the first look.
        look_s: Seconds between two looks.
    """

    def __init__(
        self,
        admin: SessionAdmin,
        retention: Retention,
        clock: Clock,
        stamp: Path,
        *,
        after_s: float = AFTER_S,
        look_s: float = LOOK_S,
    ) -> None:
        self._admin = admin
        self._retention = retention
        self._clock = clock
        self._stamp = stamp
        self._after_s = after_s
        self._look_s = look_s
        self._group: anyio.abc.TaskGroup | None = None
        self._scope = anyio.CancelScope()

    async def __aenter__(self) -> DailyPruner:
        group = anyio.create_task_group()
        self._group = await group.__aenter__()
        group.start_soon(self._run)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None:
        self.stop()
        group, self._group = self._group, None
        if group is None:
            return None
        if isinstance(error, anyio.get_cancelled_exc_class()):
            return await group.__aexit__(kind, error, traceback)
        # the group would wrap the error of the block it spans; nobody wants to unwrap it
        await group.__aexit__(None, None, None)
        return None

    def stop(self) -> None:
        """Begin nothing more: the store is about to be closed."""
        # not the group: its scope spans all that the host does inside of it
        self._scope.cancel()

    async def _run(self) -> None:
        with self._scope:
            # not the host's clock: it paces the work of this process, and decides nothing
            await anyio.sleep(self._after_s)
            while True:
                if self._stamp.parent.is_dir():
                    await self._admin.erase_elsewhere()
                try:
                    await self._look()
                except (StoreError, OSError) as error:
                    _log.warning("what is kept no longer could not be erased: %s", one_line(error))
                await anyio.sleep(self._look_s)

    async def _look(self) -> None:
        if not await anyio.to_thread.run_sync(self._due):
            return
        done = await self._admin.prune(self._retention)
        if done.turns or done.blobs.removed:
            _log.info(
                "erased what is kept no longer: %d turns, %d blobs", done.turns, done.blobs.removed
            )

    def _due(self) -> bool:
        """Tell whether a day has gone by since somebody did it; then it is done now."""
        if not self._stamp.parent.is_dir():
            return False  # nothing was ever written there
        now = self._clock.now()
        file = os.open(self._stamp, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if not locked(file, exclusive=True):
                return False  # another host is about to do it
            if 0 <= now - _written(file) < DAY_S:
                return False
            os.ftruncate(file, 0)
            os.lseek(file, 0, os.SEEK_SET)
            os.write(file, f"{now}\n".encode())
            return True
        finally:
            os.close(file)


def _written(stamp: int) -> float:
    """Return the time in a stamp; that of long ago when it has none."""
    try:
        return float(os.read(stamp, _LONGEST_TIME))
    except ValueError:
        return -math.inf
