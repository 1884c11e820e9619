"""A proxy for programs in a sandbox: the only way out, to the hosts that were allowed."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from typing import Final

from pegboard_netguard.addresses import parse
from pegboard_netguard.lookup import resolve
from pegboard_netguard.names import canonical_host
from pegboard_netguard.request_head import BadRequest, RequestHead, parse_head
from pegboard_netguard.rules import Blocked, Rules
from pegboard_netguard.tls_hello import RECORD_HEAD, NoHello, record_length, server_name

_log = logging.getLogger(__name__)
MAX_HEAD: Final = 65_536
HEAD_S: Final = 30.0
"""Seconds in which a client must have said what it wants."""
MAX_CLIENTS: Final = 64
"""Connections at a time; further ones wait. A program inside can't use up the host's descriptors
by opening more."""
_PIECE: Final = 65_536
_GONE: Final = (OSError, EOFError, asyncio.LimitOverrunError, TimeoutError)
_AGAIN_S: Final = 0.1


class GuardProxy:
    """Passes plain HTTP requests on, and tunnels TLS whose server name is the asked host.

    Args:
        rules: What may be reached.
        refused: Told why each request was refused.
    """

    def __init__(self, rules: Rules, *, refused: Callable[[str], None] | None = None) -> None:
        self._rules = rules
        self._refused = refused or _ignore

    async def serve(self, listener: socket.socket) -> None:
        """Answer clients of a listening socket until cancelled; the socket is closed then."""
        free = asyncio.Semaphore(MAX_CLIENTS)
        with closing(listener):
            async with asyncio.TaskGroup() as clients:
                while True:
                    await free.acquire()
                    connection = await _accepted(listener)
                    task = clients.create_task(self._client(connection))
                    task.add_done_callback(lambda _: free.release())

    async def _client(self, connection: socket.socket) -> None:
        try:
            reader, writer = await asyncio.open_connection(sock=connection, limit=MAX_HEAD)
        except OSError:
            return connection.close()
        try:
            await self._answer(reader, writer)
            writer.close()
            await writer.wait_closed()
        except* _GONE:
            pass  # the client, or the server it talks to, went away
        except* Exception:  # in the group of all clients it would end every other one
            _log.exception("the proxy failed at one client")
        finally:
            writer.transport.abort()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(HEAD_S):
                head = parse_head(await reader.readuntil(b"\r\n\r\n"))
            addresses = await resolve(head.host, head.port, self._rules)
        except BadRequest as error:
            return await self._refuse(writer, 400, "Bad Request", str(error))
        except Blocked as error:
            return await self._refuse(writer, 403, "Forbidden", str(error))
        except (OSError, TimeoutError):
            return await self._refuse(writer, 502, "Bad Gateway", "the host has no address")
        upstream = await self._connect(addresses, head.port)
        if upstream is None:
            return await self._refuse(writer, 502, "Bad Gateway", "the host does not answer")
        try:
            await self._pass(head, reader, writer, *upstream)
        finally:
            upstream[1].close()

    async def _pass(
        self,
        head: RequestHead,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        from_host: asyncio.StreamReader,
        to_host: asyncio.StreamWriter,
    ) -> None:
        if not head.tunnel:
            to_host.write(head.forward)
            # exactly one request: what else a client sends could name another host
            await _copy(reader, to_host, limit=head.body)
            await _copy(from_host, writer)
            return
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        await writer.drain()
        try:
            async with asyncio.timeout(HEAD_S):
                to_host.write(await _greeting(reader, head.host))
        except NoHello as error:
            self._refused(f"blocked: {head.host}:{head.port}: {error}")
            return
        await _both_ways((reader, to_host), (from_host, writer))

    async def _connect(
        self, addresses: Sequence[str], port: int
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        for address in addresses:
            with suppress(OSError, TimeoutError):
                async with asyncio.timeout(self._rules.connect_s):
                    return await asyncio.open_connection(address, port)
        return None

    async def _refuse(
        self, writer: asyncio.StreamWriter, status: int, phrase: str, reason: str
    ) -> None:
        self._refused(reason)
        text = f"{reason}\n".encode()
        head = (
            f"HTTP/1.1 {status} {phrase}\r\nContent-Type: text/plain; charset=utf-8\r\n"
            f"Content-Length: {len(text)}\r\nConnection: close\r\n\r\n"
        )
        writer.write(head.encode() + text)
        await writer.drain()


async def _accepted(listener: socket.socket) -> socket.socket:
    """Return the next client."""
    loop = asyncio.get_running_loop()
    while True:
        try:
            return (await loop.sock_accept(listener))[0]
        except OSError:  # it went away at once, or this process has no descriptor left for it
            await asyncio.sleep(_AGAIN_S)


async def _greeting(reader: asyncio.StreamReader, host: str) -> bytes:
    """Return the client's first TLS record, whose server name is the host that it asked for.

    Raises:
        NoHello: When it is something else.
    """
    head = await reader.readexactly(RECORD_HEAD)
    record = await reader.readexactly(record_length(head))
    asked = server_name(record)
    try:
        same = canonical_host(asked) == canonical_host(host)
    except ValueError:
        same = not asked and parse(host) is not None  # an address has no server name
    if not same:
        raise NoHello(f"the TLS client asks for the server {asked!r}")
    return head + record


async def _both_ways(
    out: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    back: tuple[asyncio.StreamReader, asyncio.StreamWriter],
) -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(_copy(*out))
        group.create_task(_copy(*back))


async def _copy(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, limit: int | None = None
) -> None:
    left = limit
    while left != 0:
        data = await reader.read(_PIECE if left is None else min(_PIECE, left))
        if not data:
            break
        left = None if left is None else left - len(data)
        writer.write(data)
        await writer.drain()
    if limit is None and writer.can_write_eof():
        writer.write_eof()
    else:
        await writer.drain()


def _ignore(reason: str) -> None:
    """Take the reason of a refusal that nobody asked for."""
