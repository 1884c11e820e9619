"""The disk is full, the file is damaged or newer: what was kept stays, the rest is refused."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import anyio
import pytest

from pegboard.contracts.errors import StoreError
from pegboard.store.backup import check
from pegboard.store.embedded import open_store
from pegboard.store.migrations import MIGRATIONS
from pegboard.store.sqlite import FILE_NAME

pytestmark = pytest.mark.anyio


async def filled(folder, make, turns=50):
    store = await open_store(folder)
    for number in range(turns):
        await store.ingest(make.incoming(f"t{number}", f"k{number}", text="x" * 500))
    await store.aclose()
    return folder / FILE_NAME


async def refused(folder, match):
    with pytest.raises(StoreError, match=match) as raised:
        await open_store(folder)
    return raised.value


@pytest.mark.parametrize("part", [0.0003, 0.1, 0.5, 0.9, 0.9999])
async def test_a_half_written_file_is_told_and_left_as_it_is(tmp_path, make, part):
    path = await filled(tmp_path, make)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * part)])
    error = await refused(tmp_path, "damaged or no store")
    assert error.fix == f"mv {path} {path}.damaged"
    assert path.read_bytes() == whole[: int(len(whole) * part)]
    assert list((tmp_path / "hosts").iterdir()) == []


async def test_the_fix_makes_the_host_start_again(tmp_path, make):
    path = await filled(tmp_path, make)
    path.write_bytes(path.read_bytes()[:5000])
    error = await refused(tmp_path, "damaged")
    subprocess.run(error.fix.split(), check=True)
    store = await open_store(tmp_path)
    assert await store.open_turns() == []
    await store.aclose()


async def test_damage_in_the_middle_is_found_by_the_check(tmp_path, make):
    path = await filled(tmp_path, make)
    make.damage(path)
    assert check(path).problems != ()


async def test_a_newer_store_is_refused_and_left_as_it_is(tmp_path, make):
    path = await filled(tmp_path, make)
    store = await open_store(tmp_path)
    await store.database.write(lambda c: c.execute(f"PRAGMA user_version={len(MIGRATIONS) + 1}"))
    await store.aclose()
    before = path.read_bytes()
    error = await refused(tmp_path, "written by a newer Pegboard")
    assert error.fix == "pip install --upgrade pegboard"
    assert path.read_bytes() == before


async def test_a_log_that_is_cut_off_or_garbage_costs_only_what_was_not_whole(tmp_path, make):
    store = await open_store(tmp_path / "one")
    for number in range(20):
        await store.ingest(make.incoming(f"t{number}"))
    copied = tmp_path / "two"
    copied.mkdir()
    for name in (FILE_NAME, f"{FILE_NAME}-wal"):
        shutil.copy(tmp_path / "one" / name, copied / name)
    await store.aclose()
    log = copied / f"{FILE_NAME}-wal"
    log.write_bytes(log.read_bytes()[:-3000] + os.urandom(2000))
    again = await open_store(copied)
    assert [ref.seq for ref in await again.open_turns()] == list(range(1, 20))
    assert check(again.database.path).problems == ()
    await again.aclose()


async def ingest_until_refused(store, make, prefix, text="x" * 20_000):
    """Hand in messages until one is refused; return those that were acknowledged."""
    acknowledged = []
    for number in range(500):
        try:
            await store.ingest(
                make.incoming(f"{prefix}{number}", external_id=f"{prefix}{number}", text=text)
            )
        except StoreError as error:
            return acknowledged, error
        acknowledged.append(f"{prefix}{number}")
    raise AssertionError("the disk never was full")


@pytest.fixture
def small_disk(tmp_path):
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("making a small disk needs root on Linux")
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", disk]
    mounted = subprocess.run(mount, check=False, capture_output=True)
    if mounted.returncode:
        pytest.skip(f"no tmpfs can be mounted here: {mounted.stderr.decode().strip()}")
    yield disk
    subprocess.run(["umount", "-l", disk], check=True)


async def test_on_a_full_disk_nothing_is_acknowledged_and_later_it_works_again(small_disk, make):
    store = await open_store(small_disk / "state")
    await store.ingest(make.incoming("first"))
    begun = await store.begin("first", now=1.0, max_attempts=3)
    filler = small_disk / "filler"
    filler.write_bytes(b"x" * 2_800_000)
    acknowledged, error = await ingest_until_refused(store, make, "a")
    assert "disk is full" in error.message and error.fix.startswith("df -h")
    # many at once, of which each is either kept or refused
    outcomes = {}

    async def deliver(turn):
        try:
            await store.ingest(make.incoming(turn, external_id=turn, text="y" * 30_000))
            outcomes[turn] = True
        except StoreError:
            outcomes[turn] = False

    async with anyio.create_task_group() as group:
        for number in range(20):
            group.start_soon(deliver, f"b{number}")
    assert not all(outcomes.values())
    kept = {ref.turn for ref in await store.open_turns()}
    assert kept == {"first", *acknowledged, *(turn for turn, done in outcomes.items() if done)}

    filler.unlink()
    # what was refused is delivered again by its channel, and what was kept is not kept twice
    for turn in (*acknowledged, *outcomes):
        receipt = await store.ingest(make.incoming(f"{turn}-again", external_id=turn, text="y"))
        assert receipt.duplicate == (turn in kept)
    await store.finish("first", begun.turn.fence, state="done", now=2.0)
    assert check(store.database.path).problems == ()
    await store.aclose()


async def test_a_limit_on_the_size_of_files_refuses_and_later_it_works_again(tmp_path, make):
    resource = pytest.importorskip("resource")
    store = await open_store(tmp_path)
    await store.ingest(make.incoming("first"))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, before[1]))
    try:
        acknowledged, error = await ingest_until_refused(store, make, "a")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert "disk refuses" in error.message and error.fix.startswith("df -h")
    assert {ref.turn for ref in await store.open_turns()} == {"first", *acknowledged}
    await store.ingest(make.incoming("later"))
    assert check(store.database.path).problems == ()
    await store.aclose()
