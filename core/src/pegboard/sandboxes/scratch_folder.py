"""A folder for temporary files that goes with the process, however that ends."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final

from pegboard.sandboxes.grants import CLOSE_ON_EXEC
from pegboard.sandboxes.lookup import NO_FOLLOW
from pegboard.store.host_lock import locked

_FLAGS: Final = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | NO_FOLLOW | CLOSE_ON_EXEC
_TRIES: Final = 3
_MADE: Final = re.compile(r"[a-z0-9_]{8}")
"""What `mkdtemp` puts behind the prefix; a folder of another name is somebody's own."""


class ScratchFolder:
    """A folder in the system's place for temporary files, only for this user.

    It is locked for as long as it is open. Who makes one with the same prefix removes those whose
    lock nobody holds: their process was killed.

    Args:
        prefix: What its name begins with.
    """

    def __init__(self, prefix: str) -> None:
        _sweep(prefix)
        self._make(prefix)
        for _ in range(_TRIES):
            if self._lock >= 0:
                return
            # another process takes it for one that was left, or none can lock here
            shutil.rmtree(self.path, ignore_errors=True)
            self._make(prefix)

    def _make(self, prefix: str) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=prefix))
        self._lock = _lock(self.path)

    def close(self) -> None:
        """Remove it with all that is in it; a second time does nothing."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def _sweep(prefix: str) -> None:
    with suppress(OSError):
        for place in Path(tempfile.gettempdir()).iterdir():
            if place.name.startswith(prefix) and _MADE.fullmatch(place.name[len(prefix) :]):
                _remove_left(place)


def _remove_left(place: Path) -> None:
    if (lock := _lock(place)) >= 0:
        try:
            shutil.rmtree(place, ignore_errors=True)
        finally:
            os.close(lock)


def _lock(place: Path) -> int:
    """Return the lock of a folder of this user, or -1 when it has another holder or is gone."""
    try:
        folder = os.open(place, _FLAGS)
    except OSError:
        return -1
    with suppress(OSError):
        mine = os.fstat(folder).st_uid == os.geteuid()
        if mine and locked(folder, exclusive=True) and place.exists():
            return folder
    os.close(folder)
    return -1
