"""Which process holds the store's write lock, for the sentence that tells it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

_LOCKS: Final = Path("/proc/locks")
_PROCESSES: Final = Path("/proc")
_SHOWN_CHARS: Final = 60


def holder_of(path: Path) -> str:
    """Return who holds a lock on a store, as `process 7 (pegboard serve)`; "" when unknown.

    Linux tells it in `/proc/locks`. Asking SQLite's files themselves would mean to open them, and
    closing one again gives back every lock that this process has on it.

    Args:
        path: The store's file. While it is written to, the lock is on the file beside it (`-shm`).
    """
    files = {_inode(path.with_name(f"{path.name}-shm")), _inode(path)} - {""}
    pids = [pid for pid in _writers(files) if pid != os.getpid()]
    return f"process {pids[0]}{_command(pids[0])}" if pids else ""


def _writers(inodes: set[str]) -> list[int]:
    """Return the processes that hold a lock for writing on one of the files."""
    try:
        lines = _LOCKS.read_text("ascii", "replace").splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        # 1: POSIX  ADVISORY  WRITE 4711 fd:01:123 120 120
        fields = line.split()
        if len(fields) == 8 and fields[3] == "WRITE" and fields[5] in inodes:
            found.append(int(fields[4]))
    return found


def _inode(path: Path) -> str:
    """Return a file as `/proc/locks` names it, or ""."""
    try:
        found = path.stat()
    except OSError:
        return ""
    return f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}"


def _command(pid: int) -> str:
    """Return what a process runs, in brackets, or ""."""
    try:
        line = (_PROCESSES / str(pid) / "cmdline").read_bytes()
    except OSError:
        return ""
    words = line.decode("utf-8", "replace").split("\0")
    text = " ".join([Path(words[0]).name, *words[1:]]).strip()
    return f" ({text[:_SHOWN_CHARS]})" if text else ""
