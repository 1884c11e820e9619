"""Find and end everything that a command started.

A process group is not the whole tree: a child may leave it. On Linux the rest is found by looking
at every process: its group, its session, its parents, and a mark in its environment. What wipes its
environment and is orphaned too gets away; only a sandbox with a process space of its own is
complete.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

import anyio

MARK_NAME: Final = "PEGBOARD_COMMAND"
_LONGEST: Final = 4096  # bytes of /proc/N/stat
_ROUNDS: Final = 50
_PAUSE_S: Final = 0.005
_FIRST: Final = 3  # number of the field after the name, as proc(5) counts them


@dataclass(frozen=True, slots=True)
class Seen:
    """One process as /proc shows it."""

    pid: int
    parent: int
    group: int
    session: int
    started: int
    state: str


class CommandTree(Protocol):
    """A command and all that it started, wherever that runs."""

    def signal(self, number: int) -> None:
        """Send a signal to all of it."""
        ...

    async def kill(self) -> None:
        """End all of it, and wait until it is gone."""
        ...

    def remember(self) -> None:
        """Look at it now, for what can't be found out later."""
        ...

    def close(self) -> None:
        """Give back what is held open."""
        ...


@dataclass(frozen=True, slots=True)
class ProcessTree:
    """A command and all that it started.

    Args:
        leader: Its process id, which is also its group and its session.
        mark: Value of `PEGBOARD_COMMAND` in its environment; "" = look at the group alone.
    """

    leader: int
    mark: str

    def signal(self, number: int) -> None:
        """Send a signal to the group, and to those that left it."""
        self._signal_group(number)
        for seen in self.members():
            if seen.group != self.leader:
                send(seen, number)

    async def kill(self) -> None:
        """End everything, however often it starts new processes meanwhile."""
        for _ in range(_ROUNDS):
            self._signal_group(signal.SIGKILL)
            alive = self.members()
            if not alive:
                return
            for seen in alive:
                send(seen, signal.SIGKILL)
            await anyio.sleep(_PAUSE_S)

    def remember(self) -> None:
        """Do nothing: what belongs to the tree can be told at any time."""

    def close(self) -> None:
        """Do nothing: this holds nothing open."""

    def _signal_group(self, number: int) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.leader, number)

    def members(self) -> list[Seen]:
        """Return the living processes of the tree; nothing where /proc is missing."""
        if not self.mark:
            return []
        everything = list(processes())
        start = next((seen.started for seen in everything if seen.pid == self.leader), 0)
        known = {self.leader}
        found: list[Seen] = []
        for seen in sorted(everything, key=lambda seen: (seen.started, seen.pid)):
            if seen.started < start or seen.pid == os.getpid():
                continue
            if self._belongs(seen, known):
                known.add(seen.pid)
                if seen.state not in ("Z", "X"):
                    found.append(seen)
        return found

    def _belongs(self, seen: Seen, known: set[int]) -> bool:
        if seen.pid in known or seen.parent in known:
            return True
        if self.leader in (seen.group, seen.session):
            return True
        return _has_mark(seen.pid, self.mark)


def processes() -> Iterator[Seen]:
    """Yield every process as /proc shows it; nothing where /proc is missing."""
    try:
        names = os.listdir("/proc")  # noqa: PTH208 - names alone, of hundreds of processes
    except OSError:
        return
    for name in names:
        if name.isdigit():
            seen = look(int(name))
            if seen is not None:
                yield seen


def look(pid: int) -> Seen | None:
    """Return one process as /proc shows it, or None when it is gone."""
    try:
        fd = os.open(f"/proc/{pid}/stat", os.O_RDONLY)
    except OSError:
        return None
    try:
        text = os.read(fd, _LONGEST)
    except OSError:
        return None
    finally:
        os.close(fd)
    # the name is in brackets and may hold anything, so fields are counted from its end
    fields = text[text.rindex(b")") + 2 :].split()
    return Seen(
        pid=pid,
        state=fields[0].decode(),
        parent=int(fields[4 - _FIRST]),
        group=int(fields[5 - _FIRST]),
        session=int(fields[6 - _FIRST]),
        started=int(fields[22 - _FIRST]),
    )


def _has_mark(pid: int, mark: str) -> bool:
    try:
        variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False
    return f"{MARK_NAME}={mark}".encode() in variables


def send(seen: Seen, number: int) -> None:
    """Send a signal to the process that was seen, not to one that has taken its number since."""
    try:
        fd = os.pidfd_open(seen.pid)
    except OSError:
        return
    try:
        now = look(seen.pid)
        if now is not None and now.started == seen.started:
            with suppress(ProcessLookupError, PermissionError):
                signal.pidfd_send_signal(fd, number)
    finally:
        os.close(fd)
