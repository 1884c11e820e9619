"""Where the control socket is: in the state folder, or in a short path that a file there names."""

from __future__ import annotations

import hashlib
import os
import socket
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final

from pegboard.config.paths import make_private
from pegboard.config.private_file import write_private
from pegboard.contracts.errors import StoreError

NAME: Final = "control.sock"
NOTE: Final = "control.path"
"""File that names the socket where its own path would be too long for one."""
LONGEST: Final = 103
"""Bytes of the path of a socket: 107 on Linux, 103 on macOS."""


def require_sockets() -> None:
    """Refuse a system without Unix sockets.

    Raises:
        StoreError: When this is one.
    """
    if not hasattr(socket, "AF_UNIX"):
        raise StoreError(
            "A host that stays needs Unix sockets, which Python does not have on this system.",
            fix="pegboard chat",
        )


def socket_to_make(state: Path) -> Path:
    """Return where a host puts its socket; only its owner can enter that folder.

    Raises:
        StoreError: When there is no such folder that is safe.
    """
    path = state / NAME
    note = state / NOTE
    if fits(path):
        note.unlink(missing_ok=True)
        return path
    path = _short(state)
    write_private(note, f"{path}\n", durable=False)
    return path


def socket_to_use(state: Path) -> Path | None:
    """Return the socket of the host that owns the store; None when there is none.

    One that somebody else has put there is none: a folder for temporary files is everybody's.
    """
    path = state / NAME
    if not fits(path):
        try:
            path = Path((state / NOTE).read_text(encoding="utf-8").strip())
        except (OSError, UnicodeDecodeError):
            return None
    try:
        folder, own = path.parent.lstat(), path.lstat()
    except OSError:
        return None
    if not stat.S_ISSOCK(own.st_mode) or own.st_uid != os.geteuid():
        return None
    return path if path.parent == state or _is_own(folder) else None


def socket_folder(state: Path) -> tuple[Path, ...]:
    """Return the folder outside the state folder that the socket is in, if it is in one.

    It is as closed to tools as the state folder: who reaches the socket may do what the person may.
    """
    with suppress(OSError, UnicodeDecodeError):
        path = Path((state / NOTE).read_text(encoding="utf-8").strip())
        if path.name == NAME:
            return (path.parent,)
    return ()


def fits(path: Path) -> bool:
    """Tell whether a path is short enough for a socket."""
    return len(os.fsencode(path)) <= LONGEST


def _short(state: Path) -> Path:
    """Return a short path for the socket, in a folder that belongs to this user alone."""
    digest = hashlib.sha256(os.fsencode(state)).hexdigest()[:12]
    name = f"pegboard-{os.geteuid()}-{digest}"
    for base in _bases():
        path = base / name / NAME
        if not fits(path) or not base.is_dir():
            continue
        folder = path.parent
        make_private(folder)
        if not _is_own(folder.lstat()):
            raise StoreError(
                f"The folder {folder} for the control socket is not yours alone.",
                fix=f"rm -r {folder}",
            )
        return path
    raise StoreError(
        f"The path of the control socket would be too long: {state / NAME}.",
        fix="set XDG_RUNTIME_DIR, or TMPDIR, to a folder with a short path",
    )


def _bases() -> list[Path]:
    given = [os.environ.get("XDG_RUNTIME_DIR", ""), tempfile.gettempdir(), "/tmp"]
    return [Path(name) for name in given if name]


def _is_own(folder: os.stat_result) -> bool:
    own = stat.S_ISDIR(folder.st_mode) and folder.st_uid == os.geteuid()
    return own and not stat.S_IMODE(folder.st_mode) & 0o077
