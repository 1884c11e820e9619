"""Runs beside a host, and ends the commands of that host when the host has been killed.

A program of its own, started with this file: it imports nothing of Pegboard, so that it is small
and starts at once. Its standard input is a pipe that only the host holds. A line `+ MARK` says that
a command has begun and `- MARK` that it has ended; the end of the pipe, that the host has.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

NAME = b"PEGBOARD_COMMAND="
ROUNDS = 50
PAUSE_S = 0.005


def processes() -> list[int]:
    """Return the numbers of all processes."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208


def carries(pid: int, marks: set[bytes]) -> bool:
    """Tell whether a process carries one of the marks."""
    try:
        variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False
    return any(item.startswith(NAME) and item[len(NAME) :] in marks for item in variables)


def end(marks: set[bytes]) -> None:
    """Kill what carries a mark, and what is in the session of such a process."""
    for _ in range(ROUNDS):
        marked = {pid for pid in processes() if carries(pid, marks)}
        if not marked:
            return
        for pid in processes():
            with suppress(OSError):
                if pid in marked or os.getsid(pid) in marked:
                    os.kill(pid, signal.SIGKILL)
        time.sleep(PAUSE_S)


def main() -> None:
    """Listen until the host is gone, then end what it had running."""
    if os.fork():
        os._exit(0)  # so that the host, which waits for its children, has none that stays
    marks: set[bytes] = set()
    for line in sys.stdin.buffer:
        sign, _, mark = line.strip().partition(b" ")
        if sign == b"+":
            marks.add(mark)
        else:
            marks.discard(mark)
    if marks:
        end(marks)


if __name__ == "__main__":
    main()
