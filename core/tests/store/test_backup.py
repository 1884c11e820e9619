from __future__ import annotations

import sqlite3
import stat
from contextlib import closing

import anyio
import pytest

from pegboard.contracts.errors import StoreError
from pegboard.store.backup import back_up, check, stats
from pegboard.store.embedded import open_store
from pegboard.store.migrations import MIGRATIONS
from pegboard.store.sqlite import FILE_NAME

pytestmark = pytest.mark.anyio


async def test_a_running_store_is_copied_to_one_file_that_opens_as_a_store(tmp_path, store, make):
    for number in range(20):
        await store.ingest(make.incoming(f"t{number}"))
    await store.begin("t0", now=1.0, max_attempts=3)
    target = tmp_path / "copies" / FILE_NAME
    target.parent.mkdir()
    backup = back_up(store.database.path, target)
    assert backup.to_dict() == {
        "path": str(target),
        "size": target.stat().st_size,
        "version": len(MIGRATIONS),
    }
    assert [path.name for path in target.parent.iterdir()] == [FILE_NAME]
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert make.dump(target) == make.dump(store.database.path)
    copy = await open_store(target.parent)
    assert (await copy.ingest(make.incoming("later"))).ref.seq == 21
    assert (await copy.begin("t0", now=2.0, max_attempts=3)).turn.fence == 2
    await copy.aclose()


async def test_a_copy_is_one_moment_though_somebody_writes(tmp_path, store, make):
    copies = []

    async def writing():
        for number in range(200):
            await store.ingest(make.incoming(f"t{number}", text="x" * 2000))

    async with anyio.create_task_group() as group:
        group.start_soon(writing)
        for number in range(5):
            target = tmp_path / f"copy{number}"
            await anyio.to_thread.run_sync(back_up, store.database.path, target)
            copies.append(target)
    for target in copies:
        with closing(sqlite3.connect(target)) as connection:
            count, last = connection.execute("SELECT count(*), max(seq) FROM turn").fetchone()
            inbox = connection.execute("SELECT count(*) FROM inbox").fetchone()[0]
        assert count == (last or 0) == inbox


async def test_a_copy_replaces_nothing_unless_it_is_told_to(tmp_path, store, make):
    await store.ingest(make.incoming("t1"))
    target = tmp_path / "copy"
    target.write_text("mine")
    with pytest.raises(StoreError, match="is there already") as raised:
        back_up(store.database.path, target)
    assert raised.value.fix == f"rm {target}" and target.read_text() == "mine"
    back_up(store.database.path, target, replace=True)
    with pytest.raises(StoreError, match="is the store itself"):
        back_up(store.database.path, store.database.path, replace=True)
    assert check(target).problems == ()


async def test_a_copy_that_can_not_be_written_leaves_nothing(tmp_path, store, make):
    await store.ingest(make.incoming("t1"))
    with pytest.raises(StoreError, match="can't be written: No such file") as raised:
        back_up(store.database.path, tmp_path / "nowhere" / "copy")
    assert raised.value.fix == f"df -h {tmp_path / 'nowhere'}"
    with pytest.raises(StoreError):
        back_up(tmp_path / "no store", tmp_path / "copy")
    assert not list(tmp_path.glob("*copy*"))


async def test_a_damaged_store_is_not_copied(tmp_path, make):
    store = await open_store(tmp_path)
    for number in range(50):
        await store.ingest(make.incoming(f"t{number}", text="x" * 500))
    await store.aclose()
    path = tmp_path / FILE_NAME
    make.damage(path)
    with pytest.raises(StoreError, match="is damaged, no copy was made") as raised:
        back_up(path, tmp_path / "copy")
    assert raised.value.fix == "pegboard store check"
    assert not list(tmp_path.glob("*copy*"))


async def test_a_check_finds_what_refers_to_nothing(store, make):
    await store.ingest(make.incoming("t1"))
    path = store.database.path
    assert check(path).to_dict() == {"ok": True, "version": len(MIGRATIONS), "problems": []}
    with closing(sqlite3.connect(path)) as connection:  # which does not look at references
        connection.execute("DELETE FROM conversation")
        connection.commit()
    found = check(path)
    assert found.problems == ("Row 1 of turn refers to a row of conversation that is not there.",)
    assert found.to_dict()["ok"] is False


async def test_the_numbers_of_a_store(store, make):
    for number in range(4):
        await store.ingest(make.incoming(f"t{number}", f"k{number}", at=10.0 + number))
    for turn in ("t0", "t1", "t2"):
        await store.begin(turn, now=20.0, max_attempts=3)
    await store.finish("t0", 1, state="done", now=21.0)
    await store.wait("t1", 1, until=None)
    await store.reply("t2", 1, [{"text": "x"}], now=22.0)
    await store.sending("t2", 1, 0, now=22.0)
    await store.doubt("t2", 0, now=22.0)
    found = stats(store.database.path)
    assert (found.open_turns, found.oldest_open, found.in_doubt) == (3, 11.0, 1)
    assert found.turns == {"done": 1, "queued": 1, "running": 1, "waiting": 1}
    assert found.rows == {
        "approval": 0,
        "audit": 0,
        "call": 0,
        "conversation": 4,
        "erasure": 0,
        "inbox": 4,
        "message": 0,
        "outbox": 1,
        "spending": 0,
        "turn": 4,
    }
    assert found.size == store.database.path.stat().st_size and found.log_size > 0
    assert found.to_dict()["version"] == len(MIGRATIONS)


async def test_the_numbers_of_a_store_without_turns_and_of_none(tmp_path):
    path = tmp_path / "old.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE note(text)")
        connection.commit()
    found = stats(path)
    assert (found.rows, found.turns, found.oldest_open, found.log_size) == (
        {"note": 0},
        {},
        None,
        0,
    )
    with pytest.raises(StoreError):
        stats(tmp_path / "none")
    with pytest.raises(StoreError):
        check(tmp_path / "none")
