"""Open a resident host, heed signals, and close it in order."""

from __future__ import annotations

import logging
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import anyio
import anyio.abc

from pegboard.config.load import Config
from pegboard.contracts.errors import PegboardError, StoreError
from pegboard.host.control.place import require_sockets
from pegboard.host.host import Host
from pegboard.host.opening import open_host
from pegboard.host.options import HostOptions
from pegboard.host.resident.notify import Notifier
from pegboard.host.resident.resident import Resident
from pegboard.store.host_lock import LOCK_NAME, HostLock
from pegboard.store.workers import living

WAIT_S: Final = 10.0
"""Seconds to wait for commands that use the store and are about to end."""
_RETRY_S: Final = 0.1
_log = logging.getLogger("pegboard.host.resident")


async def serve(
    options: HostOptions,
    *,
    state: Path,
    ready_file: Path | None = None,
    opened: Callable[[Host], None] = lambda host: None,
    taken: Callable[[Config], None] = lambda config: None,
    wait_s: float = WAIT_S,
) -> str:
    """Run a resident host until it is told to end; return why it did.

    SIGTERM and SIGINT end it in order, a second one at once; SIGHUP lets it read its settings
    again.

    Args:
        options: How it is opened; `resident` is true.
        state: The state folder.
        ready_file: File that is there while the host is ready, or None.
        opened: Told of the host once it is open.
        taken: Told of settings that were read again.
        wait_s: Seconds to wait for commands that use the store.

    Raises:
        StoreError: When another host has the store (says which), or this can't be done here.
    """
    require_sockets()
    await _free(state, wait_s)
    async with open_host(options) as host:
        opened(host)
        resident = Resident(
            host, options, notifier=Notifier(options.env), ready_file=ready_file, taken=taken
        )
        async with _heeding_signals(resident):
            reason = await resident.run()
    _log.info("ended: %s", reason)
    return reason


async def _free(state: Path, wait_s: float) -> None:
    """Wait until nobody uses the store.

    Raises:
        StoreError: When a resident host has it, or commands use it for longer.
    """
    told = False
    with anyio.move_on_after(wait_s):
        while True:
            try:
                HostLock(state / LOCK_NAME, exclusive=True).release()
                return
            except StoreError as error:
                if "pid" in error.details:
                    raise _served(state, str(error.details["pid"])) from error
            if not told:
                told = True
                _log.warning("waiting for the commands that use the store: %s", _users(state))
            await anyio.sleep(_RETRY_S)
    raise StoreError(
        f"The store in {state} is in use by {_users(state)}, which a host that stays can't share.",
        fix="end them and start it again",
    )


def _served(state: Path, pid: str) -> StoreError:
    return StoreError(
        f"A host is running already, as process {pid}: it owns the store in {state}.",
        fix="pegboard status; to end it: pegboard serve --stop",
        pid=pid,
    )


def _users(state: Path) -> str:
    pids = sorted({name.partition("-")[0] for name in living(state)})
    return f"process {', '.join(pids)}" if pids else "another command"


@asynccontextmanager
async def _heeding_signals(resident: Resident) -> AsyncIterator[None]:
    async with anyio.create_task_group() as group:
        group.start_soon(_heed, resident, group)
        yield
        group.cancel_scope.cancel()


async def _heed(resident: Resident, group: anyio.abc.TaskGroup) -> None:
    hangup = getattr(signal, "SIGHUP", None)
    numbers = [signal.SIGTERM, signal.SIGINT, *([hangup] if hangup is not None else [])]
    with anyio.open_signal_receiver(*numbers) as signals:
        async for number in signals:
            if number == hangup:
                group.start_soon(_reload, resident)
            else:
                resident.shut_down(f"{number.name} came")


async def _reload(resident: Resident) -> None:
    try:
        await resident.reload()
    except PegboardError:
        return  # it is logged, and `pegboard status` tells it
    except Exception:  # a signal must not end the host
        _log.exception("the settings could not be read again")
