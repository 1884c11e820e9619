"""Response bodies piece by piece, bounded whatever a server sends."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator
from typing import Final

import anyio

from pegboard_provider_http.http import HTTPError, Response

_STEP: Final = 65_536
_ZLIB: Final = frozenset({"gzip", "x-gzip", "deflate"})


class BodyError(ValueError):
    """A body is not what it says, or too long."""


def pieces(response: Response) -> AsyncIterator[bytes]:
    """Return a body decoded, in pieces of at most 64 KiB.

    Providers are asked for plain bodies; a proxy on the way may compress all the same, and the
    client's own decoder would turn one small piece into one of any size.

    Raises:
        BodyError: When it is encoded in a way that nobody asked for, or wrongly.
    """
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding in ("", "identity"):
        return response.aiter_raw()
    if encoding not in _ZLIB:
        raise BodyError(f"the body is encoded as {encoding!r}")
    return _inflated(response)


async def _inflated(response: Response) -> AsyncIterator[bytes]:
    decoder = zlib.decompressobj(47)
    async for piece in response.aiter_raw():
        left, more = piece, True
        while more:
            try:
                decoded = decoder.decompress(left, _STEP)
            except zlib.error as error:
                raise BodyError(f"the body is not encoded as it says: {error}") from error
            if decoded:
                yield decoded
            left = decoder.unconsumed_tail
            # a full step may leave decoded bytes behind although all input is used up
            more = bool(left) or len(decoded) == _STEP


async def whole(response: Response, *, max_bytes: int) -> bytes:
    """Return a body whole.

    Raises:
        BodyError: When it is longer than `max_bytes`, or not what it says.
    """
    data = bytearray()
    async for piece in pieces(response):
        data += piece
        if len(data) > max_bytes:
            raise BodyError(f"the body is longer than {max_bytes} bytes")
    return bytes(data)


async def beginning(response: Response, *, max_bytes: int, within_s: float) -> str:
    """Return the beginning of a body as text, for an error message.

    It never fails: what the status says counts, whatever becomes of the body.

    Args:
        response: The response.
        max_bytes: Where to stop.
        within_s: Seconds to wait for it.
    """
    data = bytearray()
    with anyio.move_on_after(within_s):
        try:
            async for piece in pieces(response):
                data += piece
                if len(data) >= max_bytes:
                    break
        except (BodyError, HTTPError):
            pass  # what arrived is all there is
    return bytes(data[:max_bytes]).decode("utf-8", "replace")
