"""Server-sent events, parsed as bytes arrive: whatever the cuts, the events are the same."""

from __future__ import annotations

import json
from typing import Final, NamedTuple

MAX_EVENT: Final = 67_108_864
"""Bytes of one event: the last event of a long answer repeats all of it."""
_BOM: Final = b"\xef\xbb\xbf"


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
        self._begun = False
        self._after_cr = False
        self._line: list[bytes] = []
        self._data: list[str] = []
        self._event = ""
        self._id = ""
        self._size = 0
        self._held = 0

    def feed(self, piece: bytes) -> list[SseEvent]:
        """Take a piece and return the events that it completes.

        Raises:
            SseError: When an event is too large.
        """
        if not self._begun:
            piece = self._without_bom(piece)
        if self._after_cr or b"\r" in piece:
            piece = self._with_plain_ends(piece)
        first, *more = piece.split(b"\n")
        if first:
            self._line.append(first)
            self._held += len(first)
        found: list[SseEvent] = []
        if more:
            self._lines([b"".join(self._line), *more], found)
        if self._size + self._held > self._max:
            raise SseError(f"an event of the stream is larger than {self._max} bytes")
        return found

    def end(self) -> SseEvent | None:
        """Return the event that the end of the stream completes, if its last line is whole.

        Strictly such an event is dropped; servers that forget the last empty line mean it. Of a
        line without an end only an object can be seen to be whole.
        """
        line = b"".join(self._line)
        self._line.clear()
        if line.startswith(b"data:") and _is_object(_value(line, 5)):
            self._take(line)
        return self._close() if self._data else None

    def _lines(self, lines: list[bytes], found: list[SseEvent]) -> None:
        """Take whole lines and the beginning of the next one, which may be empty."""
        last = lines.pop()
        self._line, self._held = ([last], len(last)) if last else ([], 0)
        for line in lines:
            if line:
                self._take(line)
                continue
            if self._data:
                found.append(self._close())
            self._event, self._size = "", 0

    def _without_bom(self, piece: bytes) -> bytes:
        """Return what has come so far without the mark that some servers begin with."""
        whole = b"".join([*self._line, piece])
        self._line = []
        if len(whole) < len(_BOM) and _BOM.startswith(whole):
            self._line = [whole]
            return b""
        self._begun = True
        return whole.removeprefix(_BOM)

    def _with_plain_ends(self, piece: bytes) -> bytes:
        if self._after_cr and piece:
            piece = piece.removeprefix(b"\n")  # the second half of a line end
            self._after_cr = False
        if piece:
            self._after_cr = piece.endswith(b"\r")
        return piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _take(self, line: bytes) -> None:
        self._size += len(line)
        if line.startswith(b"data:"):
            self._data.append(_value(line, 5))
        elif line.startswith(b"event:"):
            self._event = _value(line, 6)
        elif line.startswith(b"id:"):
            self._id = _value(line, 3)
        elif line == b"data":
            self._data.append("")

    def _close(self) -> SseEvent:
        data = self._data
        text = data[0] if len(data) == 1 else "\n".join(data)
        made = SseEvent(text, self._event, self._id)
        self._data = []
        return made


def _is_object(text: str) -> bool:
    if not text.rstrip().endswith("}"):
        return False
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _value(line: bytes, start: int) -> str:
    if line[start : start + 1] == b" ":
        start += 1
    return line[start:].decode("utf-8", "replace")
