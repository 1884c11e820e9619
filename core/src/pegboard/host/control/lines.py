"""A Unix socket as a stream of lines.

Over asyncio's own streams: those of anyio (4.16) let a callback of the event loop fail when a wait
is cancelled at the very moment at which data comes, and the loop then prints a traceback.
"""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from pathlib import Path
from typing import Final

import anyio

from pegboard.host.control.protocol import ProtocolError

CLOSE_S: Final = 1.0


class Lines:
    """One end of a connection.

    Args:
        reader: What comes in; its limit is that of a line.
        writer: What goes out.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @property
    def socket(self) -> socket.socket:
        """The socket, to ask who is at the other end."""
        own: socket.socket = self._writer.get_extra_info("socket")
        return own

    async def read(self) -> bytes | None:
        """Return the next line; None when the other end is gone.

        Raises:
            ProtocolError: When a line is too long.
        """
        try:
            return await self._reader.readuntil(b"\n")
        except asyncio.LimitOverrunError as error:
            raise ProtocolError(f"A line of more than {error.consumed:,} bytes.") from error
        except (asyncio.IncompleteReadError, OSError):
            return None

    async def send(self, data: bytes) -> bool:
        """Send some lines, and wait until the other end takes them; False when it is gone."""
        try:
            self._writer.write(data)
            await self._writer.drain()
        except OSError:
            return False
        return True

    async def aclose(self) -> None:
        """Close the connection; what was sent has a second to get out."""
        self._writer.close()
        with anyio.move_on_after(CLOSE_S), suppress(OSError):
            await self._writer.wait_closed()
        self._writer.transport.abort()


async def connect(path: Path, *, most: int) -> Lines:
    """Connect to a socket.

    Args:
        path: The socket.
        most: Bytes of a line.

    Raises:
        OSError: When nobody listens there.
    """
    return Lines(*await asyncio.open_unix_connection(str(path), limit=most))
