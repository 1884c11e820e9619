"""The one thread that writes to a store, and commits what comes at one time in one group."""

from __future__ import annotations

import asyncio
import logging
import queue
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

from pegboard.contracts.errors import StoreError
from pegboard.store.lock_holder import holder_of
from pegboard.store.migrations import MIGRATIONS, Migration, migrate
from pegboard.store.sqlite import OPEN_BUSY_S, busy, open_for_writing, told

Work = Callable[[sqlite3.Connection], Any]
"""What a request does with the connection, inside a transaction it neither begins nor ends. It may
be called a second time, when the first attempt was undone together with its group."""

MAX_GROUP: Final = 500
_log = logging.getLogger(__name__)


class Request:
    """One piece of work for the writer, and where its outcome goes.

    Args:
        work: What to do.
        settle: Told the result and None, or None and the error.
        loop: The event loop to call `settle` in; None = the writer's thread calls it.
    """

    __slots__ = ("abandoned", "error", "loop", "result", "settle", "work")

    def __init__(
        self,
        work: Work,
        settle: Callable[[Any, BaseException | None], None],
        loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        self.work = work
        self.settle = settle
        self.loop = loop
        self.result: Any = None
        self.error: BaseException | None = None
        self.abandoned = False


class Writer:
    """Runs requests in a thread of its own, in the order in which they come.

    While one group is being written to the disk the next one gathers, so that under load many
    requests share one sync. One that fails is undone alone.

    Args:
        path: The store's file; opened, and migrated, in the thread.
        migrations: The steps to the newest version.

    Attributes:
        ready: True once the file is open and of the newest version.
        groups: How many transactions were begun.
    """

    def __init__(self, path: Path, migrations: Sequence[Migration] = MIGRATIONS) -> None:
        self._path = path
        self._migrations = migrations
        self._requests: deque[Request] = deque()
        # holds one word while there is something to do: waking the thread costs as much as the work
        self._wake: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._ended: StoreError | None = None
        self._closing = False
        self.groups = 0
        self.ready = False
        # a daemon: a host that was not closed must not keep the process from ending
        self._thread = threading.Thread(target=self._run, name="pegboard-store", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """How many requests no group has taken yet."""
        return len(self._requests)

    def put(self, *requests: Request) -> None:
        """Queue requests that came at one time; never blocks.

        Raises:
            StoreError: When the store is closed, or its thread has ended; says why.
        """
        with self._lock:  # so that nothing is queued behind the end
            if self._ended is not None:
                raise self._ended
            if self._closing:
                raise StoreError(f"The store {self._path} is closed.")
            if not self._requests:
                self._wake.put(None)
            self._requests.extend(requests)

    def close(self) -> None:
        """Write what is queued, close the file, end the thread and wait for it."""
        with self._lock:
            first, self._closing = not self._closing, True
            if first and not self._requests:
                self._wake.put(None)
        self._thread.join()

    def _run(self) -> None:
        try:
            with told(self._path):
                connection = self._opened()
                try:
                    self.ready = True
                    self._serve(connection)
                    connection.execute("PRAGMA optimize")
                finally:
                    connection.close()
        except BaseException as error:  # whoever waits must hear of it, whatever it is
            self._end(error)

    def _opened(self) -> sqlite3.Connection:
        """Return the file, opened, of the newest version, and with nobody else writing to it.

        Another process may write for long: a copy of a large store, a check, a host that stands
        still. That is waited for, and after a moment told.
        """
        deadline = time.monotonic() + OPEN_BUSY_S
        heard = False
        while True:
            try:
                return self._open()
            except sqlite3.OperationalError as error:
                if not busy(error) or self._closing or time.monotonic() >= deadline:
                    raise
            if not heard:
                heard = True
                who = holder_of(self._path) or "another process"
                _log.warning("the store is busy: %s is writing to it; waiting for that", who)

    def _open(self) -> sqlite3.Connection:
        connection = open_for_writing(self._path)
        try:
            migrate(connection, self._path, self._migrations)
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")
        except BaseException:
            connection.close()
            raise
        return connection

    def _serve(self, connection: sqlite3.Connection) -> None:
        while (group := self._take()) is not None:
            try:
                self._commit(connection, group)
            except BaseException as error:
                _settle(group, error)
                raise
            _settle(group, None)

    def _take(self) -> list[Request] | None:
        """Wait for requests and return all that came meanwhile; None at the end."""
        self._wake.get()
        with self._lock:
            count = min(len(self._requests), MAX_GROUP)
            taken = [self._requests.popleft() for _ in range(count)]
            if self._requests or self._closing:
                self._wake.put(None)
        if not taken:  # only closing wakes the thread for nothing
            return None
        return [request for request in taken if not request.abandoned]

    def _commit(self, connection: sqlite3.Connection, group: Sequence[Request]) -> None:
        """Run a group in one transaction.

        Where something of it fails it is undone and run again with a savepoint for each request,
        and where that fails as a whole each request gets a transaction of its own. Savepoints cost
        a third of the time, and nearly no request fails.
        """
        if not group:
            return
        self.groups += 1
        for run in (_run_bare, _run_apart):
            try:
                connection.execute("BEGIN IMMEDIATE")
            except sqlite3.Error as error:  # busy for too long: alone, each would wait as long
                for request in group:
                    request.error = error
                return
            try:
                run(connection, group)
                connection.execute("COMMIT")
                return
            except (sqlite3.Error, _GroupUndone) as error:
                failure: Exception = error
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
        if len(group) == 1:
            group[0].error = _cause(group[0], failure)
            return
        for request in group:
            request.result = request.error = None
            self._commit(connection, (request,))

    def _end(self, error: BaseException) -> None:
        """Report the end of the thread to everybody who waits, and to all who come later."""
        ended = error if isinstance(error, StoreError) else _crashed(self._path, error)
        with self._lock:
            self._ended = ended
            left = list(self._requests)
            self._requests.clear()
        _settle(left, ended)


class _GroupUndone(Exception):
    """The whole transaction is undone, or has to be: a request failed, or the disk is full."""


def _run_bare(connection: sqlite3.Connection, group: Iterable[Request]) -> None:
    for request in group:
        try:
            request.result = request.work(connection)
        except BaseException as error:
            raise _GroupUndone from error
        if not connection.in_transaction:
            raise _GroupUndone


def _run_apart(connection: sqlite3.Connection, group: Iterable[Request]) -> None:
    for request in group:
        request.result = request.error = None
        _run_one(connection, request)


def _run_one(connection: sqlite3.Connection, request: Request) -> None:
    connection.execute("SAVEPOINT request")
    try:
        request.result = request.work(connection)
    except BaseException as error:
        request.error = error
        if not connection.in_transaction:
            raise _GroupUndone from error
        connection.execute("ROLLBACK TO request")
    if not connection.in_transaction:
        request.error = StoreError("A request to the store ended the transaction it was part of.")
        raise _GroupUndone
    connection.execute("RELEASE request")


def _cause(request: Request, error: Exception) -> BaseException:
    """Return what to tell a request that failed alone: its own error before the transaction's."""
    if isinstance(error, _GroupUndone) and request.error is not None:
        return request.error
    return error


def _crashed(path: Path, error: BaseException) -> StoreError:
    made = StoreError(
        f"Writing to the store {path} ended: {type(error).__name__}: {error}",
        fix="start Pegboard again",
    )
    made.__cause__ = error
    return made


def _settle(group: Iterable[Request], error: BaseException | None) -> None:
    """Tell each request its outcome; a loop is woken once for all of its own.

    Woken for each, it would go on with the first while the others are still being told, and what
    comes back would be written in groups as small as that.
    """
    told: dict[asyncio.AbstractEventLoop, list[Callable[[], None]]] = {}
    for request in group:
        failure = error or request.error
        tell = partial(request.settle, None if failure else request.result, failure)
        if request.loop is None:
            tell()
        else:
            told.setdefault(request.loop, []).append(tell)
    for loop, calls in told.items():
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(_call, calls)


def _call(calls: Iterable[Callable[[], None]]) -> None:
    for call in calls:
        call()


def into_future(future: asyncio.Future[Any]) -> Callable[[Any, BaseException | None], None]:
    """Return what hands an outcome to a future, in its event loop."""

    def settle(result: Any, error: BaseException | None) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)

    return settle
