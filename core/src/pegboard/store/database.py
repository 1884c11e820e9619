"""The store as the host uses it: `await store.write(...)`, and `await store.read(...)`."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, TypeVar

import anyio
import anyio.to_thread

from pegboard.contracts.errors import StoreError
from pegboard.store.host_lock import LOCK_NAME, HostLock
from pegboard.store.migrations import MIGRATIONS, Migration
from pegboard.store.sqlite import FILE_NAME, open_for_reading, told
from pegboard.store.writer import Request, Writer, into_future

T = TypeVar("T")

MAX_WAITING: Final = 2_000
"""Requests that wait at once; who comes later waits for a place first."""
_READERS: Final = 4


class Database:
    """One SQLite file. Opened by `open_store`, or by its first use.

    Args:
        folder: Folder of the file; made when it is not there.
        exclusive: True to own the store, as a resident host does; False to share it with other
            short-lived hosts.
        max_waiting: Requests that may wait at once.
        migrations: The steps to the newest version.
        name: Name of the file.
    """

    def __init__(
        self,
        folder: Path,
        *,
        exclusive: bool = False,
        max_waiting: int = MAX_WAITING,
        migrations: Sequence[Migration] = MIGRATIONS,
        name: str = FILE_NAME,
    ) -> None:
        self.path = folder / name
        self._exclusive = exclusive
        self._migrations = migrations
        self._max_waiting = max_waiting
        self._places = anyio.Semaphore(max_waiting, fast_acquire=True)
        self._reading = anyio.CapacityLimiter(_READERS)
        self._idle: list[sqlite3.Connection] = []
        self._lock: HostLock | None = None
        self._writer: Writer | None = None
        self._closed = False
        self._round: list[Request] = []

    async def open(self) -> None:
        """Open and migrate the file now instead of at the first use.

        Raises:
            StoreError: When that can't be done; says why and how to mend it.
        """
        await self.write(lambda connection: None)

    async def write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` in a transaction and return its result once that is on the disk.

        `work` runs in the writer's thread and may be called twice. Whoever is cancelled while
        waiting does not know whether it was done.

        Raises:
            StoreError: When the store can't be written; nothing of `work` was done.
            Exception: What `work` raises; what it had written is undone.
        """
        try:
            self._places.acquire_nowait()  # which costs a tenth of what a checkpoint does
        except anyio.WouldBlock:
            await self._places.acquire()
        try:
            loop = asyncio.get_running_loop()
            future: asyncio.Future[T] = loop.create_future()
            request = Request(work, into_future(future), loop)
            self._put(loop, request)
            try:
                return await future
            except asyncio.CancelledError:
                request.abandoned = True
                raise
            except (sqlite3.Error, OSError):
                with told(self.path):
                    raise
        finally:
            self._places.release()

    def post(
        self,
        work: Callable[[sqlite3.Connection], object],
        failed: Callable[[BaseException], None],
    ) -> None:
        """Queue `work` and return at once; closing the store waits for it.

        Args:
            work: What to do; see `write`.
            failed: Told why it was not done. May be called in the writer's thread.
        """

        def settle(result: object, error: BaseException | None) -> None:
            if error is not None:
                failed(error)

        try:
            self._hand_over()
            writer = self._started()
            if writer.waiting >= self._max_waiting:
                raise StoreError("Too much waits to be written to the store.")
            writer.put(Request(work, settle))
        except StoreError as error:
            failed(error)

    async def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` in a thread, on a connection that can't write, and return its result.

        It sees what was committed before it began, and never waits for who writes.

        Raises:
            StoreError: When the store can't be read.
        """
        if self._closed or not self._may_read():
            await self.open()
        return await anyio.to_thread.run_sync(self._read, work, limiter=self._reading)

    async def aclose(self) -> None:
        """Write what waits, then close the file; a second time does nothing."""
        self._hand_over()
        self._closed = True
        # before the writer, which as the last one to leave puts the log away
        while self._idle:
            self._idle.pop().close()
        with anyio.CancelScope(shield=True):
            if self._writer is not None:
                await anyio.to_thread.run_sync(self._writer.close)
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    @property
    def used(self) -> bool:
        """True once the file was opened."""
        return self._writer is not None

    def _may_read(self) -> bool:
        """Tell whether the file can be read; not while its first writer is still migrating it."""
        return self._writer is not None and self._writer.ready

    def _put(self, loop: asyncio.AbstractEventLoop, request: Request) -> None:
        """Queue a request together with all others of this round of the event loop.

        The writer would begin with the first of them alone, and the others would wait for two syncs
        instead of one.
        """
        self._started()
        if not self._round or self._round[0].loop is not loop:
            loop.call_soon(self._hand_over)
        self._round.append(request)

    def _hand_over(self) -> None:
        requests, self._round = self._round, []
        if self._writer is None or not requests:
            return
        try:
            self._writer.put(*requests)
        except StoreError as error:
            for request in requests:
                request.settle(None, error)

    def _started(self) -> Writer:
        if self._closed:
            raise StoreError(f"The store {self.path} is closed.")
        if self._writer is None:
            with told(self.path):
                self._lock = HostLock(self.path.with_name(LOCK_NAME), exclusive=self._exclusive)
            self._writer = Writer(self.path, self._migrations)
        return self._writer

    def _read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        connection = self._idle.pop() if self._idle else open_for_reading(self.path)
        try:
            with told(self.path):
                connection.execute("BEGIN")
                try:
                    return work(connection)
                finally:
                    connection.execute("ROLLBACK")
        finally:
            if self._closed:
                connection.close()
            else:
                self._idle.append(connection)
