"""The one thread that writes to a store, and commits what comes at one time in one group."""

from __future__ import annotations

import asyncio
import queue
import sqlite3
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from pegboard.contracts.errors import StoreError
from pegboard.store.migrations import MIGRATIONS, Migration, migrate
from pegboard.store.sqlite import open_for_writing, told

Work = Callable[[sqlite3.Connection], Any]
"""What a request does with the connection, inside a transaction it neither begins nor ends. It may
be called a second time, when the first attempt was undone together with its group."""

MAX_GROUP: Final = 500


class Request:
    """One piece of work for the writer, and where its outcome goes.

    Args:
        work: What to do.
        settle: Told the result and None, or None and the error. Called in the writer's thread.
    """

    __slots__ = ("abandoned", "error", "result", "settle", "work")

    def __init__(self, work: Work, settle: Callable[[Any, BaseException | None], None]) -> None:
        self.work = work
        self.settle = settle
        self.result: Any = None
        self.error: BaseException | None = None
        self.abandoned = False


class Writer:
    """Runs requests in a thread of its own, in the order in which they come.

    While one group is being written to the disk the next one gathers, so that under load many
    requests share one sync. Each has a savepoint: one that fails is undone alone.

    Args:
        path: The store's file; opened, and migrated, in the thread.
        migrations: The steps to the newest version.
    """

    def __init__(self, path: Path, migrations: Sequence[Migration] = MIGRATIONS) -> None:
        self._path = path
        self._migrations = migrations
        self._queue: queue.SimpleQueue[Request | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._ended: StoreError | None = None
        self._closing = False
        self.groups = 0
        # a daemon: a host that was not closed must not keep the process from ending
        self._thread = threading.Thread(target=self._run, name="pegboard-store", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """How many requests no group has taken yet."""
        return self._queue.qsize()

    def put(self, request: Request) -> None:
        """Queue a request; never blocks.

        Raises:
            StoreError: When the store is closed, or its thread has ended; says why.
        """
        with self._lock:  # so that nothing is queued behind the end
            if self._ended is not None:
                raise self._ended
            if self._closing:
                raise StoreError(f"The store {self._path} is closed.")
            self._queue.put(request)

    def close(self) -> None:
        """Write what is queued, close the file, end the thread and wait for it."""
        with self._lock:
            first, self._closing = not self._closing, True
            if first:
                self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        try:
            with told(self._path):
                connection = open_for_writing(self._path)
                try:
                    migrate(connection, self._path, self._migrations)
                    self._serve(connection)
                    connection.execute("PRAGMA optimize")
                finally:
                    connection.close()
        except BaseException as error:  # whoever waits must hear of it, whatever it is
            self._end(error)

    def _serve(self, connection: sqlite3.Connection) -> None:
        while (group := self._take()) is not None:
            try:
                self._commit(connection, group)
            except BaseException as error:
                _settle(group, error)
                raise
            _settle(group, None)

    def _take(self) -> list[Request] | None:
        """Wait for a request and return it with all that came meanwhile; None at the end."""
        group: list[Request] = []
        item = self._queue.get()
        while item is not None:
            if not item.abandoned:
                group.append(item)
            if len(group) == MAX_GROUP:
                return group
            try:
                item = self._queue.get_nowait()
            except queue.Empty:
                return group
        if group:
            self._queue.put(None)  # nothing can be behind it: found again in the next round
            return group
        return None

    def _commit(self, connection: sqlite3.Connection, group: Sequence[Request]) -> None:
        """Run a group in one transaction; where that fails as a whole, each in its own."""
        if not group:
            return
        self.groups += 1
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as error:  # busy for too long: alone, each would wait as long again
            for request in group:
                request.error = error
            return
        try:
            for request in group:
                _run_one(connection, request)
            connection.execute("COMMIT")
            return
        except (sqlite3.Error, _GroupUndone) as error:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            if len(group) == 1:
                group[0].error = _cause(group[0], error)
                return
        for request in group:
            request.result = request.error = None
            self._commit(connection, (request,))

    def _end(self, error: BaseException) -> None:
        """Report the end of the thread to everybody who waits, and to all who come later."""
        ended = error if isinstance(error, StoreError) else _crashed(self._path, error)
        with self._lock:
            self._ended = ended
        left = []
        while not self._queue.empty():
            item = self._queue.get()
            if item is not None:
                left.append(item)
        _settle(left, ended)


class _GroupUndone(Exception):
    """SQLite rolled the whole transaction back, as it does when the disk is full."""


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
    for request in group:
        failure = error or request.error
        request.settle(None if failure else request.result, failure)


def into_future(
    loop: asyncio.AbstractEventLoop, future: asyncio.Future[Any]
) -> Callable[[Any, BaseException | None], None]:
    """Return what hands an outcome to a future of an event loop, from any thread."""

    def set_outcome(result: Any, error: BaseException | None) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)

    def settle(result: Any, error: BaseException | None) -> None:
        try:
            loop.call_soon_threadsafe(set_outcome, result, error)
        except RuntimeError:  # the loop is closed: nobody waits any more
            return

    return settle
