from __future__ import annotations

import sqlite3
import stat
from contextlib import closing

import anyio
import pytest

from pegboard.cli.store import _bytes
from pegboard.contracts.turn import Incoming
from pegboard.store.embedded import open_store
from pegboard.store.plugin_storage import PluginStorage
from pegboard.testing import FakeClock


@pytest.fixture
def filled(here):
    """An environment whose store has two turns; one of them has ended."""

    async def fill():
        store = await open_store(here.home / "state")
        for number in (1, 2):
            message = {"text": f"message {number}"}
            await store.ingest(
                Incoming(
                    turn=f"t{number}",
                    key="k",
                    channel="c",
                    chat="k",
                    message=message,
                    caller={},
                    at=1e9,
                )
            )
        begun = await store.begin("t1", now=1e9, max_attempts=3)
        await store.finish("t1", begun.turn.fence, state="done", now=1e9)
        await store.aclose()

    anyio.run(fill)
    return here


def test_an_empty_home_has_no_store_and_gets_none(here):
    assert here.run("store", "check").out == "Nothing was stored yet.\n"
    assert here.run("store", "check", "--json").json["ok"] is True
    assert here.run("store", "stats").out == "Nothing was stored yet.\n"
    assert here.run("store", "stats", "--json").json == {"version": 1, "path": None}
    ended = here.run("store", "backup", "copy.db")
    assert (ended.code, ended.out) == (1, "")
    assert "There is no store in" in ended.err
    assert not (here.home / "state").exists()


def test_stats_count_what_is_there(filled):
    found = filled.run("store", "stats", "--json").json
    assert (found["rows"]["turn"], found["rows"]["inbox"]) == (2, 2)
    assert (found["turns"], found["open_turns"]) == ({"done": 1, "queued": 1}, 1)
    assert (found["oldest_open"], found["in_doubt"]) == (1e9, 0)
    text = filled.run("store", "stats").out
    assert "Turns: 1 done, 1 queued.\n" in text
    assert "The oldest that is open came in at 2001-09-0" in text
    assert ["turn", "2"] in [line.split() for line in text.splitlines()]


def test_a_copy_is_whole_private_and_made_while_a_host_writes(filled):
    path = filled.home / "state" / "pegboard.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as host:
        host.execute("BEGIN IMMEDIATE")
        ended = filled.run("store", "backup", "copy.db", "--json")
    assert ended.code == 0, ended.err
    copy = filled.work / "copy.db"
    assert (ended.json["path"], ended.json["size"]) == ("copy.db", copy.stat().st_size)
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    with closing(sqlite3.connect(copy)) as connection:
        assert connection.execute("SELECT count(*) FROM turn").fetchone() == (2,)
    again = filled.run("store", "backup", "copy.db")
    assert again.code == 1
    assert "copy.db is there already" in again.err
    replaced = filled.run("store", "backup", "copy.db", "--replace")
    assert replaced.out.startswith("The store is copied to copy.db: ")


def test_a_sound_store_is_sound(filled):
    ended = filled.run("store", "check")
    assert ended.code == 0
    assert ended.out.startswith("The store is sound: version ")
    assert filled.run("store", "check", "--json").json["problems"] == []


def test_a_damaged_store_is_told_and_ends_with_1(filled):
    path = filled.home / "state" / "pegboard.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA foreign_keys=OFF")
        connection.execute("DELETE FROM conversation")
        connection.commit()
    ended = filled.run("store", "check")
    assert ended.code == 1
    assert "Row 1 of turn refers to a row of conversation that is not there." in ended.out
    assert "Fix: put back a copy" in ended.err
    found = filled.run("store", "check", "--json")
    assert (found.code, found.json["ok"]) == (1, False)
    assert filled.run("store", "backup", "copy.db").code == 1
    assert not (filled.work / "copy.db").exists()


def test_what_is_no_store_is_said(filled):
    path = filled.home / "state" / "pegboard.db"
    path.write_bytes(b"no store" * 1000)
    for command in (["check"], ["stats"], ["backup", "copy.db"]):
        ended = filled.run("store", *command)
        assert ended.code == 1
        assert "is damaged or no store" in ended.err


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (4_100_000, "4.1 MB"), (2e12, "2000.0 GB")],
)
def test_bytes_are_written_for_people(number, text):
    assert _bytes(number) == text


@pytest.mark.parametrize(
    "words", [("store", "stats"), ("store", "backup", "copy.db"), ("sessions", "list")]
)
def test_where_turns_are_kept_elsewhere_the_file_is_not_taken_for_them(filled, words):
    ended = filled.run("--set", "store.backend=postgres", *words)
    assert ended.code != 0
    assert "kept by the backend 'postgres'" in ended.err


def test_all_that_is_kept_is_copied_but_no_secret(filled):
    home = filled.home
    (home / "state" / "blobs" / "ab").mkdir(parents=True)
    (home / "state" / "blobs" / "ab" / "abc").write_bytes(b"blob")
    (home / "config").mkdir(exist_ok=True)
    (home / "config" / "config.toml").write_text("[agent]\nmax_steps = 7\n")
    (home / "config" / "secrets.json").write_text('{"KEY": "s3cret"}')

    async def keep():
        storage = PluginStorage("web", home / "data" / "storage" / "web", FakeClock())
        await storage.put("notes", "a", 1)
        await storage.aclose()

    anyio.run(keep)
    ended = filled.run("store", "backup", "--all", "copy", "--json")
    assert ended.code == 0, ended.err
    copy = filled.work / "copy"
    made = ended.json
    assert (made["databases"], made["blobs"], made["settings"]) == (2, 1, 1)
    assert made["path"] == "copy"
    assert (copy / "state" / "blobs" / "ab" / "abc").read_bytes() == b"blob"
    assert stat.S_IMODE(copy.stat().st_mode) == 0o700
    files = [path for path in copy.rglob("*") if path.is_file()]
    assert not any(b"s3cret" in path.read_bytes() for path in files)
    with closing(sqlite3.connect(copy / "data" / "storage" / "web" / "documents.db")) as kept:
        assert kept.execute("SELECT value FROM document").fetchall() == [("1",)]
    inside = filled.run("store", "backup", "--all", str(home / "state" / "copy"))
    assert "which is to be copied" in inside.err
    refused = filled.run("store", "backup", "--all", "copy")
    assert "is there already" in refused.err
    again = filled.run("store", "backup", "--all", "copy", "--replace")
    assert again.code == 0
    assert "blobs 1, files of plugins 1, of settings 1" in again.out
    assert [path.name for path in filled.work.iterdir() if path.name.startswith(".copy")] == []
    assert "pegboard store backup --all copy" in filled.run("store", "backup", "copy").err


def test_a_copy_of_all_replaces_only_copies(filled):
    home = filled.home
    kept = sorted(path.name for path in home.rglob("*.db"))
    for place, says in ((home, "which is to be copied"), (home.parent, "which is to be copied")):
        refused = filled.run("store", "backup", "--all", str(place), "--replace")
        assert says in refused.err and refused.code
    other = home.parent / "documents"
    other.mkdir()
    (other / "letter").write_text("mine")
    refused = filled.run("store", "backup", "--all", str(other), "--replace")
    assert "holds something else" in refused.err
    assert (other / "letter").read_text() == "mine"
    assert sorted(path.name for path in home.rglob("*.db")) == kept
