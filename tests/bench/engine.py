"""The embedded engine against the disk below it: bare group commits, fdatasync, bare reads.

Wall-clock time, for the disk is what is measured; ours and the reference run in turns on one file
system.
"""

from __future__ import annotations

import asyncio
import os
import queue
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Awaitable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import anyio

from pegboard.contracts.clock import SystemClock
from pegboard.contracts.engine import After, Lease, Outcome
from pegboard.contracts.store import Store
from pegboard.contracts.turn import Begun, Incoming, TurnRef
from pegboard.engine.backend import EmbeddedBackend
from pegboard.engine.embedded import EmbeddedEngine
from pegboard.plugins.running.ids import IdMaker
from pegboard.store.database import Database

ROUNDS = 7
KEYS = 100
TURNS = 2_000
COMMITS_PER_TURN = 3
"""What came in, its beginning and its end."""
SENDERS = 10
ACKS = 100
"""Messages of each sender."""
SYNC_PAUSE_S = 0.001
IDLE = 10_000
IDLE_MB = 50.0
OPEN = 1_000
CLOCK = SystemClock()
MESSAGE = {"text": "hello world " * 10, "attachments": []}
CALLER = {"trust": "operator", "channel": "desk"}


def measure(row: Any, peers_python: Any) -> Iterator[Any]:
    turns = row("empty turns of 100 keys", "us", 4.0, "3 bare group commits")
    acks = row("p50 until received, 10 senders", "us", 3.0, "p50 of fdatasync")
    reopened = row("reopening with 1,000 open turns", "ms", 10.0, "reading their rows")
    idle = row("10,000 idle conversations", "MB", 1.0, "allowance")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        anyio.run(filled, place / "open")
        for number in range(ROUNDS):
            home = place / str(number)
            turns.ours.append(anyio.run(turn_us, home))
            commits = anyio.run(group_commit_us, place / f"{number}.db")
            turns.reference.append(commits * COMMITS_PER_TURN)
            ack, sync = anyio.run(ack_and_sync_us, place / f"{number}-acks")
            acks.ours.append(ack)
            acks.reference.append(sync)
            reopened.ours.append(anyio.run(reopening_ms, place / "open"))
            reopened.reference.append(reading_ms(place / "open"))
        idle.ours.append(idle_mb(place / "idle"))
        idle.reference.append(IDLE_MB)
    yield from (turns, acks, reopened, idle)


def message(key: str, number: int, *, turn: str = "") -> Incoming:
    """Return what comes in."""
    return Incoming(
        turn=turn or f"{key}-{number}",
        key=key,
        channel="desk",
        chat=key,
        external_id=f"{key}-{number}",
        message=MESSAGE,
        caller=CALLER,
        at=CLOCK.now(),
    )


class EmptyTurns:
    """A handler that begins and ends each turn."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._left = 0
        self._ended = asyncio.Event()

    async def __call__(self, ref: TurnRef, lease: Lease) -> Outcome:
        begun = await self._store.begin(ref.turn, now=CLOCK.now(), max_attempts=3)
        assert isinstance(begun, Begun)
        await self._store.finish(ref.turn, begun.turn.fence, state="done", now=CLOCK.now())
        self._left -= 1
        if not self._left:
            self._ended.set()
        return After.DONE

    async def run(self, engine: EmbeddedEngine, messages: list[list[Incoming]]) -> None:
        """Let a sender for each list hand in its messages, and wait for the end of all turns."""
        self._left = sum(map(len, messages))
        self._ended.clear()

        async def sender(own: list[Incoming]) -> None:
            for incoming in own:
                receipt = await self._store.ingest(incoming)
                await engine.submit(receipt.ref)

        async with anyio.create_task_group() as group:
            for own in messages:
                group.start_soon(sender, own)
            await self._ended.wait()


async def turn_us(home: Path) -> float:
    """Return the microseconds of one empty turn, from its coming in to its end."""
    backend = EmbeddedBackend(Database(home))
    store, engine = await backend.open({}, CLOCK)
    turns = EmptyTurns(store)
    messages = [
        [message(f"key{key}", number) for number in range(TURNS // KEYS)] for key in range(KEYS)
    ]
    async with anyio.create_task_group() as group:
        group.start_soon(serve, engine, turns)
        started = time.perf_counter()
        await turns.run(engine, messages)
        took = time.perf_counter() - started
        group.cancel_scope.cancel()
    await backend.aclose()
    return took / TURNS * 1e6


async def serve(engine: EmbeddedEngine, handler: Any) -> None:
    await engine.serve(handler, slots=KEYS)


async def group_commit_us(path: Path) -> float:
    """Return the microseconds of one row, written by the least code that commits in groups."""
    writer = BareWriter(path)
    total = TURNS * COMMITS_PER_TURN
    await writer.write(("create", "", "", ""))

    async def sender(key: int) -> None:
        for number in range(total // KEYS):
            await writer.write(("desk", f"key{key}", f"{key}-{number}", str(MESSAGE)))

    started = time.perf_counter()
    async with anyio.create_task_group() as group:
        for key in range(KEYS):
            group.start_soon(sender, key)
    took = time.perf_counter() - started
    writer.close()
    return took / total * 1e6


class BareWriter:
    """The least that commits in groups: a thread, a savepoint for each request, one wake-up."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._loop = asyncio.get_running_loop()
        self._queue: queue.SimpleQueue[tuple[Any, asyncio.Future[None]] | None] = (
            queue.SimpleQueue()
        )
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def write(self, values: tuple[str, ...]) -> Awaitable[None]:
        future: asyncio.Future[None] = self._loop.create_future()
        self._queue.put((values, future))
        return future

    def close(self) -> None:
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        with closing(sqlite3.connect(self._path, isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=FULL")
            connection.execute("CREATE TABLE inbox(channel, chat, id, body, UNIQUE(channel, id))")
            while (item := self._queue.get()) is not None:
                group = [item]
                while not self._queue.empty():
                    more = self._queue.get()
                    assert more is not None
                    group.append(more)
                connection.execute("BEGIN IMMEDIATE")
                for values, _ in group:
                    connection.execute("SAVEPOINT request")
                    connection.execute("INSERT INTO inbox VALUES (?, ?, ?, ?)", values)
                    connection.execute("RELEASE request")
                connection.execute("COMMIT")
                self._loop.call_soon_threadsafe(settle, [future for _, future in group])


def settle(futures: list[asyncio.Future[None]]) -> None:
    for future in futures:
        future.set_result(None)


async def ack_and_sync_us(home: Path) -> tuple[float, float]:
    """Return the median microseconds until a message is received, and of an fdatasync meanwhile."""
    backend = EmbeddedBackend(Database(home))
    store, _ = await backend.open({}, CLOCK)
    new_id = IdMaker(CLOCK)
    acks: list[float] = []

    async def sender(own: list[Incoming]) -> None:
        for incoming in own:
            started = time.perf_counter()
            await store.ingest(incoming)
            acks.append((time.perf_counter() - started) * 1e6)

    messages = [
        [message(f"sender{key}", number, turn=new_id()) for number in range(ACKS)]
        for key in range(SENDERS)
    ]
    with syncing(home / "sync") as syncs:
        async with anyio.create_task_group() as group:
            for own in messages:
                group.start_soon(sender, own)
    await backend.aclose()
    return statistics.median(acks), statistics.median(syncs)


@contextmanager
def syncing(path: Path) -> Iterator[list[float]]:
    """Write a page to a file and to the disk again and again; yield the microseconds of each sync.

    At the same time as what is measured: how long the disk takes depends on what else it has to do.
    """
    took: list[float] = []
    over = threading.Event()

    def run() -> None:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        while not over.wait(SYNC_PAUSE_S):
            os.write(file, bytes(4096))
            started = time.perf_counter()
            os.fdatasync(file)
            took.append((time.perf_counter() - started) * 1e6)
        os.close(file)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield took
    finally:
        over.set()
        thread.join()


async def filled(home: Path) -> None:
    """Leave open turns in a store."""
    backend = EmbeddedBackend(Database(home))
    store, _ = await backend.open({}, CLOCK)
    async with anyio.create_task_group() as group:
        for number in range(OPEN):
            group.start_soon(store.ingest, message(f"key{number % KEYS}", number))
    await backend.aclose()


async def reopening_ms(home: Path) -> float:
    """Return the milliseconds from opening a store until the engine has begun to deliver."""
    delivered = anyio.Event()

    async def handle(ref: TurnRef, lease: Lease) -> Outcome:
        delivered.set()
        await anyio.sleep_forever()
        return After.DONE

    started = time.perf_counter()
    backend = EmbeddedBackend(Database(home))
    _, engine = await backend.open({}, CLOCK)
    async with anyio.create_task_group() as group:
        group.start_soon(serve, engine, handle)
        await delivered.wait()
        took = time.perf_counter() - started
        assert engine.stats().running + engine.stats().waiting == OPEN
        group.cancel_scope.cancel()
    await backend.aclose()
    return took * 1e3


def reading_ms(home: Path) -> float:
    """Return the milliseconds of reading the rows of the open turns, the file being closed."""
    started = time.perf_counter()
    with closing(sqlite3.connect(home / "pegboard.db")) as connection:
        rows = connection.execute(
            "SELECT * FROM turn JOIN inbox ON inbox.turn = turn.id "
            "WHERE state IN ('queued', 'running', 'waiting')"
        ).fetchall()
    assert len(rows) == OPEN
    return (time.perf_counter() - started) * 1e3


def idle_mb(home: Path) -> float:
    """Return the megabytes that conversations without open turns add to a process."""
    code = "import sys, anyio, engine, pathlib; anyio.run(engine.idle, pathlib.Path(sys.argv[1]))"
    ran = subprocess.run(
        [sys.executable, "-c", code, home],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=True,
    )
    return float(ran.stdout)


async def idle(home: Path) -> None:
    """Run a turn of each of many conversations, and print the megabytes that they added."""
    backend = EmbeddedBackend(Database(home))
    store, engine = await backend.open({}, CLOCK)
    turns = EmptyTurns(store)
    async with anyio.create_task_group() as group:
        group.start_soon(serve, engine, turns)
        await turns.run(engine, [[message(f"first{number}", 0)] for number in range(KEYS)])
        before = resident_mb()
        for first in range(0, IDLE, KEYS):
            keys = range(first, first + KEYS)
            await turns.run(engine, [[message(f"key{number}", 0)] for number in keys])
        assert engine.stats().keys == 0
        print(resident_mb() - before)
        group.cancel_scope.cancel()
    await backend.aclose()


def resident_mb() -> float:
    """Return the megabytes of memory that this process has; where they can't be read, the most."""
    statm = Path("/proc/self/statm")
    if statm.exists():
        return int(statm.read_text().split()[1]) * resource.getpagesize() / 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20  # of macOS: bytes
