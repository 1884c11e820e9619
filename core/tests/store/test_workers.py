from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading

import pytest

from pegboard.contracts.errors import StoreError
from pegboard.store import workers as workers_module
from pegboard.store.embedded import EmbeddedStore, open_store
from pegboard.store.workers import Workers


def test_a_host_is_alive_while_it_holds_its_lock(tmp_path):
    one, two = Workers(tmp_path / "hosts", "one"), Workers(tmp_path / "hosts", "two")
    assert not one.alive("one") and not one.alive("two")
    one.enter()
    one.enter()
    two.enter()
    assert one.alive("one") and one.alive("two") and two.alive("one")
    assert not one.alive("three")
    one.leave()
    one.leave()
    assert not two.alive("one") and not one.alive("one")
    assert [path.name for path in (tmp_path / "hosts").iterdir()] == ["two.lock"]
    two.leave()


def test_nobody_else_can_read_who_is_there(tmp_path):
    one = Workers(tmp_path / "hosts", "one")
    one.enter()
    assert stat.S_IMODE((tmp_path / "hosts").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "hosts" / "one.lock").stat().st_mode) == 0o600
    one.leave()


def test_a_killed_host_is_dead_and_its_file_is_removed(tmp_path):
    code = """
import os, pathlib, signal, sys
from pegboard.store.workers import Workers
Workers(pathlib.Path(sys.argv[1]), "killed").enter()
os.kill(os.getpid(), signal.SIGKILL)
"""
    for _ in range(2):
        subprocess.run([sys.executable, "-c", code, tmp_path], check=False)
        assert (tmp_path / "killed.lock").exists()
        watcher = Workers(tmp_path, "watcher")
        watcher.enter()
        assert not (tmp_path / "killed.lock").exists()
        assert not watcher.alive("killed")
        watcher.leave()


def test_a_stopped_host_is_alive(tmp_path):
    code = """
import os, pathlib, signal, sys
from pegboard.store.workers import Workers
Workers(pathlib.Path(sys.argv[1]), "stopped").enter()
print("there", flush=True)
os.kill(os.getpid(), signal.SIGSTOP)
"""
    with subprocess.Popen(
        [sys.executable, "-c", code, tmp_path], stdout=subprocess.PIPE
    ) as stopped:
        assert stopped.stdout.readline() == b"there\n"
        assert Workers(tmp_path, "watcher").alive("stopped")
        stopped.kill()
    assert not Workers(tmp_path, "watcher").alive("stopped")


def test_an_id_is_taken_by_one_host(tmp_path, monkeypatch):
    monkeypatch.setattr(workers_module, "_TRIES", 3)
    one, again = Workers(tmp_path, "one"), Workers(tmp_path, "one")
    one.enter()
    with pytest.raises(StoreError, match="Another host has the id of this one") as raised:
        again.enter()
    assert raised.value.fix.startswith("fuser ")
    one.leave()
    again.enter()
    again.leave()


@pytest.mark.parametrize("name", ["", "../x", "a/b", ".hidden", "x" * 101, "a\0b", "a b"])
def test_an_id_must_be_good_as_the_name_of_a_file(tmp_path, name):
    with pytest.raises(StoreError, match="can't be the id of a host"):
        Workers(tmp_path, name)
    assert not Workers(tmp_path, "one").alive(name)


def test_hosts_that_come_and_look_at_one_time_never_take_each_other_for_dead(tmp_path):
    mistakes, number = [], 30
    barrier = threading.Barrier(4)

    def host(name):
        for turn in range(number):
            own = Workers(tmp_path, f"{name}-{turn}")
            barrier.wait(20)
            own.enter()  # looks at all others, and removes those that are dead
            barrier.wait(20)
            for other in range(4):
                if not own.alive(f"{other}-{turn}"):
                    mistakes.append((name, other, turn))
            barrier.wait(20)
            own.leave()

    threads = [threading.Thread(target=host, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert mistakes == []


@pytest.mark.anyio
async def test_each_host_makes_up_an_id_of_its_own(tmp_path):
    stores = [await open_store(tmp_path) for _ in range(3)]
    assert len({store.worker for store in stores}) == 3
    assert all(store.worker.startswith(f"{os.getpid()}-") for store in stores)
    assert len(list((tmp_path / "hosts").iterdir())) == 3
    for store in stores:
        await store.aclose()
    assert list((tmp_path / "hosts").iterdir()) == []


@pytest.mark.anyio
async def test_a_folder_that_can_not_be_made_is_told(store, make):
    folder = store.database.path.parent
    (folder / "in-the-way").mkdir()
    (folder / "in-the-way" / "hosts").write_text("")
    blocked = EmbeddedStore(store.database, worker="blocked")
    blocked._workers._folder = folder / "in-the-way" / "hosts"
    with pytest.raises(StoreError, match="This host can't be entered") as raised:
        await blocked.begin("t1", now=1.0, max_attempts=3)
    assert raised.value.fix.startswith("ls -ld")
