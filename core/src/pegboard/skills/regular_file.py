"""Read files that other people wrote, without being held up or filled up by them."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path


def read_regular(path: Path, limit: int) -> tuple[bytes, int]:
    """Return the beginning of a regular file and its size in bytes.

    Args:
        path: The file; a link as its last part is refused.
        limit: Bytes to read at most.

    Raises:
        OSError: When it can't be read, or is no regular file.
    """
    # without O_NONBLOCK a FIFO would hold us until somebody writes to it
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
    handle = os.open(path, flags)
    try:
        facts = os.fstat(handle)
        if not stat.S_ISREG(facts.st_mode):
            raise OSError(errno.EINVAL, "It is no regular file")
        with os.fdopen(handle, "rb", closefd=False) as opened:
            return opened.read(limit), facts.st_size
    finally:
        os.close(handle)
