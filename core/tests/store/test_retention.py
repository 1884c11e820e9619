from __future__ import annotations

import hashlib
import json
import os
import time
from pathlib import Path

import pytest

from pegboard.contracts.turn import Begun, Incoming
from pegboard.store import blob_sweep
from pegboard.store.archive import EmbeddedArchive
from pegboard.store.blob_sweep import GRACE_S, BlobFile, leaving
from pegboard.store.blobs import FolderBlobs
from pegboard.store.retention import DAY_S, Pruned, Retention, prune, remove_blobs

pytestmark = pytest.mark.anyio

NOW = 1_000_000.0


def blob(name: str, *, size: int = 10, age: float = 0.0) -> BlobFile:
    return BlobFile(name, size, NOW - age, Path(name))


def gone(blobs: list[BlobFile], *referenced: str, keep_s: float = DAY_S, quota: int | None = None):
    found = leaving(blobs, referenced, now=NOW, keep_s=keep_s, quota=quota)
    return [item.id for item in found]


def test_what_nothing_refers_to_goes_after_its_time() -> None:
    blobs = [blob("old", age=2 * DAY_S), blob("new", age=DAY_S / 2)]
    assert gone(blobs) == ["old"]


def test_what_something_refers_to_stays() -> None:
    assert gone([blob("old", age=2 * DAY_S)], "old") == []
    assert gone([blob("old", age=2 * DAY_S)], "old", quota=0) == []


def test_above_the_quota_the_oldest_go_before_their_time() -> None:
    ages = {"c": 3, "a": 5, "b": 4, "d": 2}
    blobs = [blob(name, age=hours * 3_600) for name, hours in ages.items()]
    assert gone(blobs, quota=40) == []
    assert gone(blobs, quota=25) == ["a", "b"]
    assert gone(blobs, "a", quota=25) == ["b", "c"]


def test_what_was_put_just_now_stays_also_above_the_quota() -> None:
    assert gone([blob("new", age=GRACE_S - 1)], quota=0) == []
    assert gone([blob("new", age=GRACE_S)], quota=0) == ["new"]


@pytest.fixture
def blobs(tmp_path):
    return FolderBlobs(tmp_path / "blobs")


@pytest.fixture
def archive(store):
    return EmbeddedArchive(store.database)


async def put(blobs: FolderBlobs, data: bytes, *, age_s: float = 0.0) -> str:
    ref = await blobs.put(data, media_type="text/plain")
    at = time.time() - age_s
    os.utime(blobs.folder / ref.id[:2] / ref.id, (at, at))
    return ref.id


async def refer(store, blob_id: str, *, at: float = 100.0) -> None:
    turn = f"turn-{blob_id[:4]}"
    message = {"text": "look", "attachments": [{"part": {"blob": {"id": blob_id}}}]}
    await store.ingest(
        Incoming(
            turn=turn, key="chat/1", channel="chat", chat="1", message=message, caller={}, at=at
        )
    )
    begun = await store.begin(turn, now=at, max_attempts=3)
    assert isinstance(begun, Begun)
    await store.finish(turn, begun.turn.fence, state="done", now=at, messages=[message])


async def pruned(archive, blobs, **facts) -> Pruned:
    return await prune(archive, blobs.folder, Retention(**facts), now=time.time())


async def test_only_blobs_that_nothing_refers_to_are_removed(store, archive, blobs) -> None:
    wanted = await put(blobs, b"wanted", age_s=30 * DAY_S)
    lost = await put(blobs, b"lost", age_s=30 * DAY_S)
    await refer(store, wanted)
    done = await pruned(archive, blobs)
    assert done.to_dict() == {
        "turns": 0,
        "blobs": 1,
        "bytes": 4,
        "blobs_left": 1,
        "bytes_left": 6,
    }
    assert await blobs.get(wanted) == b"wanted"
    with pytest.raises(KeyError):
        await blobs.get(lost)


async def test_a_blob_goes_with_the_turn_that_referred_to_it(store, archive, blobs) -> None:
    picture = await put(blobs, b"picture", age_s=30 * DAY_S)
    await refer(store, picture)
    done = await pruned(archive, blobs, keep_days=1)
    assert (done.turns, done.blobs.removed) == (1, 1)


async def test_without_a_limit_turns_stay_for_ever(store, archive, blobs) -> None:
    await refer(store, await put(blobs, b"picture"))
    assert (await pruned(archive, blobs)).turns == 0


async def test_what_is_put_again_counts_as_new(store, archive, blobs) -> None:
    old = await put(blobs, b"again", age_s=30 * DAY_S)
    assert (await blobs.put(b"again", media_type="text/plain")).id == old
    assert (await pruned(archive, blobs)).blobs.removed == 0


async def test_what_is_put_again_while_it_is_removed_stays(blobs, monkeypatch) -> None:
    await put(blobs, b"again", age_s=30 * DAY_S)
    found = blob_sweep.stored(blobs.folder)
    await blobs.put(b"again", media_type="text/plain")
    assert blob_sweep.remove(found) == []
    assert await blobs.get(found[0].id) == b"again"


async def test_what_a_killed_writer_left_behind_goes(archive, blobs) -> None:
    await put(blobs, b"whole")
    part = next(blobs.folder.iterdir()) / ".new-abc"
    part.write_bytes(b"half")
    await pruned(archive, blobs)
    assert part.exists(), "its writer may be alive"
    at = time.time() - 2 * GRACE_S
    os.utime(part, (at, at))
    await pruned(archive, blobs)
    assert not part.exists()


async def test_where_there_are_no_blobs_nothing_happens(archive, blobs) -> None:
    assert await pruned(archive, blobs) == Pruned()


async def test_blobs_of_an_erased_person_go_at_once(store, archive, blobs) -> None:
    theirs = await put(blobs, b"theirs")
    shared = await put(blobs, b"shared")
    await refer(store, shared)
    swept = await remove_blobs(archive, blobs.folder, {theirs, shared})
    assert (swept.removed, swept.left) == (1, 1)
    assert await blobs.get(shared) == b"shared"


async def test_settings_come_from_the_configuration() -> None:
    assert Retention.of({}) == Retention()
    assert Retention.of({"blob_quota_mb": 0}).blob_quota is None
    given = Retention.of({"keep_days": 30, "blob_days": 1, "blob_quota_mb": 2.5})
    assert given == Retention(keep_days=30, blob_days=1, blob_quota=2_500_000)


async def test_an_id_is_known_wherever_it_stands_in_a_value() -> None:
    from pegboard.store.blob_rows import blob_ids

    one, two = (hashlib.sha256(text).hexdigest() for text in (b"1", b"2"))
    assert blob_ids({"a": [{"id": one}], "text": f"see blob {two}."}) == {one, two}
    assert blob_ids({"no": f"{one}0"}) == set()


async def test_what_a_blob_refers_to_stays_with_it(store, archive, blobs) -> None:
    picture = await put(blobs, b"a picture", age_s=30 * DAY_S)
    record = await put(blobs, json.dumps({"image": picture}).encode(), age_s=30 * DAY_S)
    await refer(store, record)
    assert (await pruned(archive, blobs)).blobs.removed == 0
    await store.forget("chat/1")
    assert (await pruned(archive, blobs)).blobs.removed == 2


async def test_what_an_erased_blob_refers_to_goes_with_it(store, archive, blobs) -> None:
    picture = await put(blobs, b"a picture")
    record = await put(blobs, json.dumps({"image": picture}).encode())
    assert (await remove_blobs(archive, blobs.folder, {record})).removed == 2


async def test_blobs_that_refer_to_each_other_are_followed_to_an_end(blobs, tmp_path) -> None:
    one = await put(blobs, b'{"no": "reference"}')
    two = await put(blobs, json.dumps([one]).encode())
    assert blob_sweep.followed(blobs.folder, {two, "f" * 64}) == {one, two, "f" * 64}
