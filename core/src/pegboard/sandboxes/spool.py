"""Keep what a long-lived command writes in a file that can't grow beyond a limit."""

from __future__ import annotations

import os
import tempfile
import weakref
from typing import Final

from pegboard.contracts.errors import SandboxError
from pegboard.contracts.process import DEFAULT_READ, Output

HEAD: Final = 1 << 20
TAIL: Final = 9 << 20


class Spool:
    """The start and the end of a stream of any length, on disk.

    The file has no name, so that nothing of it is left however the host ends. Its first bytes are
    the start of the stream; the rest is a ring that holds the end.

    Args:
        head: Bytes of the start that are kept.
        tail: Bytes of the end that are kept.
    """

    def __init__(self, head: int = HEAD, tail: int = TAIL) -> None:
        self.total = 0
        self._head = head
        self._tail = tail
        with tempfile.TemporaryFile(prefix="pegboard-") as file:
            self._fd = os.dup(file.fileno())
        weakref.finalize(self, os.close, self._fd)  # kept for as long as anybody may read it

    def write(self, data: bytes) -> None:
        """Add the next bytes.

        Raises:
            SandboxError: When there is no room on the disk.
        """
        view = memoryview(data)
        try:
            while view:
                place, room = self._place(self.total)
                written = os.pwrite(self._fd, view[:room], place)
                self.total += written
                view = view[written:]
        except OSError as error:
            raise SandboxError(
                f"the output of the command can't be kept: {error.strerror}",
                fix=f"Make room in {tempfile.gettempdir()}.",
            ) from error

    def read(self, offset: int = 0, *, limit: int = DEFAULT_READ) -> Output:
        """Return what is kept from an offset on; below 0 = that many bytes before the end."""
        asked = max(0, self.total + offset) if offset < 0 else min(offset, self.total)
        start = max(asked, self._first_kept) if asked >= self._head else asked
        pieces: list[bytes] = []
        at, left = start, min(max(limit, 0), self.total - start)
        while left and not (pieces and at == self._head and self._first_kept > at):
            place, room = self._place(at)
            piece = os.pread(self._fd, min(room, left), place)
            pieces.append(piece)
            at, left = at + len(piece), left - len(piece)
        return Output(data=b"".join(pieces), start=start, total=self.total, lost=start - asked)

    @property
    def _first_kept(self) -> int:
        """Offset of the first byte behind the head that is still there."""
        return max(self._head, self.total - self._tail)

    def _place(self, offset: int) -> tuple[int, int]:
        """Return where in the file a byte of the stream is, and how many follow it in one piece."""
        if offset < self._head:
            return offset, self._head - offset
        around = (offset - self._head) % self._tail
        return self._head + around, self._tail - around
