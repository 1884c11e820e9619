"""What a plugin keeps: documents and tables, in files of its own."""

from __future__ import annotations

import stat
from contextlib import asynccontextmanager

import anyio
import pytest

from pegboard.contracts.errors import StoreError
from pegboard.contracts.storage import ConstraintError, Document
from pegboard.store.plugin_storage import PluginStorage
from pegboard.testing import FakeClock

pytestmark = pytest.mark.anyio

ODD = "nul \x00, half \ud83d, whole 🧩"
FIRST = ("CREATE TABLE page(url TEXT PRIMARY KEY, words INTEGER NOT NULL)",)
SECOND = ("ALTER TABLE page ADD COLUMN title TEXT", "CREATE INDEX page_title ON page(title)")


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def opened(tmp_path, clock):
    @asynccontextmanager
    async def open_storage(plugin="web"):
        storage = PluginStorage(plugin, tmp_path / "storage" / plugin, clock)
        try:
            yield storage
        finally:
            await storage.aclose()

    return open_storage


async def test_a_document_is_there_after_a_restart(opened, clock):
    value = {"list": [1, 2.5, None, True], "text": ODD}
    async with opened() as storage:
        assert await storage.get("seen", "a") is None
        assert await storage.get("seen", "a", 7) == 7
        await storage.put("seen", "a", value)
    async with opened() as storage:
        assert await storage.get("seen", "a") == value
        assert await storage.list("seen") == [
            Document(key="a", value=value, updated_at=clock.now())
        ]
        assert await storage.delete("seen", "a")
        assert not await storage.delete("seen", "a")
        assert await storage.list("seen") == []


async def test_null_is_a_value(opened):
    async with opened() as storage:
        await storage.put("seen", "a", None)
        assert await storage.get("seen", "a", 7) is None
        assert len(await storage.list("seen")) == 1


async def test_a_collection_is_read_page_by_page_and_by_prefix(opened):
    names = ["a", "b/1", "b/2", "b/é", "b0", "c", "%", "b_"]
    async with opened() as storage:
        await storage.write({("one", name): name for name in names} | {("two", "b/9"): 0})
        assert [found.key for found in await storage.list("one")] == sorted(names)
        assert [found.key for found in await storage.list("one", prefix="b/")] == [
            "b/1",
            "b/2",
            "b/é",
        ]
        page = await storage.list("one", prefix="b", limit=2)
        assert [found.key for found in page] == ["b/1", "b/2"]
        more = await storage.list("one", prefix="b", after=page[-1].key, limit=2)
        assert [found.key for found in more] == ["b/é", "b0"]


async def test_several_documents_change_as_one(opened):
    async with opened() as storage:
        await storage.put("a", "1", "old")
        await storage.write({("a", "2"): "new", ("b", "1"): "new"}, delete=[("a", "1")])
        assert await storage.get("a", "1") is None
        assert [await storage.get("a", "2"), await storage.get("b", "1")] == ["new", "new"]
        with pytest.raises(StoreError, match="document 2 of a can't be kept, it is no JSON"):
            await storage.write({("a", "1"): "x", ("a", "2"): {1, 2}})
        assert await storage.get("a", "1") is None


async def test_updates_at_one_time_are_all_counted(opened):
    async with opened() as storage:
        async with anyio.create_task_group() as group:
            for _ in range(50):
                group.start_soon(storage.update, "count", "calls", lambda old: old + 1, 0)
        assert await storage.get("count", "calls") == 50
        with pytest.raises(ZeroDivisionError):
            await storage.update("count", "calls", lambda old: old / 0)
        assert await storage.get("count", "calls") == 50


@pytest.mark.parametrize("place", [("", "a"), ("a", ""), ("a", "b\0"), ("\ud83d", "b")])
async def test_a_document_needs_a_name(opened, place):
    async with opened() as storage:
        with pytest.raises(StoreError, match="names no document"):
            await storage.put(*place, 1)


async def test_plugins_do_not_see_one_another(opened, tmp_path):
    async with opened("a") as one, opened("b") as other:
        await one.put("x", "1", "mine")
        assert await other.get("x", "1") is None
        await one.tables([FIRST])
        with pytest.raises(StoreError, match="no such table: page"):
            await (await other.tables([("CREATE TABLE other(x)",)])).query("SELECT * FROM page")
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "storage").iterdir()} == {
        0o700
    }


async def test_nothing_is_on_the_disk_before_it_is_used(opened, tmp_path):
    async with opened():
        pass
    assert list(tmp_path.iterdir()) == []


async def test_tables_are_written_and_read(opened):
    async with opened() as storage:
        tables = await storage.tables([FIRST])
        assert await tables.execute("INSERT INTO page VALUES (?, ?)", ("x", 3)) == []
        added = await tables.execute(
            "INSERT INTO page VALUES (:url, :words) RETURNING url", {"url": "y", "words": 4}
        )
        assert added == [("y",)]
        assert await tables.query("SELECT words FROM page ORDER BY url") == [(3,), (4,)]
        assert await storage.tables([FIRST]) is tables


async def test_a_transaction_is_done_or_not(opened):
    kept = []

    def half(statements):
        kept.append(statements)
        statements.execute("INSERT INTO page VALUES ('a', 1)")
        assert statements.execute("SELECT count(*) FROM page") == [(1,)]
        raise LookupError

    def whole(statements):
        statements.execute("INSERT INTO page VALUES ('a', 1)")
        return statements.execute("INSERT INTO page VALUES ('b', 1) RETURNING url")

    async with opened() as storage:
        tables = await storage.tables([FIRST])
        with pytest.raises(LookupError):
            await tables.transaction(half)
        assert await tables.query("SELECT * FROM page") == []
        with pytest.raises(StoreError, match="The transaction is over"):
            kept[0].execute("SELECT 1")
        assert await tables.transaction(whole) == [("b",)]
        assert len(await tables.query("SELECT * FROM page")) == 2


async def test_migrations_go_on_from_where_they_were(opened):
    async with opened() as storage:
        await (await storage.tables([FIRST])).execute("INSERT INTO page VALUES ('a', 1)")
    async with opened() as storage:
        tables = await storage.tables([FIRST, SECOND])
        assert await tables.query("SELECT * FROM page") == [("a", 1, None)]
        with pytest.raises(StoreError, match="open with other migrations"):
            await storage.tables([FIRST])
    async with opened() as storage:
        with pytest.raises(StoreError, match="plugin web were written by a newer version of it"):
            await storage.tables([FIRST])
        assert len(await (await storage.tables([FIRST, SECOND])).query("SELECT * FROM page")) == 1


async def test_a_migration_that_fails_changes_nothing_and_can_be_tried_again(opened):
    broken = ("ALTER TABLE page ADD COLUMN title TEXT", "CREATE INDEX oops ON absent(x)")
    async with opened() as storage:
        await storage.tables([FIRST])
    async with opened() as storage:
        with pytest.raises(StoreError, match=r"no such table: main\.absent"):
            await storage.tables([FIRST, broken])
        tables = await storage.tables([FIRST, SECOND])
        assert await tables.query("SELECT title FROM page") == []


@pytest.mark.parametrize(
    "sql",
    [
        "ATTACH 'other.db' AS other",
        " -- a comment\n attach 'other.db' as other",
        "/* a */ ; PRAGMA journal_mode=DELETE",
        "COMMIT",
        "savepoint x",
        "VACUUM INTO 'other.db'",
    ],
)
async def test_what_is_about_the_file_is_refused(opened, sql):
    async with opened() as storage:
        tables = await storage.tables([FIRST])
        for refused in (tables.query, tables.execute):
            with pytest.raises(StoreError, match="is not for plugins"):
                await refused(sql)
        with pytest.raises(StoreError, match="is not for plugins"):
            await tables.transaction(lambda statements: statements.execute(sql))
    async with opened() as storage:
        with pytest.raises(StoreError, match="is not for plugins"):
            await storage.tables([FIRST, (sql,)])


async def test_what_is_wrong_with_a_statement_is_said(opened):
    async with opened() as storage:
        tables = await storage.tables([FIRST])
        await tables.execute("INSERT INTO page VALUES ('a', 1)")
        with pytest.raises(ConstraintError, match=r"UNIQUE constraint failed: page\.url") as caught:
            await tables.execute("INSERT INTO page VALUES ('a', 1)")
        assert caught.value.code == "storage_constraint"
        for sql in ("SELEKT 1", "SELECT 1; SELECT 2", "INSERT INTO page VALUES (?, ?)"):
            with pytest.raises(StoreError, match="The statement can't be run") as said:
                await tables.execute(sql)
            assert said.value.fix == "mend the SQL"
        with pytest.raises(StoreError, match=r"Tables\.query reads, and this statement writes"):
            await tables.query("DELETE FROM page")
        assert await tables.query("SELECT url FROM page") == [("a",)]


@pytest.mark.parametrize("migrations", [[], ["CREATE TABLE a(x)"]])
async def test_migrations_are_steps_of_statements(opened, migrations):
    async with opened() as storage:
        with pytest.raises(StoreError, match=r"Migration 1 is a text|one migration at least"):
            await storage.tables(migrations)


async def test_a_closed_storage_says_so(opened):
    async with opened() as storage:
        await storage.put("a", "1", 1)
    with pytest.raises(StoreError, match="closed"):
        await storage.put("a", "1", 2)
    with pytest.raises(StoreError, match="closed"):
        await storage.tables([FIRST])
    await storage.aclose()


async def test_hosts_that_share_a_plugins_storage_see_what_the_other_wrote(opened):
    async with opened() as one, opened() as other:
        await one.put("a", "1", 1)
        assert await other.update("a", "1", lambda old: old + 1) == 2
        assert await one.get("a", "1") == 2
