from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
import textwrap
from contextlib import closing
from pathlib import Path

import anyio
import pytest

from pegboard.contracts.audit import AuditEvent
from pegboard.contracts.errors import StoreError
from pegboard.store import migrations as migrations_module
from pegboard.store import writer as writer_module
from pegboard.store.audit_log import append, verified
from pegboard.store.database import LOCK_NAME, Database
from pegboard.store.embedded import EmbeddedStore
from pegboard.store.host_lock import HostLock
from pegboard.store.migrations import MIGRATIONS, Migration, migrate, version_of
from pegboard.store.sqlite import FILE_NAME, open_for_reading, open_for_writing

pytestmark = pytest.mark.anyio

NOTES = (
    *MIGRATIONS,
    Migration(
        len(MIGRATIONS) + 1,
        "notes",
        ("CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT UNIQUE)",),
    ),
)


def adding(text):
    def add(connection):
        connection.execute("INSERT INTO note(text) VALUES (?)", (text,))
        return text

    return add


def texts(connection):
    return [text for (text,) in connection.execute("SELECT text FROM note ORDER BY id")]


@pytest.fixture
async def store(tmp_path):
    made = Database(tmp_path, migrations=NOTES)
    yield made
    await made.aclose()


async def test_what_was_written_is_read(store):
    assert await store.write(adding("one")) == "one"
    assert await store.read(texts) == ["one"]


async def test_nobody_else_can_read_the_file(store, tmp_path):
    await store.write(adding("one"))
    for path in tmp_path.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path.name


async def test_the_file_keeps_the_durable_settings(store):
    def settings(connection):
        names = ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        return [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in names]

    assert await store.write(settings) == ["wal", 2, 1, 5000]


async def test_what_comes_at_one_time_shares_a_commit(store):
    await store.open()
    before = store._writer.groups
    async with anyio.create_task_group() as group:
        for number in range(400):
            group.start_soon(store.write, adding(str(number)))
    assert store._writer.groups - before < 40
    assert len(await store.read(texts)) == 400


async def test_one_bad_request_does_not_undo_its_group(store):
    await store.open()
    outcomes = {}

    def failing(connection):
        connection.execute("INSERT INTO note(text) VALUES ('half')")
        raise ValueError("no")

    async def attempt(name, work):
        try:
            outcomes[name] = await store.write(work)
        except (ValueError, StoreError) as error:
            outcomes[name] = type(error)

    def slow(connection):
        import time

        time.sleep(0.1)  # so that what follows is one group

    before = store._writer.groups
    async with anyio.create_task_group() as group:
        group.start_soon(store.write, slow)
        await anyio.sleep(0.02)
        group.start_soon(attempt, "a", adding("a"))
        group.start_soon(attempt, "bad", failing)
        group.start_soon(attempt, "twice", adding("a"))
        group.start_soon(attempt, "b", adding("b"))
    assert store._writer.groups - before == 2
    assert outcomes == {"a": "a", "bad": ValueError, "twice": StoreError, "b": "b"}
    assert await store.read(texts) == ["a", "b"]


async def test_a_request_that_undoes_the_whole_transaction_costs_only_itself(store):
    await store.open()
    outcomes = {}

    async def attempt(name, work):
        try:
            outcomes[name] = await store.write(work)
        except StoreError as error:
            outcomes[name] = error.message

    async with anyio.create_task_group() as group:
        group.start_soon(attempt, "a", adding("a"))
        group.start_soon(attempt, "bad", lambda connection: connection.execute("ROLLBACK"))
        group.start_soon(attempt, "b", adding("b"))
    assert (outcomes["a"], outcomes["b"]) == ("a", "b")
    assert "ended the transaction" in outcomes["bad"]
    assert await store.read(texts) == ["a", "b"]


async def test_reading_can_not_write(store):
    await store.open()
    with pytest.raises(StoreError, match=r"readonly|read-only"):
        await store.read(adding("no"))


async def test_reading_does_not_wait_for_who_writes(store):
    await store.write(adding("one"))
    seen = []

    def reading_meanwhile(connection):
        connection.execute("INSERT INTO note(text) VALUES ('two')")
        seen.append(anyio.from_thread.run(store.read, texts, token=token))

    token = anyio.lowlevel.current_token()
    await store.write(reading_meanwhile)
    assert seen == [["one"]]


async def test_closing_writes_what_was_queued(tmp_path):
    store = Database(tmp_path, migrations=NOTES)
    failed = []
    for number in range(50):
        store.post(adding(str(number)), failed.append)
    await store.aclose()
    await store.aclose()
    assert failed == []
    with closing(open_for_reading(tmp_path / FILE_NAME)) as connection:
        assert len(texts(connection)) == 50


async def test_a_closed_store_says_so(store):
    await store.aclose()
    with pytest.raises(StoreError, match="is closed"):
        await store.write(adding("late"))
    failed = []
    store.post(adding("late"), failed.append)
    assert "is closed" in str(failed[0])


async def test_a_full_queue_makes_senders_wait_and_refuses_posts(tmp_path):
    store = Database(tmp_path, migrations=NOTES, max_waiting=3)
    failed = []
    try:
        async with anyio.create_task_group() as group:
            for number in range(30):
                group.start_soon(store.write, adding(str(number)))
            await anyio.sleep(0)
            assert store._writer.waiting <= 3
        store.post(lambda connection: __import__("time").sleep(0.2), failed.append)
        for number in range(10):
            store.post(adding(f"posted {number}"), failed.append)
        assert failed and "Too much waits" in str(failed[0])
        assert len([text for text in await store.read(texts) if text.isdigit()]) == 30
    finally:
        await store.aclose()


async def test_a_crash_of_the_thread_is_told_to_everybody(store, monkeypatch):
    await store.open()
    original = writer_module._run_one

    def crashing(connection, request):
        if request.work is crash:
            raise MemoryError("gone")
        original(connection, request)

    def crash(connection):
        raise AssertionError("never called")

    monkeypatch.setattr(writer_module, "_run_one", crashing)
    errors = []

    async def attempt(work):
        try:
            await store.write(work)
        except (StoreError, MemoryError) as error:
            errors.append(error)

    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            for work in (adding("a"), crash, adding("b"), adding("c")):
                group.start_soon(attempt, work)
        assert any("MemoryError: gone" in str(error) or str(error) == "gone" for error in errors)
        with pytest.raises(StoreError, match="MemoryError: gone"):
            await store.write(adding("later"))


async def test_who_is_cancelled_while_waiting_leaves_nothing_behind(store):
    await store.open()
    with anyio.move_on_after(0.05):
        await store.write(lambda connection: __import__("time").sleep(0.3))
    assert await store.write(adding("next")) == "next"


async def test_a_folder_that_can_not_be_made_is_told(tmp_path):
    (tmp_path / "file").write_text("in the way")
    store = Database(tmp_path / "file" / "state", migrations=NOTES)
    with pytest.raises(StoreError, match="can't be opened"):
        await store.open()
    await store.aclose()


async def test_a_file_that_is_no_store_is_left_alone(tmp_path):
    (tmp_path / FILE_NAME).write_text("this is no database, and somebody may want it\n" * 50)
    store = Database(tmp_path)
    with pytest.raises(StoreError, match="damaged or no store") as raised:
        await store.open()
    await store.aclose()
    assert raised.value.fix == f"mv {tmp_path / FILE_NAME} {tmp_path / FILE_NAME}.damaged"
    assert (tmp_path / FILE_NAME).read_text().startswith("this is no database")


async def test_a_newer_store_is_refused_with_the_command_that_helps(tmp_path):
    newer = Database(tmp_path, migrations=NOTES)
    await newer.open()
    await newer.aclose()
    older = Database(tmp_path)
    with pytest.raises(StoreError, match="written by a newer Pegboard") as raised:
        await older.open()
    await older.aclose()
    assert raised.value.fix == "pip install --upgrade pegboard"
    assert raised.value.details == {"version": len(NOTES), "newest": len(MIGRATIONS)}


async def test_a_store_of_version_0_is_migrated_and_kept_as_it_was(tmp_path):
    path = tmp_path / FILE_NAME
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE old(text)")
        connection.execute("INSERT INTO old VALUES ('kept')")
        connection.commit()
    store = Database(tmp_path)
    await store.open()
    await store.aclose()
    with closing(sqlite3.connect(path)) as connection:
        assert version_of(connection) == len(MIGRATIONS)
        assert connection.execute("SELECT text FROM old").fetchone() == ("kept",)
    backup = tmp_path / f"{FILE_NAME}.v0"
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    with closing(sqlite3.connect(backup)) as connection:
        assert version_of(connection) == 0
        names = connection.execute("SELECT name FROM sqlite_master").fetchall()
        assert names == [("old",)]


async def test_a_store_with_an_audit_log_only_gets_the_later_tables(tmp_path):
    old = Database(tmp_path, migrations=MIGRATIONS[:1])
    event = AuditEvent(at=1.0, kind="deny", rule="r", outcome="deny")
    await old.write(lambda connection: append(connection, [event]))
    await old.aclose()
    store = EmbeddedStore(Database(tmp_path))
    assert await store.open_turns() == []
    assert (await store.database.read(verified)).records == 1
    await store.aclose()
    with closing(sqlite3.connect(tmp_path / f"{FILE_NAME}.v1")) as connection:
        assert version_of(connection) == 1
        assert verified(connection).records == 1


async def test_a_store_works_without_full_text_search(tmp_path, make, monkeypatch):
    monkeypatch.setattr(migrations_module, "has_fts5", lambda connection: False)
    store = EmbeddedStore(Database(tmp_path), worker="one")
    for step in make.steps(store):
        await step
    assert len(await store.messages("k0")) == 2
    assert "message_fts_docsize" not in make.dump(store.database.path)
    await store.aclose()


async def test_a_new_store_needs_no_backup(tmp_path):
    with closing(open_for_writing(tmp_path / FILE_NAME)) as connection:
        assert migrate(connection, tmp_path / FILE_NAME) == []
        assert migrate(connection, tmp_path / FILE_NAME) == []


async def test_a_migration_that_fails_changes_nothing(tmp_path):
    path = tmp_path / FILE_NAME
    bad = Migration(len(NOTES) + 1, "bad", ("CREATE TABLE half(x)", "CREATE NONSENSE"))
    with closing(open_for_writing(path)) as connection:
        migrate(connection, path, NOTES)
        with pytest.raises(sqlite3.OperationalError):
            migrate(connection, path, (*NOTES, bad))
        assert version_of(connection) == len(NOTES)
        assert not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'half'").fetchall()
    with closing(sqlite3.connect(f"{path}.v{len(NOTES)}")) as connection:
        assert version_of(connection) == len(NOTES)


def test_migrations_are_numbered_without_gaps():
    assert [step.version for step in MIGRATIONS] == list(range(1, len(MIGRATIONS) + 1))


async def test_many_short_lived_hosts_share_a_store(tmp_path):
    first, second = Database(tmp_path, migrations=NOTES), Database(tmp_path, migrations=NOTES)
    async with anyio.create_task_group() as group:
        for number in range(20):
            group.start_soon((first, second)[number % 2].write, adding(str(number)))
    assert len(await first.read(texts)) == 20
    await first.aclose()
    await second.aclose()


async def test_one_host_may_own_the_store_and_others_hear_who_does(tmp_path):
    owner = Database(tmp_path, exclusive=True, migrations=NOTES)
    await owner.open()
    for exclusive in (False, True):
        other = Database(tmp_path, exclusive=exclusive, migrations=NOTES)
        with pytest.raises(StoreError, match=f"running host, process {os.getpid()}"):
            await other.open()
        await other.aclose()
    await owner.aclose()
    again = Database(tmp_path, exclusive=True, migrations=NOTES)
    await again.open()
    await again.aclose()


def test_a_store_in_use_can_not_be_owned(tmp_path):
    sharing = HostLock(tmp_path / LOCK_NAME)
    with pytest.raises(StoreError, match="other hosts are using it"):
        HostLock(tmp_path / LOCK_NAME, exclusive=True)
    sharing.release()
    sharing.release()
    HostLock(tmp_path / LOCK_NAME, exclusive=True).release()


def test_a_killed_owner_leaves_no_lock(tmp_path):
    code = f"""
        import os, signal, sys
        from pathlib import Path
        from pegboard.store.host_lock import HostLock
        lock = HostLock(Path({str(tmp_path / LOCK_NAME)!r}), exclusive=True)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    ran = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=False)
    assert ran.returncode == -9
    assert Path(tmp_path / LOCK_NAME).read_text().isdigit()
    HostLock(tmp_path / LOCK_NAME, exclusive=True).release()


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0 or sys.platform != "linux",
    reason="making a small disk needs root on Linux",
)
async def test_a_full_disk_refuses_and_recovers(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", disk], check=False, capture_output=True
    )
    if mounted.returncode:
        pytest.skip(f"no tmpfs can be mounted here: {mounted.stderr.decode().strip()}")
    store = Database(disk / "state", migrations=NOTES)
    try:
        await store.write(adding("before"))
        filler = disk / "filler"
        with pytest.raises(OSError, match="No space"):
            filler.write_bytes(b"x" * 1024 * 1024)
        with pytest.raises(StoreError, match="disk is full") as raised:
            await store.write(adding("y" * 200_000))
        assert raised.value.fix is not None and raised.value.fix.startswith("df -h")
        filler.unlink()
        await store.write(adding("after"))
        assert await store.read(texts) == ["before", "after"]
    finally:
        await store.aclose()
        subprocess.run(["umount", disk], check=True)


async def test_a_read_waits_for_a_first_write_that_still_migrates(tmp_path):
    store, found = Database(tmp_path, migrations=NOTES), []

    async def read():
        found.append(await store.read(lambda c: c.execute("SELECT text FROM note").fetchall()))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(store.write, adding("one"))
        tasks.start_soon(read)
    assert found in ([[]], [[("one",)]])
    await store.aclose()
