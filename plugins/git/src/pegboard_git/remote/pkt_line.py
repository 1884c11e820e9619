"""The lines that git's protocols are made of: four hexadecimal digits of length, then the data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

FLUSH: Final = b"0000"
_HEAD: Final = 4


class ProtocolError(Exception):
    """A server said what the protocol does not know; the message says what."""


def packet(data: bytes) -> bytes:
    """Return data as one line."""
    return b"%04x%s" % (len(data) + _HEAD, data)


def packets(data: bytes) -> Iterator[bytes | None]:
    """Yield the lines of an answer; None stands for the end of a section.

    Raises:
        ProtocolError: When the data is cut, or is something else.
    """
    at = 0
    while at < len(data):
        length = read_length(data[at : at + _HEAD])
        if length < _HEAD:
            yield None
            at += _HEAD
            continue
        line = data[at + _HEAD : at + length]
        if len(line) != length - _HEAD:
            raise ProtocolError("the answer ends in the middle")
        yield line
        at += length


def read_length(head: bytes) -> int:
    """Return the length that the first four bytes of a line tell, themselves included.

    Raises:
        ProtocolError: When they are no number.
    """
    try:
        if len(head) != _HEAD or not head.isalnum():
            raise ValueError
        return int(head, 16)
    except ValueError:
        raise ProtocolError("the answer is not git's protocol") from None
