"""Who writes to the store: any number of short-lived hosts, or one that owns it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from pegboard.config.paths import make_private
from pegboard.contracts.errors import StoreError

LOCK_NAME: Final = "pegboard.lock"
_LONGEST_PID: Final = 20


class HostLock:
    """A lock on the state folder that ends with the process, however that ends.

    Hosts that live as long as one command share it: their transactions are short, and SQLite puts
    them in order. A resident host takes it for itself, so that no second host works on its store.

    Args:
        path: The lock file; it stays when the lock is given back.
        exclusive: True to own the store.

    Raises:
        StoreError: When another host owns the store, or `exclusive` is wanted while others use it.
    """

    def __init__(self, path: Path, *, exclusive: bool = False) -> None:
        make_private(path.parent)
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if not locked(self._file, exclusive):
                raise _held(path, self._file, exclusive)
            if exclusive:
                os.ftruncate(self._file, 0)
                os.write(self._file, str(os.getpid()).encode())
        except BaseException:
            os.close(self._file)
            raise
        self._exclusive = exclusive

    def release(self) -> None:
        """Give the lock back; a second time does nothing."""
        if self._file >= 0:
            if self._exclusive:
                os.ftruncate(self._file, 0)
            os.close(self._file)
            self._file = -1


def locked(file: int, exclusive: bool) -> bool:
    """Lock an open file for as long as it is open; False when somebody else has locked it."""
    try:
        import fcntl
    except ImportError:  # Windows: SQLite's own locks still keep transactions apart
        return True
    try:
        fcntl.flock(file, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def owner_of(path: Path) -> str | None:
    """Return the process id of the host that owns the store; None when nobody does.

    Args:
        path: The lock file.
    """
    try:
        file = os.open(path, os.O_RDONLY)
    except OSError:
        return None
    try:
        if locked(file, exclusive=False):
            return None
        return os.read(file, _LONGEST_PID).decode("ascii", "replace").strip() or None
    finally:
        os.close(file)


def _held(path: Path, file: int, exclusive: bool) -> StoreError:
    pid = os.read(file, _LONGEST_PID).decode("ascii", "replace").strip()
    if pid:
        return StoreError(
            f"The store in {path.parent} belongs to a running host, process {pid}.",
            fix=f"pegboard serve --stop, or: kill {pid}",
            pid=pid,
        )
    what = "be owned" if exclusive else "be used"
    return StoreError(
        f"The store in {path.parent} can't {what}: other hosts are using it.",
        fix=f"fuser -v {path}",
    )
