"""One client of the control socket, at the host's end."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeVar

import anyio
import anyio.abc

from pegboard.config.nearest import did_you_mean
from pegboard.contracts.errors import PegboardError, UsageError
from pegboard.host.control.lines import Lines
from pegboard.host.control.protocol import (
    ProtocolError,
    decoded,
    encoded,
    error_form,
)

MAX_CALLS: Final = 32
"""Requests of one client that may be answered at the same time."""
LAG_BYTES: Final = 4_000_000
"""Bytes that may wait for a client to read them before events for it are dropped."""
CALM_BYTES: Final = 256_000
"""Bytes that may wait when a reader of the event log is given more."""
MOST_BYTES: Final = 300_000_000
"""Bytes that may wait at all; a client that reads nothing is let go then."""
_LOOK_S: Final = 0.01
_WRITE_BYTES: Final = 1_000_000
_log = logging.getLogger("pegboard.host.control")
T = TypeVar("T")

Verb = Callable[["Call"], Awaitable[Mapping[str, Any]]]
"""Answers a request: returns what `ok` holds, or raises."""


class Call:
    """One request.

    Args:
        connection: The client.
        id: The client's number of it.
        given: The request.

    Attributes:
        on_cancel: What to do when the client gives up; None = the verb is cancelled.
        endless: True when it is answered until the client goes.
    """

    def __init__(self, connection: Connection, id: int, given: Mapping[str, Any]) -> None:
        self.connection = connection
        self.id = id
        self.on_cancel: Callable[[], None] | None = None
        self.endless = False
        self._given = given

    def put(self, frame: Mapping[str, Any], *, droppable: bool = False) -> None:
        """Send a frame that belongs to this request.

        Args:
            frame: What to send.
            droppable: True when it may be left out for a client that does not keep up.
        """
        self.connection.put({"id": self.id, **frame}, droppable=droppable, of=self.id)

    def text(self, name: str, default: str | None = None) -> str:
        """Return an argument that is a text.

        Raises:
            UsageError: When it is none, or is missing and has no default.
        """
        return self._argument(name, str, default, "a text")

    def flag(self, name: str, default: bool = False) -> bool:
        """Return an argument that is true or false."""
        return self._argument(name, bool, default, "true or false")

    def number(self, name: str, default: int | None = None) -> int | None:
        """Return an argument that is a whole number from 0 on, or None."""
        value = self._given.get(name)
        if value is None:
            return default
        if type(value) is not int or not 0 <= value < 1 << 53:
            raise UsageError(f"{name} has to be a whole number from 0 on.")
        return value

    def texts(self, name: str) -> tuple[str, ...] | None:
        """Return an argument that is a list of texts; None when it is not given."""
        value = self._given.get(name)
        if value is None:
            return None
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise UsageError(f"{name} has to be a list of texts.")
        return tuple(value)

    def value(self, name: str) -> Any:
        """Return an argument of any JSON type, or None."""
        return self._given.get(name)

    def _argument(self, name: str, kind: type[T], default: T | None, what: str) -> T:
        value = self._given.get(name)
        if value is None and default is not None:
            return default
        if not isinstance(value, kind):
            raise UsageError(f"{name} has to be {what}.")
        return value


class Connection:
    """Reads requests, has them answered side by side, and writes frames in order.

    Args:
        stream: The client.
        verbs: What can be asked for.
        greeting: The first line.
    """

    def __init__(
        self,
        stream: Lines,
        verbs: Mapping[str, Verb],
        greeting: Mapping[str, Any],
    ) -> None:
        self._stream = stream
        self._verbs = verbs
        self._calls: dict[int, tuple[Call, anyio.CancelScope]] = {}
        self._waiting: deque[bytes] = deque([encoded(greeting)])
        self._bytes = len(self._waiting[0])
        self._lost: dict[int, int] = {}
        self._more = anyio.Event()
        self._less = anyio.Event()
        self._ending = False
        self._group: anyio.abc.TaskGroup | None = None

    @property
    def working(self) -> bool:
        """True while a request that has an end is not answered."""
        return any(not call.endless for call, _ in self._calls.values())

    async def run(self) -> None:
        """Serve the client until it goes away, or is let go."""
        async with anyio.create_task_group() as self._group:
            self._group.start_soon(self._write)
            try:
                await self._read(self._group)
            except ProtocolError as error:
                self.put({"error": error_form(error)})
                await self._written()
            self._group.cancel_scope.cancel()

    async def close(self) -> None:
        """Answer and write what is about to be, for a second at most, and let the client go."""
        with anyio.move_on_after(1):
            while self.working:
                await anyio.sleep(_LOOK_S)
            await self._written()
        if self._group is not None:
            self._group.cancel_scope.cancel()

    def put(self, frame: Mapping[str, Any], *, droppable: bool = False, of: int = 0) -> None:
        """Queue a frame; returns at once.

        Args:
            frame: What to send.
            droppable: True when it may be left out for a client that does not keep up; it is told
                how many were.
            of: The request that it belongs to.
        """
        if self._ending:
            return
        if droppable and self._bytes > LAG_BYTES:
            self._lost[of] = self._lost.get(of, 0) + 1
            return
        if of in self._lost:
            self._queue(encoded({"id": of, "lost": self._lost.pop(of)}))
        self._queue(encoded(frame))
        if self._bytes > MOST_BYTES:
            _log.warning("a client of the control socket reads nothing and is let go")
            self._ending = True
            if self._group is not None:
                self._group.cancel_scope.cancel()

    async def calm(self) -> None:
        """Wait until the client has read nearly all that was sent to it."""
        while self._bytes > CALM_BYTES:
            await self._less.wait()

    async def _read(self, group: anyio.abc.TaskGroup) -> None:
        while (line := await self._stream.read()) is not None:
            if line.strip():
                self._take(decoded(line), group)

    def _take(self, given: Mapping[str, Any], group: anyio.abc.TaskGroup) -> None:
        id, verb = given.get("id"), given.get("verb")
        if type(id) is not int or not 0 < id < 1 << 53:
            raise ProtocolError("A request without an id, which is a whole number from 1 on.")
        call = Call(self, id, given)
        try:
            if id in self._calls:
                raise ProtocolError(f"The request {id} is not answered yet.")
            if verb == "cancel":
                self._cancel(call)
                return
            answer = self._verbs.get(verb) if isinstance(verb, str) else None
            if answer is None:
                names = ("cancel", *self._verbs)
                raise UsageError(f"There is no verb {verb!r}{did_you_mean(str(verb), names)}")
            if len(self._calls) >= MAX_CALLS:
                raise UsageError(f"{MAX_CALLS} requests wait for their answers already.")
        except PegboardError as error:
            call.put({"error": error_form(error)})
            return
        scope = anyio.CancelScope()
        self._calls[id] = (call, scope)
        group.start_soon(self._answer, call, answer, scope)

    def _cancel(self, call: Call) -> None:
        other, scope = self._calls.get(call.number("of") or 0, (None, None))
        if other is not None and other.on_cancel is not None:
            other.on_cancel()
        elif scope is not None:
            scope.cancel()
        call.put({"ok": {"found": other is not None}})

    async def _answer(self, call: Call, answer: Verb, scope: anyio.CancelScope) -> None:
        last: Mapping[str, Any] = {
            "error": {"code": "cancelled", "message": "The request was cancelled.", "fix": None}
        }
        try:
            with scope:
                last = {"ok": await answer(call)}
        except PegboardError as error:
            last = {"error": error_form(error)}
        except Exception as error:
            _log.exception("a request through the control socket failed")
            fault = {"code": "internal", "message": f"Pegboard itself failed: {error!r}"}
            last = {"error": {**fault, "fix": "pegboard logs --level error", "exit_code": 1}}
        finally:
            del self._calls[call.id]
        call.put(last)

    def _queue(self, line: bytes) -> None:
        self._waiting.append(line)
        self._bytes += len(line)
        self._more.set()

    async def _write(self) -> None:
        while True:
            while self._waiting:
                piece = self._next()
                if not await self._stream.send(piece):
                    self._ending = True  # what reads finds out as well
                    return
                self._bytes -= len(piece)
                less, self._less = self._less, anyio.Event()
                less.set()
            self._more = anyio.Event()
            await self._more.wait()

    def _next(self) -> bytes:
        """Return lines together: many small ones are one write."""
        taken: list[bytes] = []
        size = 0
        while self._waiting and size < _WRITE_BYTES:
            taken.append(self._waiting.popleft())
            size += len(taken[-1])
        return b"".join(taken)

    async def _written(self) -> None:
        while self._bytes > 0 and not self._ending:
            await self._less.wait()
