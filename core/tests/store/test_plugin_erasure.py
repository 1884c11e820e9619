"""What plugins keep of a conversation goes with it, also when the plugin is not there."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from pegboard.contracts.archive import Erasure
from pegboard.contracts.caller import Caller
from pegboard.contracts.errors import StoreError
from pegboard.contracts.storage import EraseSql, Owner
from pegboard.contracts.turn import Begun, Incoming
from pegboard.contracts.wire import CALLER
from pegboard.store.archive import EmbeddedArchive
from pegboard.store.embedded import open_store
from pegboard.store.erasure_rows import LATE_S
from pegboard.store.plugin_erasure import erase_below
from pegboard.store.plugin_storage import PluginStorage
from pegboard.testing import FakeClock

pytestmark = pytest.mark.anyio

PAGES = [
    (
        "CREATE TABLE page(of TEXT, turn TEXT, who TEXT, content TEXT, id INTEGER PRIMARY KEY)",
        "CREATE TABLE word(page INTEGER REFERENCES page(id) ON DELETE CASCADE, word TEXT)",
    )
]
ERASE = EraseSql(
    conversation=("DELETE FROM page WHERE of = :name",),
    turn=("DELETE FROM page WHERE turn = :name",),
    person=("DELETE FROM page WHERE who = :name",),
    thinned=("DELETE FROM page WHERE of = :name AND turn = ''",),
)
ODD = "telegram/nul \x00, half \ud83d, '; DROP TABLE page; --"


def erasures(*named):
    return [Erasure(number=n, kind=kind, name=name) for n, (kind, name) in enumerate(named, 1)]


@pytest.fixture
async def storage(tmp_path):
    made = PluginStorage("web", tmp_path / "web", FakeClock())
    yield made
    await made.aclose()


@pytest.mark.parametrize(
    ("erased", "left"),
    [
        (("conversation", "c1"), ["c2", "nobody"]),
        (("turn", "t1"), ["c2", "lasting", "nobody"]),
        (("person", "chat:ann"), ["c2", "lasting", "nobody"]),
        (("thinned", "c1"), ["c2", "nobody", "t1"]),
        (("conversation", "c"), ["c2", "lasting", "nobody", "t1"]),
        (("conversation", ""), ["c2", "lasting", "nobody", "t1"]),
    ],
)
async def test_documents_go_with_their_owner(storage, tmp_path, erased, left):
    owner = Owner(conversation="c1", turn="t1", person="chat:ann")
    await storage.put("notes", "t1", 1, of=owner)
    await storage.put("notes", "lasting", 1, of=owner.lasting())
    await storage.update("notes", "c2", lambda old: 1, of=Owner(conversation="c2"))
    await storage.write({("notes", "nobody"): 1})
    assert erase_below(tmp_path, erasures(erased)) == {}
    assert [found.key for found in await storage.list("notes")] == left


async def test_a_document_stays_whose_it_is_until_another_owner_is_named(storage, tmp_path):
    await storage.put("notes", "a", 1, of=Owner(conversation="c1"))
    await storage.put("notes", "a", 2)
    await storage.put("notes", "b", 1, of=Owner(conversation="c1"))
    await storage.put("notes", "b", 2, of=Owner(conversation="c2"))
    await storage.put("notes", "c", 1, of=Owner(conversation=ODD))
    assert erase_below(tmp_path, erasures(("conversation", "c1"), ("conversation", ODD))) == {}
    assert [found.key for found in await storage.list("notes")] == ["b"]


async def test_rows_go_by_the_words_of_a_plugin_that_is_not_there_any_more(tmp_path):
    storage = PluginStorage("web", tmp_path / "web", FakeClock())
    tables = await storage.tables(PAGES, erase=ERASE)
    for row in (("c1", "t1", "a:1"), ("c1", "", "a:2"), ("c2", "t2", "a:1"), ("c3", "t3", "a:3")):
        await tables.execute("INSERT INTO page VALUES (?, ?, ?, 'the secret', NULL)", row)
    await tables.execute("INSERT INTO word SELECT id, 'the word' FROM page")
    assert await storage.tables(PAGES) is tables  # without words for it: those of before count
    await storage.aclose()
    wanted = erasures(("thinned", "c1"), ("turn", "t3"), ("person", "a:1"), ("conversation", ODD))
    assert erase_below(tmp_path, wanted) == {}
    assert erase_below(tmp_path, wanted) == {}
    with closing(sqlite3.connect(tmp_path / "web" / "tables.db")) as connection:
        assert connection.execute("SELECT content FROM page").fetchall() == []
        assert connection.execute("SELECT word FROM word").fetchall() == []
    left = b"".join(path.read_bytes() for path in (tmp_path / "web").iterdir())
    assert b"the secret" not in left  # overwritten, in the log as well
    assert b"the word" not in left


async def test_a_file_that_can_not_be_read_keeps_no_other_from_being_erased(tmp_path):
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "documents.db").write_bytes(b"no store at all, but longer than a page header" * 50)
    web = PluginStorage("web", tmp_path / "web", FakeClock())
    await web.put("notes", "a", 1, of=Owner(conversation="c1"))
    failed = erase_below(tmp_path, erasures(("conversation", "c1")))
    assert list(failed) == ["broken/documents.db"]
    assert "damaged" in failed["broken/documents.db"].message
    assert await web.list("notes") == []
    await web.aclose()


@pytest.mark.parametrize(
    ("erase", "says"),
    [
        (EraseSql(turn=("DELETE FROM absent",)), "no such table: absent"),
        (EraseSql(turn=("DELETE FROM page WHERE turn = ?2",)), "can't erase"),
        (EraseSql(turn=("ATTACH 'x' AS y",)), "ATTACH is not for plugins"),
        (EraseSql(turn="DELETE FROM page"), "is a text"),
    ],
)
async def test_sql_that_can_not_erase_is_refused_when_the_tables_are_opened(storage, erase, says):
    with pytest.raises(StoreError, match=says):
        await storage.tables(PAGES, erase=erase)
    tables = await storage.tables(PAGES, erase=ERASE)
    assert await tables.query("SELECT count(*) FROM page") == [(0,)]


async def test_newer_words_replace_those_of_before(tmp_path):
    for erase in (ERASE, EraseSql(turn=("DELETE FROM word", "DELETE FROM page"))):
        storage = PluginStorage("web", tmp_path / "web", FakeClock())
        tables = await storage.tables(PAGES, erase=erase)
        await tables.execute("INSERT INTO page VALUES ('c1', 't1', '', '', NULL)")
        await storage.aclose()
    assert erase_below(tmp_path, erasures(("conversation", "c1"))) == {}
    assert erase_below(tmp_path, erasures(("turn", "t9"))) == {}
    with closing(sqlite3.connect(tmp_path / "web" / "tables.db")) as connection:
        assert connection.execute("SELECT * FROM page").fetchall() == []


async def test_documents_of_before_there_were_owners_are_kept(tmp_path):
    folder = tmp_path / "old"
    folder.mkdir()
    with closing(sqlite3.connect(folder / "documents.db")) as connection:
        connection.executescript(
            """
            CREATE TABLE document(
                collection TEXT NOT NULL, key TEXT NOT NULL,
                value TEXT NOT NULL CHECK(json_valid(value)), updated_at REAL NOT NULL,
                PRIMARY KEY(collection, key)
            ) STRICT, WITHOUT ROWID;
            INSERT INTO document VALUES ('notes', 'a', '1', 0);
            PRAGMA user_version=1;
            """
        )
    assert erase_below(tmp_path, erasures(("conversation", "c1"))) == {}
    storage = PluginStorage("old", folder, FakeClock())
    assert await storage.get("notes", "a") == 1
    await storage.put("notes", "a", 2, of=Owner(conversation="c1"))
    assert erase_below(tmp_path, erasures(("conversation", "c1"))) == {}
    assert await storage.list("notes") == []
    await storage.aclose()


@pytest.fixture
async def store(tmp_path):
    opened = await open_store(tmp_path)
    yield opened
    await opened.aclose()


async def said(store, turn, key, sender, *, ended=True):
    caller = CALLER.write(Caller(sender=sender))
    message = {"text": "hello"}
    await store.ingest(
        Incoming(
            turn=turn, key=key, channel="chat", chat=key, message=message, caller=caller, at=1.0
        )
    )
    begun = await store.begin(turn, now=1.0, max_attempts=3)
    assert isinstance(begun, Begun)
    if ended:
        await store.finish(turn, begun.turn.fence, state="done", now=1.0, messages=[message])


def named(found):
    return {(item.kind, item.name) for item in found}


async def test_what_is_forgotten_is_known_until_it_is_settled(store):
    archive = EmbeddedArchive(store.database)
    await said(store, "t1", ODD, "chat:ann")
    await said(store, "t2", "b", "chat:bob")
    assert await archive.erasures() == []
    assert await store.forget(ODD)
    found = await archive.erasures()
    assert named(found) == {("conversation", ODD), ("turn", "t1")}
    await store.forget("b")
    await archive.settle(found, now=5.0)
    assert named(await archive.erasures()) == {("conversation", "b"), ("turn", "t2")}


async def test_a_turn_that_ran_is_settled_a_day_later_once_more(store):
    archive = EmbeddedArchive(store.database)
    await said(store, "t1", "a", "chat:ann", ended=False)
    await store.forget("a")
    await archive.settle(await archive.erasures(), now=5.0)
    (late,) = await archive.erasures()
    assert (late.kind, late.name, late.again) == ("turn", "t1", True)
    await archive.settle([late], now=5.0 + LATE_S)
    assert await archive.erasures() == [late]
    await archive.settle([late], now=6.0 + LATE_S)
    assert await archive.erasures() == []


async def test_an_erased_person_is_known_with_what_they_leave_behind(store):
    archive = EmbeddedArchive(store.database)
    await said(store, "t1", "ours", "chat:ann")
    await said(store, "t2", "ours", "chat:bob")
    await said(store, "t3", "mine", "chat:ann")
    await archive.erase_person("chat:ann")
    assert named(await archive.erasures()) == {
        ("conversation", "mine"),
        ("turn", "t1"),
        ("turn", "t3"),
        ("thinned", "ours"),
        ("person", "chat:ann"),
    }


async def test_what_expires_is_known(store):
    archive = EmbeddedArchive(store.database)
    await said(store, "t1", "a", "chat:ann")
    assert await archive.expire(2.0) == 1
    assert named(await archive.erasures()) == {("conversation", "a"), ("turn", "t1")}
