"""Which hosts are alive: each holds a lock on a file of its own that ends with its process."""

from __future__ import annotations

import os
import re
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from pegboard.config.paths import make_private
from pegboard.contracts.errors import StoreError
from pegboard.store.host_lock import locked

FOLDER: Final = "hosts"
_TRIES: Final = 50
_RETRY_S: Final = 0.01
_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,100}")


class Workers:
    """The hosts that work on one store, this one among them.

    Args:
        folder: Folder of the lock files; `FOLDER` in the state folder.
        name: Id of this host; no other one ever has it.

    Raises:
        StoreError: When the id can't be the name of a file.
    """

    def __init__(self, folder: Path, name: str) -> None:
        if not _NAME.fullmatch(name) or name.startswith("."):
            raise StoreError(
                f"{name!r} can't be the id of a host.", fix="use letters, digits, '-' and '_'"
            )
        self.name = name
        self._folder = folder
        self._file = -1

    def enter(self) -> None:
        """Take this host's lock, and remove the files of hosts that ended; again: does nothing.

        Raises:
            StoreError: When another process has this id.
            OSError: When the file can't be made.
        """
        if self._file >= 0:
            return
        make_private(self._folder)
        self._file = _own(self._place(self.name))
        for path in self._folder.glob("*.lock"):
            self.alive(path.stem)

    def alive(self, name: str) -> bool:
        """Tell whether a host is alive; the lock file of one that is not is removed."""
        if name == self.name:
            return self._file >= 0
        if not _NAME.fullmatch(name):
            return False
        path = self._place(name)
        try:
            file = os.open(path, os.O_RDWR)
        except OSError:
            return False
        try:
            # shared, so that two who look at once don't take each other for the host
            if not locked(file, exclusive=False):
                return True
            # removed while it is locked: nobody can be about to make it their own
            with suppress(OSError):
                path.unlink()
            return False
        finally:
            os.close(file)

    def leave(self) -> None:
        """Give this host's lock back: what it ran may be taken over. Again: does nothing."""
        if self._file >= 0:
            with suppress(OSError):
                self._place(self.name).unlink()
            os.close(self._file)
            self._file = -1

    def _place(self, name: str) -> Path:
        return self._folder / f"{name}.lock"


def _own(path: Path) -> int:
    """Return the file, open and locked, and certainly the one that others find by its name."""
    for _ in range(_TRIES):
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if locked(file, exclusive=True) and os.path.samestat(os.fstat(file), path.stat()):
                return file
        except FileNotFoundError:  # somebody looked at it before it was locked, and removed it
            pass
        os.close(file)
        time.sleep(_RETRY_S)
    raise StoreError(f"Another host has the id of this one: {path} is locked.", fix=f"fuser {path}")


def living(state: Path) -> list[str]:
    """Return the ids of the hosts that work on the store of a folder; changes nothing there."""
    found = []
    for path in sorted((state / FOLDER).glob("*.lock")):
        try:
            file = os.open(path, os.O_RDONLY)
        except OSError:  # it ended just now
            continue
        try:
            if not locked(file, exclusive=False):
                found.append(path.stem)
        finally:
            os.close(file)
    return found
