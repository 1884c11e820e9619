"""End a command that has a process space of its own, which ends with its first process.

The program that made the space is the leader, and the first process of the space its only child.
When that one is killed the kernel ends all others inside before it lets it go: nothing survives,
however it was started.
"""

from __future__ import annotations

import os
import select
import signal
from contextlib import suppress
from pathlib import Path
from typing import Final

import anyio

from pegboard.sandboxes.process_tree import look, processes, send

_DEATH_S: Final = 1.0
"""Seconds that the kernel may take to end what was killed."""


class ProcessSpace:
    """A command behind a program that keeps it in a process space of its own.

    Args:
        leader: Process id of that program, which is also its group.
    """

    def __init__(self, leader: int) -> None:
        self.leader = leader
        self._firsts: dict[int, int] = {}

    def remember(self) -> None:
        """Hold on to the first process inside: when the leader has ended it has no parent here."""
        for pid in _children(self.leader):
            if pid not in self._firsts:
                with suppress(OSError):
                    self._firsts[pid] = os.pidfd_open(pid)

    def signal(self, number: int) -> None:
        """Send a signal to every process inside."""
        self.remember()
        inside = set(self._firsts)
        for seen in sorted(processes(), key=lambda seen: (seen.started, seen.pid)):
            if seen.parent in inside or seen.pid in inside:
                inside.add(seen.pid)
                send(seen, number)

    async def kill(self) -> None:
        """End everything, and wait until it is gone."""
        self.remember()
        for fd in self._firsts.values():
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(fd, signal.SIGKILL)
        with anyio.move_on_after(_DEATH_S):
            for pid, fd in self._firsts.items():
                # alone in its space it has nothing to end, and going takes the kernel a while
                while not _has_ended(fd) and (_is_running(self.leader) or _children(pid)):
                    await anyio.wait_readable(fd)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.leader, signal.SIGKILL)

    def close(self) -> None:
        """Give back what is held open."""
        while self._firsts:
            os.close(self._firsts.popitem()[1])


def _children(pid: int) -> list[int]:
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii")
    except OSError:
        if look(pid) is None:
            return []
        return [seen.pid for seen in processes() if seen.parent == pid]
    return [int(name) for name in text.split()]


def _is_running(pid: int) -> bool:
    seen = look(pid)
    return seen is not None and seen.state not in ("Z", "X")


def _has_ended(pidfd: int) -> bool:
    look = select.poll()
    look.register(pidfd, select.POLLIN)
    return bool(look.poll(0))
