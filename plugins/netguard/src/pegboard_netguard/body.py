"""Bodies decoded piece by piece, so that a small one can't become a huge one in memory."""

from __future__ import annotations

import zlib
from typing import Final

_STEP: Final = 65_536
_CODED: Final = {"gzip": 47, "x-gzip": 47, "deflate": 47}
"""Window bits by which zlib takes gzip and zlib headers alike."""
ACCEPTED: Final = "gzip, deflate"


class BodyError(Exception):
    """A body can't be decoded; the message says why."""


class Body:
    """A response body as far as it was kept.

    Args:
        encoding: The header Content-Encoding.
        max_bytes: Decoded bytes to keep.

    Attributes:
        truncated: True when there was more.

    Raises:
        BodyError: When the encoding is not one that was asked for, or there are several.
    """

    def __init__(self, encoding: str, max_bytes: int) -> None:
        self._data = bytearray()
        self._max = max_bytes
        self.truncated = False
        name = encoding.strip().lower()
        if name not in ("", "identity", *_CODED):
            raise BodyError(f"the body is encoded as {encoding!r}, which was not asked for")
        self._decoder = zlib.decompressobj(_CODED[name]) if name in _CODED else None
        self._raw_deflate = name == "deflate"

    def feed(self, data: bytes) -> bool:
        """Take a piece as it came, and return True while more is wanted.

        Raises:
            BodyError: When it is not encoded as was said.
        """
        if self._decoder is None:
            self._keep(data)
            return not self.truncated
        while data and not self.truncated:
            data = self._decode(data)
        return not self.truncated

    @property
    def content(self) -> bytes:
        """What was kept, decoded."""
        return bytes(self._data)

    def _decode(self, data: bytes) -> bytes:
        decoder = self._decoder
        assert decoder is not None
        if decoder.eof:
            return b""  # what follows the end of the stream is padding
        try:
            self._keep(decoder.decompress(data, _STEP))
        except zlib.error as error:
            if self._raw_deflate and not self._data:
                # some servers send deflate without its header
                self._raw_deflate, self._decoder = False, zlib.decompressobj(-15)
                return data
            raise BodyError(f"the body is not encoded as it says: {error}") from error
        return decoder.unconsumed_tail

    def _keep(self, data: bytes) -> None:
        room = self._max - len(self._data)
        self._data += data[:room]
        self.truncated = len(data) > room
