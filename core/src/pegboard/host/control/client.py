"""The control socket at the other end: requests, and the frames that answer them."""

from __future__ import annotations

import itertools
import math
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from pegboard.contracts.errors import PegboardError, StoreError
from pegboard.host.control.lines import Lines, connect
from pegboard.host.control.peer import is_ours
from pegboard.host.control.place import socket_to_use
from pegboard.host.control.protocol import (
    MAX_FRAME,
    MAX_REQUEST,
    VERSION,
    ProtocolError,
    decoded,
    encoded,
    error_of,
)
from pegboard.store.host_lock import LOCK_NAME, owner_of

ANSWER_S: Final = 10.0
"""Seconds that a host may take for its greeting, or to open its socket."""
_RETRY_S: Final = 0.1


class HostGone(PegboardError):
    """The resident host ended before it answered."""

    code = "host_stopped"

    def __init__(self) -> None:
        super().__init__(
            "The host ended before it answered. What it was told is kept: the next one goes on "
            "with it, and keeps its answer where `pegboard sessions list` shows the conversation.",
            fix="pegboard serve",
        )


Frames = MemoryObjectReceiveStream[Mapping[str, Any]]


class ControlClient:
    """A connection to the host that owns the store. Opened by `connected`.

    Args:
        stream: The socket.

    Attributes:
        greeting: What the host said of itself.
    """

    def __init__(self, stream: Lines) -> None:
        self.greeting: Mapping[str, Any] = {}
        self._stream = stream
        self._ids = itertools.count(1)
        self._takers: dict[int, MemoryObjectSendStream[Mapping[str, Any]]] = {}
        self._sending = anyio.Lock()
        self._gone: PegboardError | None = None

    async def greeted(self) -> None:
        """Read the greeting.

        Raises:
            PegboardError: When the host refuses this client, or speaks another protocol.
        """
        with anyio.move_on_after(ANSWER_S):
            greeting = await self._frame()
            if greeting is None:
                raise HostGone
            if "error" in greeting:
                raise error_of(greeting["error"])
            if greeting.get("protocol") != VERSION:
                raise ProtocolError(
                    f"The running host is Pegboard {greeting.get('pegboard')}, process "
                    f"{greeting.get('pid')}, and speaks another protocol than this command.",
                    fix="end it and start it again with the version that is installed now: "
                    f"kill {greeting.get('pid')}",
                )
            self.greeting = greeting
            return
        raise StoreError(f"The host that owns the store does not answer within {ANSWER_S:g} s.")

    async def call(self, verb: str, **arguments: Any) -> Mapping[str, Any]:
        """Make a request and return what `ok` holds.

        Raises:
            PegboardError: As the host answered, or when it ended.
        """
        async with self.request(verb, **arguments) as frames:
            async for frame in frames:
                ended = answer_in(frame)
                if ended is not None:
                    return ended
        raise self.lost()

    @asynccontextmanager
    async def request(self, verb: str, **arguments: Any) -> AsyncIterator[Frames]:
        """Make a request; yields the frames that answer it.

        Raises:
            PegboardError: When the host ended, or the request is too long.
        """
        sender, frames = anyio.create_memory_object_stream[Mapping[str, Any]](math.inf)
        with sender, frames:
            id = self.reserve(sender)
            try:
                await self.send(id, verb, **arguments)
                yield frames
            finally:
                self.forget(id)

    def reserve(self, taker: MemoryObjectSendStream[Mapping[str, Any]]) -> int:
        """Return the id for a request whose frames `taker` gets."""
        id = next(self._ids)
        self._takers[id] = taker
        return id

    def forget(self, id: int) -> None:
        """Drop what else comes of a request."""
        self._takers.pop(id, None)

    async def send(self, id: int, verb: str, **arguments: Any) -> None:
        """Send a request; an argument that is None is left out.

        Raises:
            PegboardError: When the host ended, or the request is too long.
        """
        if self._gone is not None:
            raise self.lost()
        given = {name: value for name, value in arguments.items() if value is not None}
        line = encoded({"id": id, "verb": verb, **given})
        if len(line) > MAX_REQUEST:
            raise ProtocolError(f"A request can have {MAX_REQUEST // 1_000_000} MB at most.")
        async with self._sending:
            if not await self._stream.send(line):
                raise self.lost()

    async def aclose(self) -> None:
        """Let go of the host."""
        await self._stream.aclose()

    def lost(self) -> PegboardError:
        """Return the error that says why no more answers come."""
        return self._gone or HostGone()

    async def listen(self) -> None:
        """Lead frames to who made their requests, until the host ends."""
        try:
            while (frame := await self._frame()) is not None:
                self._lead(frame)
        except PegboardError as error:
            self._gone = error
        finally:
            self._gone = self._gone or HostGone()
            for taker in self._takers.values():
                taker.close()

    def _lead(self, frame: Mapping[str, Any]) -> None:
        if "id" not in frame and "error" in frame:
            raise error_of(frame["error"])
        taker = self._takers.get(frame.get("id", 0))
        if taker is not None:
            with suppress(anyio.BrokenResourceError):  # nobody waits for it any more
                taker.send_nowait(frame)

    async def _frame(self) -> dict[str, Any] | None:
        """Return the next frame, or None when the host ended."""
        line = await self._stream.read()
        return None if line is None else decoded(line)


def answer_in(frame: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the answer when a frame is the last of its request, else None.

    Raises:
        PegboardError: As the host answered.
    """
    if "error" in frame:
        raise error_of(frame["error"])
    return frame.get("ok")


async def open_client(state: Path) -> ControlClient | None:
    """Connect to the host that owns the store of a folder; None when there is none.

    Raises:
        PegboardError: When it refuses this client, or speaks another protocol.
    """
    path = socket_to_use(state)
    if path is None:
        return None
    try:
        stream = await connect(path, most=MAX_FRAME)
    except OSError:  # it was killed, and left its socket behind
        return None
    if not is_ours(stream.socket):
        await stream.aclose()
        raise StoreError(f"Another user answers at the control socket {path}.", fix=f"rm {path}")
    client = ControlClient(stream)
    try:
        await client.greeted()
    except BaseException:
        await client.aclose()
        raise
    return client


async def reach(state: Path, *, wait_s: float = ANSWER_S) -> ControlClient | None:
    """Connect to the host that owns the store of a folder; None when nobody owns it.

    One that is just starting, or ending, is waited for.

    Args:
        state: The state folder.
        wait_s: Seconds to wait.

    Raises:
        PegboardError: When it refuses this client, or does not answer in time.
    """
    client = await open_client(state)
    with anyio.move_on_after(wait_s):
        while client is None:
            if owner_of(state / LOCK_NAME) is None:
                return None
            await anyio.sleep(_RETRY_S)
            client = await open_client(state)
    if client is not None:
        return client
    pid = owner_of(state / LOCK_NAME)
    raise StoreError(
        f"The host that owns the store, process {pid}, has not answered for {wait_s:g} s.",
        fix=f"pegboard logs; to end it: kill {pid}",
    )


@asynccontextmanager
async def listening(client: ControlClient) -> AsyncIterator[ControlClient]:
    """Use a client that is connected, and let go of the host at the end of the block."""
    failed: BaseException | None = None
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(client.listen)
            try:
                yield client
            except Exception as error:
                failed = error  # raised below as it is, not in a group
            group.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await client.aclose()
    if failed is not None:
        raise failed
