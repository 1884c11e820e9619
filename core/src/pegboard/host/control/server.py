"""The control socket at the host's end: accepts this user's programs, and nobody else's."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final

import anyio

from pegboard._version import __version__
from pegboard.contracts.errors import StoreError
from pegboard.host.control.connection import Connection, Verb
from pegboard.host.control.lines import Lines
from pegboard.host.control.peer import is_ours, peer_uid
from pegboard.host.control.place import socket_to_make
from pegboard.host.control.protocol import MAX_REQUEST, VERSION, encoded

MAX_CLIENTS: Final = 128
"""Clients at a time; who comes later is told so and let go."""
_MODE: Final = 0o600
_LOOK_S: Final = 0.05
_log = logging.getLogger("pegboard.host.control")


class ControlServer:
    """Answers clients for as long as `serving` is entered.

    Args:
        state: The state folder, whose lock this host holds.
        verbs: What can be asked for.
        run: Id of this host's run, other for each.

    Attributes:
        path: The socket, once it is open.
    """

    def __init__(self, state: Path, verbs: Mapping[str, Verb], *, run: str) -> None:
        self.path: Path | None = None
        self._state = state
        self._verbs = verbs
        self._greeting = {
            "pegboard": __version__,
            "protocol": VERSION,
            "pid": os.getpid(),
            "run": run,
        }
        self._clients: set[Connection] = set()

    @property
    def run(self) -> str:
        """Id of this host's run."""
        return str(self._greeting["run"])

    @property
    def clients(self) -> int:
        """How many clients there are."""
        return len(self._clients)

    async def idle(self) -> None:
        """Wait until every request is answered but those that have no end."""
        while any(client.working for client in self._clients):
            await anyio.sleep(_LOOK_S)

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """Open the socket, answer clients in the block, and let them go at its end.

        Raises:
            StoreError: When the socket can't be opened.
        """
        own = self._open()
        try:
            async with anyio.create_task_group() as group:

                def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                    group.start_soon(self._client, Lines(reader, writer))

                listening = await asyncio.start_unix_server(take, sock=own, limit=MAX_REQUEST)
                try:
                    yield
                finally:
                    listening.close()
                    with anyio.CancelScope(shield=True):
                        await self._let_go()
                    group.cancel_scope.cancel()
        finally:
            own.close()
            if self.path is not None:
                with suppress(OSError):
                    self.path.unlink()

    def _open(self) -> socket.socket:
        """Return the socket, bound to its place."""
        path = socket_to_make(self._state)
        own = socket.socket(socket.AF_UNIX)
        try:
            # what lies there is of a host that was killed: this one holds the lock
            path.unlink(missing_ok=True)
            own.bind(str(path))
            # nobody else can enter the folder, so it is safe before this as well
            path.chmod(_MODE)
        except OSError as error:
            own.close()
            raise StoreError(
                f"The control socket {path} can't be opened: {error.strerror}.",
                fix=f"ls -la {path.parent}",
            ) from error
        self.path = path
        return own

    async def _client(self, stream: Lines) -> None:
        try:
            if not is_ours(stream.socket):
                _log.warning("a process of user %s was refused", peer_uid(stream.socket))
                await self._refuse(stream, "refused", "This host belongs to another user.")
            elif len(self._clients) >= MAX_CLIENTS:
                await self._refuse(stream, "busy", f"{MAX_CLIENTS} clients are connected already.")
            else:
                await self._serve(Connection(stream, self._verbs, self._greeting))
        finally:
            with anyio.CancelScope(shield=True):
                await stream.aclose()

    async def _serve(self, client: Connection) -> None:
        self._clients.add(client)
        try:
            await client.run()
        except Exception:  # whatever a client does must not end the host
            _log.exception("a client of the control socket was let go")
        finally:
            self._clients.discard(client)

    async def _refuse(self, stream: Lines, code: str, why: str) -> None:
        form: dict[str, Any] = {"code": code, "message": why, "fix": None, "exit_code": 1}
        with anyio.move_on_after(1):
            await stream.send(encoded({"error": form}))

    async def _let_go(self) -> None:
        async with anyio.create_task_group() as group:
            for client in tuple(self._clients):
                group.start_soon(client.close)
