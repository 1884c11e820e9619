"""Keep the start and the end of a stream of any length, in bounded memory."""

from __future__ import annotations

from typing import Final

from pegboard.contracts.sandbox import Captured

_SLACK: Final = 4  # the tail is cut only when it is this many times too long
_LONGEST_CHARACTER: Final = 4


class Capture:
    """What is kept of one stream.

    Args:
        keep_head: Bytes of the start.
        keep_tail: Bytes of the end.
    """

    def __init__(self, keep_head: int, keep_tail: int) -> None:
        self._head_room = max(0, keep_head)
        self._tail_room = max(0, keep_tail)
        self._head = bytearray()
        self._tail = bytearray()
        self._past = 0

    @property
    def total(self) -> int:
        """Bytes seen so far."""
        return len(self._head) + self._past

    def feed(self, chunk: bytes) -> None:
        """Add the next bytes of the stream."""
        room = self._head_room - len(self._head)
        if room > 0:
            self._head += chunk[:room]
            chunk = chunk[room:]
        if not chunk:
            return
        self._past += len(chunk)
        if not self._tail_room:
            return
        self._tail += chunk[-self._tail_room :]
        if len(self._tail) > _SLACK * self._tail_room:
            del self._tail[: -self._tail_room]

    def captured(self) -> Captured:
        """Return what is kept. No UTF-8 character is cut in two."""
        tail = bytes(self._tail[-self._tail_room :]) if self._tail_room else b""
        omitted = self._past - len(tail)
        if omitted <= 0:
            return Captured(head=bytes(self._head) + tail)
        head = whole_end(bytes(self._head))
        start = whole_start(tail)
        omitted += len(self._head) - len(head) + len(tail) - len(start)
        return Captured(head=head, tail=start, omitted=omitted)


def whole_end(data: bytes) -> bytes:
    """Return `data` without the beginning of a UTF-8 character at its end."""
    for back in range(1, min(_LONGEST_CHARACTER, len(data)) + 1):
        byte = data[-back]
        if byte < 0x80:
            return data
        if byte >= 0xC0:
            needed = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return data if back >= needed else data[:-back]
    return data


def whole_start(data: bytes) -> bytes:
    """Return `data` without the rest of a UTF-8 character at its start."""
    for index in range(min(_LONGEST_CHARACTER - 1, len(data))):
        if not 0x80 <= data[index] < 0xC0:
            return data[index:]
    return data[_LONGEST_CHARACTER - 1 :]
