"""Starts the program that ends commands when the host is killed, and tells it what runs.

A sandbox with a process space of its own needs none of this: the kernel ends that space with bwrap,
and bwrap with the host.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

_PROGRAM: Final = Path(__file__).with_name("keeper_program.py")


class Keeper:
    """One program for all commands of this process; it is started with the first of them."""

    def __init__(self) -> None:
        self._pipe: int | None = None
        self._host = 0
        self._child = 0
        self._marks: set[str] = set()

    def hold(self, mark: str) -> None:
        """Say that a command has begun."""
        if self._host != os.getpid():  # a copy of the host made by fork has commands of its own
            self._host, self._pipe, self._child, self._marks = os.getpid(), None, 0, set()
        self._marks.add(mark)
        if self._pipe is None or not self._say(f"+ {mark}\n"):
            self._begin()

    def drop(self, mark: str) -> None:
        """Say that it has ended."""
        self._marks.discard(mark)
        if self._pipe is not None and self._host == os.getpid():
            self._say(f"- {mark}\n")
            self._reap()

    def _begin(self) -> None:
        """Start the program; where it can't be, commands may outlive a host that is killed."""
        self._pipe = None
        if sys.platform != "linux" or not sys.executable:
            return
        theirs, ours = os.pipe()
        nothing = os.open(os.devnull, os.O_RDWR)
        try:
            self._child = os.posix_spawn(
                sys.executable,
                [sys.executable, "-I", "-S", str(_PROGRAM)],
                {},
                file_actions=[
                    (os.POSIX_SPAWN_DUP2, theirs, 0),
                    (os.POSIX_SPAWN_DUP2, nothing, 1),
                    (os.POSIX_SPAWN_DUP2, nothing, 2),
                ],
                setsid=True,
            )
        except (OSError, NotImplementedError):  # the last from a libc that knows no `setsid` here
            os.close(ours)
            return
        finally:
            os.close(theirs)
            os.close(nothing)
        os.set_blocking(ours, False)
        self._pipe = ours
        self._say("".join(f"+ {mark}\n" for mark in sorted(self._marks)))

    def _reap(self) -> None:
        """Take the entry of what was started: it leaves a copy of itself behind, and ends."""
        if self._child:
            with suppress(ChildProcessError):
                if os.waitpid(self._child, os.WNOHANG) == (0, 0):
                    return
            self._child = 0

    def _say(self, text: str) -> bool:
        """Write to the program; False when it is gone."""
        assert self._pipe is not None
        try:
            os.write(self._pipe, text.encode())
        except BlockingIOError:
            return True  # it is slow, and goes on reading
        except OSError:
            with suppress(OSError):
                os.close(self._pipe)
            self._pipe = None
            return False
        return True


KEEPER: Final = Keeper()
