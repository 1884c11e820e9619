"""Replace a file as one step, through an open folder, leaving nothing behind when it fails."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from pegboard.sandboxes.grants import CLOSE_ON_EXEC
from pegboard.sandboxes.syscalls import rename_new

_NOFOLLOW: Final = getattr(os, "O_NOFOLLOW", 0)
_UNNAMED: Final = getattr(os, "O_TMPFILE", 0)
_DESCRIPTORS: Final = "/proc/self/fd"
_NEW_MODE: Final = 0o666  # the umask takes away what the person does not want
_KEPT_MODE: Final = 0o1777  # set-user-id and set-group-id do not survive a change of content
_PLAIN_MODE: Final = 0o777  # what is made for a caller gives nobody another's rights
_CAPABILITY: Final = "security.capability"  # nor do rights of a program
_NAME_ROOM: Final = 200  # bytes; leaves room for the mark in the 255 that a name may have


def replace_file(
    folder: int,
    name: str,
    data: bytes,
    *,
    old: os.stat_result | None,
    must_be_new: bool = False,
    new_mode: int | None = None,
    durable: bool = True,
) -> None:
    """Write `data` beside the file and put it in its place.

    Mode, owner, access list and extended attributes of an existing file are kept where the system
    lets us. A file with several names keeps its other names unchanged: only this one moves.

    Args:
        folder: Descriptor of the folder.
        name: A plain name in it.
        data: The new content.
        old: What is there now, not following a link.
        must_be_new: Fail when something is there by then.
        new_mode: Permission bits of a file that was not there; None = as the umask says.
        durable: Wait until the content and the name are on the disk.

    Raises:
        FileExistsError: When it must be new and is not.
        PermissionError: When the file or its folder may not be written.
    """
    if old is not None and not _writable(folder, name):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), name)
    beside = _beside(name)

    def fill(fd: int) -> None:
        _write_all(fd, data)
        if old is not None:
            _copy_marks(folder, name, fd, old)
        elif new_mode is not None:
            os.fchmod(fd, new_mode & _PLAIN_MODE)
        if durable:
            os.fsync(fd)

    mode = _NEW_MODE if old is None and new_mode is None else 0o600
    try:
        if not _made_unnamed(folder, beside, mode, fill):
            _make_named(folder, beside, mode, fill)
        if must_be_new:
            rename_new(beside, name, source_fd=folder, target_fd=folder)
        else:
            os.rename(beside, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(beside, dir_fd=folder)
        raise
    if durable:
        _sync_folder(folder)


def _made_unnamed(folder: int, beside: str, mode: int, fill: Callable[[int], None]) -> bool:
    """Make a file that gets its name when it is whole; False where the system has none such.

    A process that is killed while it writes leaves nothing behind then.
    """
    if not _UNNAMED or not os.access(_DESCRIPTORS, os.X_OK):
        return False
    try:
        fd = os.open(".", os.O_WRONLY | _UNNAMED | CLOSE_ON_EXEC, mode, dir_fd=folder)
    except OSError:  # not here, or not at all: making one with a name tells
        return False
    try:
        fill(fd)
        return _named(fd, folder, beside)
    finally:
        os.close(fd)


def _named(fd: int, folder: int, name: str) -> bool:
    """Give a file a name; False where it can get none.

    A kernel may keep us from naming what now has another owner, and a file system may have files
    without a name but no links.
    """
    try:
        os.link(f"{_DESCRIPTORS}/{fd}", name, dst_dir_fd=folder, follow_symlinks=True)
    except OSError:
        return False
    return True


def _make_named(folder: int, beside: str, mode: int, fill: Callable[[int], None]) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NOFOLLOW | CLOSE_ON_EXEC
    fd = os.open(beside, flags, mode, dir_fd=folder)
    try:
        fill(fd)
    finally:
        os.close(fd)


def _write_all(fd: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


def _writable(folder: int, name: str) -> bool:
    # a rename would replace a file that is only to be read
    effective = os.access in os.supports_effective_ids
    return os.access(name, os.W_OK, dir_fd=folder, effective_ids=effective)


def _copy_marks(folder: int, name: str, fd: int, old: os.stat_result) -> None:
    made = os.fstat(fd)  # its group may be the folder's
    if (old.st_uid, old.st_gid) != (made.st_uid, made.st_gid):
        _keep_owner(fd, old)
    if hasattr(os, "listxattr"):
        _copy_attributes(folder, name, fd)
    os.fchmod(fd, stat.S_IMODE(old.st_mode) & _KEPT_MODE)


def _keep_owner(fd: int, old: os.stat_result) -> None:
    for user in (old.st_uid, -1):
        with suppress(PermissionError):
            os.fchown(fd, user, old.st_gid)
            return


def _copy_attributes(folder: int, name: str, fd: int) -> None:
    # access lists are extended attributes too; a file system may have none of them
    with suppress(OSError):
        source = os.open(
            name, os.O_RDONLY | _NOFOLLOW | os.O_NONBLOCK | CLOSE_ON_EXEC, dir_fd=folder
        )
        try:
            for attribute in os.listxattr(source):
                if attribute == _CAPABILITY:
                    continue
                with suppress(OSError):
                    os.setxattr(fd, attribute, os.getxattr(source, attribute))
        finally:
            os.close(source)


def _sync_folder(folder: int) -> None:
    # an O_PATH descriptor can't be synced; a file system may refuse to sync a folder at all
    with suppress(OSError):
        fd = os.open(".", os.O_RDONLY | os.O_DIRECTORY | CLOSE_ON_EXEC, dir_fd=folder)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def _beside(name: str) -> str:
    start = os.fsencode(name)[:_NAME_ROOM]
    mark = secrets.token_hex(6).encode()
    return os.fsdecode(b"." + start + b"." + mark + b".tmp")
