from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest

from pegboard.providers import ModelFileError, ModelFiles

WHOLE = (
    struct.pack("<4sIQQ", b"GGUF", 3, 1, 0) + struct.pack("<Q1sIQIQ", 1, b"t", 1, 8, 0, 0)
).ljust(256, b"\0")


def put(files: ModelFiles, content: bytes = WHOLE, name: str = "tiny", **more: str) -> None:
    files.add(name, lambda to: to.write_bytes(content) and None, source="from.gguf", **more)


def test_what_was_added_is_found_whole(tmp_path: Path) -> None:
    files = ModelFiles(tmp_path / "models")
    assert files.all() == []
    put(files)
    (found,) = files.all()
    assert files.find("tiny") == found
    assert (found.name, found.source, found.size) == ("tiny", "from.gguf", len(WHOLE))
    assert files.checked(found).read_bytes() == WHOLE


@pytest.mark.parametrize(
    ("content", "more", "says"),
    [
        (WHOLE[:60], {}, "cut off"),
        (b"no", {}, "not a GGUF"),
        (WHOLE, {"sha256": "0" * 64}, "holds other weights"),
    ],
)
def test_what_is_wrong_leaves_what_was_there(
    tmp_path: Path, content: bytes, more: dict[str, str], says: str
) -> None:
    files = ModelFiles(tmp_path)
    put(files)
    before = sorted((path.name, path.read_bytes()) for path in tmp_path.iterdir())
    with pytest.raises(ModelFileError, match=says):
        put(files, content, **more)
    assert sorted((path.name, path.read_bytes()) for path in tmp_path.iterdir()) == before


def test_a_file_that_was_changed_since_is_told(tmp_path: Path) -> None:
    files = ModelFiles(tmp_path)
    put(files)
    (found,) = files.all()
    os.utime(found.path, (1, 1))
    assert files.checked(found) == found.path, "the same bytes at another time are the same"
    found.path.write_bytes(WHOLE[:-1] + b"x")
    with pytest.raises(ModelFileError, match="not what was added") as told:
        files.checked(found)
    assert told.value.fix == "pegboard models add from.gguf"
    found.path.unlink()
    with pytest.raises(ModelFileError, match="is gone"):
        files.checked(found)


@pytest.mark.parametrize("name", ["", "../x", "a/b", ".x", "a b", "x" * 101])
def test_a_name_stays_in_the_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(ModelFileError, match="can't be the name"):
        put(ModelFiles(tmp_path), name=name)
    assert ModelFiles(tmp_path).find(name) is None
    assert list(tmp_path.iterdir()) == []


def test_a_record_that_is_broken_is_told(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{")
    with pytest.raises(ModelFileError, match=r"x\.json can't be read"):
        ModelFiles(tmp_path).all()
