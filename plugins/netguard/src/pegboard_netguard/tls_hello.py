"""The name that a TLS client asks for, read from its first message."""

from __future__ import annotations

from typing import Final

_HANDSHAKE: Final = 22
_CLIENT_HELLO: Final = 1
_SERVER_NAME: Final = 0
_HOST_NAME: Final = 0
RECORD_HEAD: Final = 5
MAX_RECORD: Final = 16_384


class NoHello(Exception):
    """What came is not the beginning of a TLS connection."""


def record_length(head: bytes) -> int:
    """Return the length of a TLS record that begins a handshake.

    Args:
        head: Its first five bytes.

    Raises:
        NoHello: When it is none.
    """
    length = int.from_bytes(head[3:5], "big")
    if len(head) < RECORD_HEAD or head[0] != _HANDSHAKE or head[1] != 3:
        raise NoHello("the connection does not begin with TLS")
    if not 0 < length <= MAX_RECORD:
        raise NoHello("the first TLS record has an impossible length")
    return length


def server_name(record: bytes) -> str:
    """Return the server name of a ClientHello, or "" when it names none.

    Args:
        record: The body of the first record, whole.

    Raises:
        NoHello: When it is no whole ClientHello.
    """
    reader = _Reader(record)
    if reader.number(1) != _CLIENT_HELLO:
        raise NoHello("the first TLS message is no ClientHello")
    hello = _Reader(reader.block(3))
    hello.take(2 + 32)  # version and random
    hello.block(1)  # session
    hello.block(2)  # cipher suites
    hello.block(1)  # compressions
    if hello.done:
        return ""
    extensions = _Reader(hello.block(2))
    names: list[bytes] = []
    while not extensions.done:
        kind, value = extensions.number(2), extensions.block(2)
        if kind == _SERVER_NAME:
            listed = _Reader(_Reader(value).block(2))
            while not listed.done:
                if listed.number(1) == _HOST_NAME:
                    names.append(listed.block(2))
                else:
                    listed.block(2)
    if len(names) > 1:
        raise NoHello("the ClientHello names several servers")
    return names[0].decode("ascii", "replace") if names else ""


class _Reader:
    """Reads lengths and what follows them; never past the end."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def done(self) -> bool:
        return self._at >= len(self._data)

    def take(self, count: int) -> bytes:
        end = self._at + count
        if end > len(self._data):
            raise NoHello("the ClientHello is cut off")
        taken, self._at = self._data[self._at : end], end
        return taken

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "big")

    def block(self, size: int) -> bytes:
        return self.take(self.number(size))
