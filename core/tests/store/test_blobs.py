from __future__ import annotations

import stat

import anyio
import pytest

from pegboard.contracts.blob import Blobs
from pegboard.store.blobs import FolderBlobs

pytestmark = pytest.mark.anyio


async def test_a_value_comes_back_as_it_was_stored(tmp_path):
    blobs: Blobs = FolderBlobs(tmp_path / "blobs")
    ref = await blobs.put(b"\x00\xff data", media_type="image/png", name="a.png")
    assert (ref.media_type, ref.size, ref.name) == ("image/png", 7, "a.png")
    assert await blobs.get(ref.id) == b"\x00\xff data"


async def test_the_same_value_is_kept_once(tmp_path):
    blobs = FolderBlobs(tmp_path)
    refs = [await blobs.put(b"same", media_type="text/plain") for _ in range(3)]
    assert len({ref.id for ref in refs}) == 1
    assert len([place for place in tmp_path.rglob("*") if place.is_file()]) == 1


async def test_files_and_folders_are_the_owners_alone(tmp_path):
    blobs = FolderBlobs(tmp_path / "made" / "blobs")
    await blobs.put(b"secret", media_type="text/plain")
    for place in (tmp_path / "made" / "blobs").rglob("*"):
        mode = stat.S_IMODE(place.stat().st_mode)
        assert mode == (0o700 if place.is_dir() else 0o600)
    assert stat.S_IMODE((tmp_path / "made" / "blobs").stat().st_mode) == 0o700


@pytest.mark.parametrize("blob_id", ["", "nope", "../../etc/passwd", "a" * 64, "A" * 64, "/etc"])
async def test_what_is_not_there_is_a_key_error(tmp_path, blob_id):
    with pytest.raises(KeyError):
        await FolderBlobs(tmp_path).get(blob_id)


async def test_many_tasks_may_store_one_value_at_once(tmp_path):
    blobs = FolderBlobs(tmp_path)
    async with anyio.create_task_group() as group:
        for number in range(30):
            group.start_soon(_put, blobs, b"x" * 1000 if number % 2 else b"%d" % number)
    assert not list(tmp_path.rglob(".new-*"))


async def _put(blobs, data):
    ref = await blobs.put(data, media_type="text/plain")
    assert await blobs.get(ref.id) == data


async def test_a_full_disk_leaves_nothing_half_written(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    blobs = FolderBlobs(blocked / "blobs")
    with pytest.raises(OSError, match="Not a directory"):
        await blobs.put(b"x", media_type="text/plain")


async def test_a_file_that_was_cut_off_is_written_anew(tmp_path):
    blobs = FolderBlobs(tmp_path)
    ref = await blobs.put(b"whole", media_type="text/plain")
    (place,) = (place for place in tmp_path.rglob("*") if place.is_file())
    place.write_bytes(b"")
    assert await blobs.put(b"whole", media_type="text/plain") == ref
    assert await blobs.get(ref.id) == b"whole"
