"""Where the control socket is, and which sockets are none of ours."""

from __future__ import annotations

import os
import socket
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from pegboard.contracts.errors import StoreError
from pegboard.host.control.peer import is_ours, peer_uid
from pegboard.host.control.place import NOTE, fits, socket_folder, socket_to_make, socket_to_use

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs Unix sockets")


@pytest.fixture
def short() -> Iterator[Path]:
    """A folder with a short path."""
    with tempfile.TemporaryDirectory(prefix="pb-", dir="/tmp") as folder:
        yield Path(folder)


@pytest.fixture
def far(tmp_path: Path, short: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A state folder whose path is too long for a socket."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(short))
    folder = tmp_path / ("x" * 100) / "state"
    folder.mkdir(parents=True)
    return folder


def listen(path: Path) -> socket.socket:
    own = socket.socket(socket.AF_UNIX)
    own.bind(str(path))
    own.listen()
    return own


def test_it_is_in_the_state_folder_where_its_path_is_short_enough(short: Path) -> None:
    path = socket_to_make(short)
    assert path == short / "control.sock"
    assert socket_to_use(short) is None
    with listen(path):
        assert socket_to_use(short) == path


def test_else_in_a_private_folder_that_a_file_names(far: Path, short: Path) -> None:
    path = socket_to_make(far)
    assert fits(path)
    assert path.is_relative_to(short)
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert (far / NOTE).read_text().strip() == str(path)
    assert socket_to_use(far) is None
    with listen(path):
        assert socket_to_use(far) == path
    assert socket_to_make(far) == path, "the same each time"
    assert socket_folder(far) == (path.parent,)
    assert socket_folder(short) == ()


def test_two_homes_have_two(far: Path) -> None:
    other = far.parent / "other"
    other.mkdir()
    assert socket_to_make(far) != socket_to_make(other)


def test_a_folder_that_others_can_enter_is_refused(far: Path) -> None:
    path = socket_to_make(far)
    path.parent.chmod(0o755)
    with pytest.raises(StoreError, match="not yours alone"):
        socket_to_make(far)
    with listen(path):
        assert socket_to_use(far) is None


def test_a_link_in_place_of_the_folder_is_refused(far: Path, short: Path) -> None:
    path = socket_to_make(far)
    path.parent.rmdir()
    (short / "own").mkdir(mode=0o700)
    path.parent.symlink_to(short / "own")
    with pytest.raises(StoreError, match="not yours alone"):
        socket_to_make(far)
    with listen(path):
        assert socket_to_use(far) is None


def test_a_file_is_no_socket(short: Path) -> None:
    (short / "control.sock").touch()
    assert socket_to_use(short) is None


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="needs root")
def test_the_socket_of_another_user_is_not_used(short: Path) -> None:
    path = socket_to_make(short)
    with listen(path):
        os.chown(path, 65534, 65534)
        assert socket_to_use(short) is None


@pytest.mark.parametrize("text", ["", "nowhere", "/nowhere/at/all", "\ud800", "/etc/passwd"])
def test_a_note_that_names_no_socket_names_none(far: Path, text: str) -> None:
    (far / NOTE).write_bytes(text.encode("utf-8", "surrogatepass"))
    assert socket_to_use(far) is None


def test_the_kernel_says_who_is_at_the_other_end() -> None:
    one, other = socket.socketpair()
    with one, other:
        assert peer_uid(one) in (os.geteuid(), None)
        assert is_ours(one)
