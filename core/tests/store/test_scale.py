"""What the store costs when there is much in it."""

from __future__ import annotations

import re
import sqlite3
import time
import tracemalloc
from contextlib import closing

import pytest

from pegboard.store import inbox_rows
from pegboard.store.database import Database
from pegboard.store.embedded import EmbeddedStore, open_store
from pegboard.store.migrations import migrate
from pegboard.store.sqlite import FILE_NAME, open_for_writing

pytestmark = pytest.mark.anyio


class Recording:
    """A connection that notes how SQLite means to run each statement."""

    def __init__(self, connection, plans):
        self._connection = connection
        self._plans = plans

    def execute(self, sql, values=()):
        key = re.sub(r"\s+", " ", sql).strip()
        if key not in self._plans and not key.startswith("PRAGMA"):
            rows = self._connection.execute(f"EXPLAIN QUERY PLAN {sql}", values).fetchall()
            self._plans[key] = [row[3] for row in rows]
        return self._connection.execute(sql, values)


class RecordingDatabase:
    """Stands for a `Database`; reads and writes on one connection."""

    def __init__(self, folder):
        self.path = folder / FILE_NAME
        self._connection = open_for_writing(self.path)
        migrate(self._connection, self.path)
        self.plans = {}

    async def write(self, work):
        self._connection.execute("BEGIN")
        try:
            return work(Recording(self._connection, self.plans))
        finally:
            self._connection.execute("COMMIT")

    read = write

    async def aclose(self):
        self._connection.close()


MAY_BE_READ_WHOLE = (
    # every open turn, every question, every doubt of all conversations: from the small index of it
    "SCAN turn USING INDEX turn_open",
    "SCAN approval USING INDEX approval_pending",
    "SCAN outbox USING INDEX outbox_doubt",
    # all conversations were asked for, in the order of an index
    "SCAN conversation USING INDEX conversation_updated",
    "SCAN sqlite_master",
    "SCAN CONSTANT ROW",
)


async def test_no_statement_reads_a_whole_table(tmp_path, make):
    database = RecordingDatabase(tmp_path)
    store = EmbeddedStore(database, worker="one")
    for step in make.steps(store, 2):
        await step
    await store.ingest(make.incoming("last", "k0", external_id="last"))
    await store.open_turns()
    await store.turn("last")
    await store.begun("last")
    await store.stopping("last", 1)
    await store.transcript("k0")
    await store.messages("k0")
    await store.conversations()
    await store.conversations(channel="chat", limit=5)
    await store.approvals()
    await store.approvals("k0")
    await store.doubtful()
    await store.doubtful("k0")
    await store.doubtful(settle=True)
    await store.spent(since=0.0)
    for of in ("key", "channel", "sender", "turn"):
        await store.spent(since=0.0, **{of: "x"})
    await store.aclose()
    scans = {
        sql: step
        for sql, plan in database.plans.items()
        for step in plan
        if step.startswith("SCAN") and not step.startswith(MAY_BE_READ_WHOLE)
    }
    assert scans == {}
    assert len(database.plans) > 50


async def test_what_was_spent_on_something_is_found_by_an_index_of_it(tmp_path):
    database = RecordingDatabase(tmp_path)
    store = EmbeddedStore(database, worker="one")
    for of in ("key", "sender", "turn"):
        await store.spent(since=0.0, **{of: "x"})
    await store.aclose()
    plans = [step for plan in database.plans.values() for step in plan]
    used = re.findall(r"USING INDEX (spending_\w+)", " ".join(plans))
    assert used == ["spending_key", "spending_sender", "spending_turn"]


async def with_open_turns(folder, make, count):
    """Make a store of `count` open turns, and ten times as many that have ended."""
    store = await open_store(folder)

    def fill(connection):
        for number in range(count * 11):
            incoming = make.incoming(f"t{number}", f"k{number % 500}", text="x" * 300)
            inbox_rows.ingest(connection, inbox_rows.row_of(incoming))
        connection.execute("UPDATE turn SET state = 'done' WHERE number > ?", (count,))

    await store.database.write(fill)
    await store.aclose()


async def test_reopening_costs_little_more_than_reading_the_open_turns(tmp_path, make):
    await with_open_turns(tmp_path, make, 1000)
    ratios = []
    for _ in range(3):
        began = time.perf_counter()
        store = await open_store(tmp_path)
        turns = await store.open_turns()
        reopened = time.perf_counter() - began
        await store.aclose()
        assert len(turns) == 1000

        with closing(sqlite3.connect(tmp_path / FILE_NAME)) as connection:
            began = time.perf_counter()
            rows = connection.execute(
                "SELECT * FROM turn WHERE state IN ('queued', 'running', 'waiting') ORDER BY number"
            ).fetchall()
            read = time.perf_counter() - began
        assert len(rows) == 1000
        ratios.append(reopened / read)
    assert min(ratios) < 10, ratios


async def test_idle_conversations_cost_no_memory(tmp_path, make):
    store = await open_store(tmp_path)

    def fill(connection):
        for number in range(10_000):
            incoming = make.incoming(f"t{number}", f"k{number}")
            inbox_rows.ingest(connection, inbox_rows.row_of(incoming))
        connection.execute("UPDATE turn SET state = 'done'")

    await store.database.write(fill)
    await store.aclose()
    tracemalloc.start()
    try:
        again = await open_store(tmp_path)
        assert await again.open_turns() == []
        assert len(await again.conversations(limit=10)) == 10
        held, _ = tracemalloc.get_traced_memory()
        await again.aclose()
    finally:
        tracemalloc.stop()
    assert held < 1_000_000


async def test_attempts_that_ended_are_forgotten(store, make):
    for number in range(20):
        await store.ingest(make.incoming(f"t{number}"))
        await store.begin(f"t{number}", now=1.0, max_attempts=3)
        await store.finish(f"t{number}", 1, state="done", now=2.0)
    assert store._attempts == {}


def test_a_store_that_is_made_and_not_used_opens_nothing(tmp_path):
    EmbeddedStore(Database(tmp_path / "state"))
    assert list(tmp_path.iterdir()) == []
