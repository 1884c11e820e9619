"""Server-sent events, parsed as bytes arrive: whatever the cuts, the events are the same."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

MAX_EVENT: Final = 67_108_864
"""Bytes of one event: the last event of a long answer repeats all of it."""
_BOM: Final = b"\xef\xbb\xbf"
_END: Final = re.compile(rb"\r\n|\n|\r")


class SseEvent(NamedTuple):
    """One event.

    Args:
        data: Its data lines, joined with newlines.
        event: Its type, or "".
        id: Its id, or "".
    """

    data: str
    event: str = ""
    id: str = ""


class SseError(ValueError):
    """A stream holds an event that is larger than anybody sends on purpose."""


class SseParser:
    """Parses a stream in pieces of any size.

    A piece may end anywhere, also inside a character or between the two bytes of a line end. Bytes
    that are no UTF-8 become replacement characters.

    Args:
        max_event: Bytes of one event at most.
    """

    def __init__(self, *, max_event: int = MAX_EVENT) -> None:
        self._max = max_event
        self._rest = bytearray()
        self._begun = False
        self._data: list[str] = []
        self._event = ""
        self._id = ""
        self._size = 0
        self._scanned = 0

    def feed(self, piece: bytes) -> Iterator[SseEvent]:
        """Take a piece and yield the events that it completes.

        Raises:
            SseError: When an event is too large.
        """
        rest = self._rest
        rest += piece
        if not self._begun:
            if len(rest) < len(_BOM) and _BOM.startswith(bytes(rest)):
                return
            self._begun = True
            if rest.startswith(_BOM):
                del rest[: len(_BOM)]
        start = 0
        for end in _END.finditer(rest, self._scanned):
            if end.end() == len(rest) and end[0] == b"\r":
                break  # perhaps the first half of a line end
            line, start = bytes(rest[start : end.start()]), end.end()
            if line:
                self._take(line)
            elif (event := self._close()) is not None:
                yield event
        del rest[:start]
        self._scanned = max(0, len(rest) - 1)
        if self._size + len(rest) > self._max:
            raise SseError(f"an event of the stream is larger than {self._max} bytes")

    def end(self) -> SseEvent | None:
        """Return the event that the end of the stream completes, if its last line is whole.

        Strictly such an event is dropped; servers that forget the last empty line mean it.
        """
        if self._rest.endswith(b"\r"):
            line = bytes(self._rest[:-1])
            if line:
                self._take(line)
        self._rest.clear()
        return self._close()

    def _take(self, line: bytes) -> None:
        self._size += len(line)
        if line.startswith(b"data:"):
            self._data.append(_value(line[5:]))
        elif line.startswith(b"event:"):
            self._event = _value(line[6:])
        elif line.startswith(b"id:"):
            self._id = _value(line[3:])
        elif line == b"data":
            self._data.append("")

    def _close(self) -> SseEvent | None:
        data, event = self._data, self._event
        self._data, self._event, self._size = [], "", 0
        return SseEvent("\n".join(data), event, self._id) if data else None


def _value(text: bytes) -> str:
    return (text[1:] if text.startswith(b" ") else text).decode("utf-8", "replace")
