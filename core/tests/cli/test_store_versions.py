"""A store that a newer Pegboard has written: sound, and not for this one."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing

from pegboard.store.database import Database
from pegboard.store.migrations import MIGRATIONS


def test_a_sound_store_of_a_newer_pegboard_is_said_to_be_that(here):
    async def make() -> None:
        database = Database(here.home / "state")
        await database.open()
        await database.aclose()

    asyncio.run(make())
    ended = here.run("store", "check")
    newest = MIGRATIONS[-1].version
    assert (ended.code, ended.out, ended.err) == (0, f"The store is sound: version {newest}.\n", "")
    with closing(sqlite3.connect(here.home / "state" / "pegboard.db")) as connection:
        connection.execute("PRAGMA user_version = 99")
    ended = here.run("store", "check")
    assert (ended.code, ended.out) == (0, "The store is sound: version 99.\n")
    assert f"this one knows version {newest}" in ended.err
    assert "pip install --upgrade pegboard" in ended.err
    refused = here.run("sessions", "list")
    assert refused.code == 1
    assert "newer Pegboard" in refused.err


def test_a_setting_is_changed_also_where_the_audit_log_can_not_be_written(here):
    store = here.home / "state" / "pegboard.db"
    store.parent.mkdir(parents=True, exist_ok=True)
    store.write_bytes(b"not a store" * 1_000)
    ended = here.run("config", "set", "log.level", "debug")
    assert ended.code == 0, ended.err
    assert "the audit log misses an event" in ended.err
    assert 'level = "debug"' in here.config.read_text()


def test_a_file_of_expectations_that_is_not_there_is_asked_for_and_not_to_be_mended(here):
    ended = here.run("policy", "check", "nowhere.toml")
    assert ended.code == 2
    assert "Fix: pegboard policy check FILE" in ended.err
