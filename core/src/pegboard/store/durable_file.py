"""Files that are there, whole, after a power cut."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def replace_durably(written: Path, target: Path) -> None:
    """Let a file that was written take the place of `target`; on the disk when this returns."""
    with written.open("rb") as file:
        os.fsync(file.fileno())
    written.replace(target)
    # not every system can open a folder, or sync it: the rename is then as durable as it makes it
    with suppress(OSError):
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
