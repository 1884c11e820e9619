from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from pegboard.sandboxes import ScratchFolder

KILLED = """
import os, signal
from pegboard.sandboxes import ScratchFolder
(ScratchFolder("pegboard-x-").path / "left").mkdir()
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)


def test_it_goes_when_it_is_closed(tmp_path: Path) -> None:
    folder = ScratchFolder("pegboard-x-")
    (folder.path / "f").write_text("x")
    assert folder.path.stat().st_mode & 0o777 == 0o700
    folder.close()
    folder.close()
    assert list(tmp_path.iterdir()) == []


def test_that_of_a_killed_process_goes_with_the_next_one(tmp_path: Path) -> None:
    mine, other = ScratchFolder("pegboard-x-"), tmp_path / "pegboard-y-1"
    other.mkdir()
    link, own = tmp_path / "pegboard-x-a_link_1", tmp_path / "pegboard-x-my-notes"
    link.symlink_to(other)
    own.mkdir()
    done = subprocess.run([sys.executable, "-c", KILLED], env=os.environ, check=False)
    assert done.returncode == -signal.SIGKILL
    assert len(list(tmp_path.iterdir())) == 5
    next_one = ScratchFolder("pegboard-x-")
    assert set(tmp_path.iterdir()) == {mine.path, next_one.path, other, link, own}
    mine.close()
    next_one.close()


def test_where_nothing_can_be_locked_one_folder_is_made_and_it_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(file: int, exclusive: bool) -> bool:
        raise OSError("no locks here")

    monkeypatch.setattr("pegboard.sandboxes.scratch_folder.locked", refused)
    folder = ScratchFolder("pegboard-x-")
    assert list(tmp_path.iterdir()) == [folder.path]
    folder.close()
    assert list(tmp_path.iterdir()) == []
