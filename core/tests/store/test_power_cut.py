"""What a power cut leaves of the store, at 200 random moments of a course of verbs.

A VFS of apsw records every write and sync. At the cut, each write that was not synced since is
lost, done, or done by half, at random. What remains is opened as a host opens it, and must be
exactly what the last verb that had returned left behind, or the one that was under way.
"""

from __future__ import annotations

import random
from contextlib import closing

import apsw
import pytest

from pegboard.store.embedded import EmbeddedStore
from pegboard.store.migrations import MIGRATIONS, migrate
from pegboard.store.sqlite import open_for_writing

pytestmark = pytest.mark.anyio

CUTS = 200
SECTOR = 512


class RecordedFile(apsw.VFSFile):
    def __init__(self, log, name, flags):
        self._log = log
        self._name = name.filename() if isinstance(name, apsw.URIFilename) else name
        super().__init__("", name, flags)

    def xWrite(self, data, offset):
        self._log.append(("write", self._name, offset, bytes(data)))
        super().xWrite(data, offset)

    def xTruncate(self, size):
        self._log.append(("truncate", self._name, size, b""))
        super().xTruncate(size)

    def xSync(self, flags):
        self._log.append(("sync", self._name, 0, b""))
        super().xSync(flags)


class RecordingDisk(apsw.VFS):
    def __init__(self, name):
        self.name = name
        self.log = []
        super().__init__(name, "")

    def xOpen(self, name, flags):
        return RecordedFile(self.log, name, flags)

    def xDelete(self, name, sync_folder):
        self.log.append(("delete", name, 0, b""))
        super().xDelete(name, sync_folder)


class Platter:
    """The files as they are on the disk, and what was written and not synced."""

    def __init__(self):
        self.files = {}
        self.waiting = {}

    def take(self, operation):
        kind, name, *_ = operation
        if kind in ("write", "truncate"):
            self.waiting.setdefault(name, []).append(operation)
        elif kind == "sync":
            for written in self.waiting.pop(name, ()):
                put(self.files, written)
        else:
            self.files.pop(name, None)
            self.waiting.pop(name, None)

    def cut(self, rng):
        """Return what somebody finds who switches the machine on again."""
        files = {name: bytearray(data) for name, data in self.files.items()}
        for operations in self.waiting.values():
            for kind, name, offset, data in operations:
                fate = rng.random()
                if fate < 0.4:
                    put(files, (kind, name, offset, data))
                elif fate < 0.6 and kind == "write" and len(data) > SECTOR:
                    some = SECTOR * rng.randrange(1, len(data) // SECTOR + 1)
                    put(files, (kind, name, offset, data[:some]))
        return files


def put(files, operation):
    kind, name, offset, data = operation
    content = files.setdefault(name, bytearray())
    if kind == "truncate":
        del content[offset:]
        return
    content.extend(bytes(max(0, offset + len(data) - len(content))))
    content[offset : offset + len(data)] = data


class OneConnection:
    """Stands for a `Database`: runs each request in a transaction of one apsw connection."""

    def __init__(self, path, connection):
        self.path = path
        self._connection = connection

    async def write(self, work):
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            result = work(self._connection)
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")
        return result

    async def aclose(self):
        self._connection.close()


def connected(path, disk, synchronous):
    connection = apsw.Connection(str(path), vfs=disk)
    # apsw's files share no memory, which the log needs unless one connection has it alone
    for pragma in (
        "locking_mode=EXCLUSIVE",
        "journal_mode=WAL",
        f"synchronous={synchronous}",
        "foreign_keys=ON",
        "wal_autocheckpoint=40",
    ):
        connection.execute(f"PRAGMA {pragma}")
    return connection


async def recorded(folder, make, synchronous, rounds):
    """Run the course; return the log, and the state after each verb with its place in the log."""
    folder.mkdir()
    disk = RecordingDisk(f"recording-{folder.name}")
    path = folder / "pegboard.db"
    connection = connected(path, disk.name, synchronous)
    migrate(connection, path, MIGRATIONS)
    states = [(len(disk.log), make.dump_of(connection))]
    store = EmbeddedStore(OneConnection(path, connection), worker="one")
    for step in make.steps(store, rounds):
        await step
        states.append((len(disk.log), make.dump_of(connection)))
    end = len(disk.log)
    await store.aclose()
    disk.unregister()
    return disk.log[:end], states


def found_after(files, folder, make):
    """Put the files in a folder, open the store there as a host does, and return its state."""
    folder.mkdir()
    for name, data in files.items():
        (folder / name.rpartition("/")[2]).write_bytes(data)
    path = folder / "pegboard.db"
    with closing(open_for_writing(path)) as connection:
        migrate(connection, path, MIGRATIONS)
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        return make.dump_of(connection)


def outcomes(log, states, cuts, rng, folder, make):
    """Yield for each cut how many verbs had returned, and how many are found done."""
    platter = Platter()
    done = 0
    for number, cut in enumerate(sorted(cuts)):
        while done < cut:
            platter.take(log[done])
            done += 1
        returned = sum(place <= cut for place, _ in states) - 1
        state = found_after(platter.cut(rng), folder / str(number), make)
        # the first states are equal where a verb found nothing to do
        expected = [states[max(returned, 0)][1], states[min(returned + 1, len(states) - 1)][1]]
        yield returned, state in expected


async def test_no_cut_loses_what_was_acknowledged(tmp_path, make):
    rng = random.Random(4)
    log, states = await recorded(tmp_path / "full", make, "FULL", rounds=6)
    cuts = [rng.randrange(len(log) + 1) for _ in range(CUTS)]
    (tmp_path / "cuts").mkdir()
    found = list(outcomes(log, states, cuts, rng, tmp_path / "cuts", make))
    assert [number for number, (_, right) in enumerate(found) if not right] == []
    assert len({returned for returned, _ in found}) > CUTS // 3
    assert any(returned < 0 for returned, _ in found), "none of them cut the migration"


async def test_the_simulation_notices_a_store_that_does_not_sync(tmp_path, make):
    rng = random.Random(4)
    log, states = await recorded(tmp_path / "normal", make, "NORMAL", rounds=2)
    cuts = [rng.randrange(states[0][0], len(log) + 1) for _ in range(20)]
    (tmp_path / "cuts").mkdir()
    found = list(outcomes(log, states, cuts, rng, tmp_path / "cuts", make))
    assert not all(right for _, right in found)
