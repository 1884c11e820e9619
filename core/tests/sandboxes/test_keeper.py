"""The program beside a host that ends its commands when the host is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pegboard.sandboxes.keeper import Keeper
from pegboard.sandboxes.process_tree import MARK_NAME

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="it looks into /proc")
UNTIL_S = 20.0


def listeners(pipe: int) -> list[int]:
    """Return the programs that read the other end of a pipe."""
    found, wanted = [], Path(f"/proc/self/fd/{pipe}").readlink()
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and (folder / "fd" / "0").readlink() == wanted:
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def sleeper(mark: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(["sleep", "60"], env={**os.environ, MARK_NAME: mark})


def test_the_end_of_its_pipe_ends_what_is_held_and_nothing_else() -> None:
    keeper = Keeper()
    held, dropped, other = sleeper("mark-1"), sleeper("mark-2"), sleeper("mark-3")
    try:
        keeper.hold("mark-1")
        keeper.hold("mark-2")
        keeper.drop("mark-2")
        assert keeper._pipe is not None
        os.close(keeper._pipe)
        assert held.wait(UNTIL_S) == -signal.SIGKILL
        assert dropped.poll() is None
        assert other.poll() is None
    finally:
        for process in (held, dropped, other):
            process.kill()
            process.wait()
        keeper._reap()


def test_one_that_was_killed_is_started_again_and_told_all() -> None:
    keeper, first = Keeper(), sleeper("mark-4")
    try:
        keeper.hold("mark-4")
        assert keeper._pipe is not None
        end = time.monotonic() + UNTIL_S
        while keeper._child:  # until only the copy is left
            keeper._reap()
            assert time.monotonic() < end
        for pid in listeners(keeper._pipe):
            os.kill(pid, signal.SIGKILL)
        while listeners(keeper._pipe):
            assert time.monotonic() < end
        keeper.hold("mark-5")
        os.close(keeper._pipe)
        assert first.wait(UNTIL_S) == -signal.SIGKILL
    finally:
        first.kill()
        first.wait()
        while keeper._child:
            keeper._reap()
