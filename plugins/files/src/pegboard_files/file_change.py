"""A change of one file: what it holds before and after."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from pegboard import FileStat


@dataclass(frozen=True, slots=True, eq=False)
class Content:
    """The bytes of a file.

    Args:
        data: What was read of it.
        whole: False when that is not all, because it is too large or may not be read.
        stat: What the file was when it was read, or None.
        new_mode: Permission bits of a file that is made of it; None = those of any new file.
    """

    data: bytes
    whole: bool = True
    stat: FileStat | None = None
    new_mode: int | None = None

    @property
    def digest(self) -> str:
        """What tells these bytes from others; of a file that is not read whole, its size."""
        if not self.whole and self.stat is not None:
            return f"{self.stat.size} bytes"
        return hashlib.sha256(self.data).hexdigest()


@dataclass(frozen=True, slots=True)
class FileChange:
    """What becomes of one file.

    Args:
        path: As it is shown.
        target: Absolute path, as the sandbox resolves it.
        before: What it holds, or None when there is no file.
        after: What it shall hold, or None when it shall go.
        moved_from: Absolute path of the file that this one was until now, or None. `before` is None
            then, and the content before is `source`.
        source: The content of that file.
        made: Absolute path of the uppermost folder that has to be made for it, or None.
    """

    path: str
    target: str
    before: Content | None
    after: Content | None
    moved_from: str | None = None
    source: Content | None = None
    made: str | None = None
