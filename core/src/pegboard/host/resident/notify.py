"""Tell the service manager how this process is doing, as systemd wants to be told (`sd_notify`)."""

from __future__ import annotations

import logging
import os
import socket
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import anyio

_MICROSECONDS: Final = 1_000_000
_log = logging.getLogger(__name__)


class Notifier:
    """Sends states to the socket that `NOTIFY_SOCKET` names; without one it does nothing.

    Args:
        env: The environment.
    """

    def __init__(self, env: Mapping[str, str] = os.environ) -> None:
        self._address = _address(env.get("NOTIFY_SOCKET", ""))
        self._every_s = _watchdog_s(env)

    def ready(self, status: str) -> None:
        """Say that everything is up; `status` is one line for people."""
        self._send("READY=1", f"STATUS={status}")

    def reloading(self) -> None:
        """Say that the settings are being read again; `ready` ends it."""
        now = time.clock_gettime(time.CLOCK_MONOTONIC) if hasattr(time, "clock_gettime") else 0
        self._send("RELOADING=1", f"MONOTONIC_USEC={int(now * _MICROSECONDS)}")

    def stopping(self, status: str) -> None:
        """Say that the process is about to end."""
        self._send("STOPPING=1", f"STATUS={status}")

    async def watch(self) -> None:
        """Say in time, again and again, that the event loop goes round, if somebody watches it."""
        if self._every_s is None:
            await anyio.sleep_forever()
        while True:
            self._send("WATCHDOG=1")
            await anyio.sleep(self._every_s or 1.0)

    def _send(self, *lines: str) -> None:
        if self._address is None:
            return
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as own:
                own.setblocking(False)
                own.sendto("\n".join(lines).encode(), self._address)
        except OSError as error:
            _log.info("the service manager could not be told %s: %s", lines[0], error)


def write_ready_file(file: Path, pid: int) -> None:
    """Make the file that tells others that the host is ready; it holds the process id."""
    part = file.with_name(f".{file.name}.{pid}.part")
    part.write_text(f"{pid}\n", encoding="ascii")
    part.replace(file)


def _address(given: str) -> str | None:
    if not given.startswith(("/", "@")) or not hasattr(socket, "AF_UNIX"):
        return None
    return f"\0{given[1:]}" if given.startswith("@") else given


def _watchdog_s(env: Mapping[str, str]) -> float | None:
    """Return how often to answer the watchdog: twice as often as it wants."""
    given, pid = env.get("WATCHDOG_USEC", ""), env.get("WATCHDOG_PID", "")
    if not given.isdigit() or int(given) == 0 or pid not in ("", str(os.getpid())):
        return None
    return int(given) / _MICROSECONDS / 2
