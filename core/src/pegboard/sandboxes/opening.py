"""Reach a place below the grants without ever being led out of them.

The fast way is one system call that follows no link. Where a link is met, or the call is missing,
the path is walked component by component: no component is followed by the kernel, every link is
read and judged here. Both ways end at an open folder and one plain name in it, so that nothing that
is moved meanwhile can lead elsewhere.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from pegboard.contracts.errors import SandboxError
from pegboard.sandboxes import explain
from pegboard.sandboxes.access import check, check_objects, outside
from pegboard.sandboxes.grants import CLOSE_ON_EXEC, GrantTable
from pegboard.sandboxes.lookup import NO_FOLLOW, Spot, Walker
from pegboard.sandboxes.paths import Parts, PathText
from pegboard.sandboxes.protected import KEY_START, is_private_key, may_be_key

_NO_WAIT: Final = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)


@contextmanager
def reach(
    table: GrantTable,
    path: PathText,
    *,
    write: bool = False,
    follow: bool = True,
    created: list[Parts] | None = None,
) -> Iterator[Spot]:
    """Open the folder that holds `path`, and judge the place against grants and protection.

    Args:
        table: The grants.
        path: The place.
        write: Whether it is to be changed.
        follow: Whether a link at the end stands for its target.
        created: When given, missing folders on the way are made, and noted here.

    Raises:
        SandboxError: When it is outside the grants, protected, or behind a link that leads out.
        FileNotFoundError, NotADirectoryError, PermissionError: As the operating system says.
    """
    chosen = table.choose(path.parts)
    if chosen is None:
        raise outside(table, path, path.parts, write=write)
    root, rest = chosen
    # judged as it is spelled first, so that a closed place does not even tell what it holds
    named = (*root.parts, *rest)
    check(table, path, named, write=write)
    with table.use():
        walker = Walker(table, path, write=write, created=created)
        spot = walker.direct(root, rest) or walker.walk(root, rest, last=follow)
        try:
            if follow and spot.found is not None and stat.S_ISLNK(spot.found.st_mode):
                os.close(spot.folder)
                spot.folder = -1
                spot = walker.walk(root, rest, last=True)
            if spot.parts != named:  # where no link was met, that was judged
                check(table, path, spot.parts, write=write)
            facts = [os.fstat(spot.folder), *filter(None, [spot.found])]
            check_objects(table, path, facts, write=write)
            yield spot
        finally:
            if spot.folder >= 0:
                os.close(spot.folder)


def open_file(spot: Spot) -> int:
    """Open the regular file at a spot to be read, without waiting for anything.

    Raises:
        FileNotFoundError: When there is nothing.
        IsADirectoryError: When it is a folder.
        SandboxError: When it is no regular file, or a second name of somebody else's file, or a
            private key.
    """
    text = spot.path.text
    if spot.found is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), text)
    refuse_special(spot.found.st_mode, text)
    if spot.path.folder:
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), text)
    fd = os.open(spot.name, os.O_RDONLY | NO_FOLLOW | _NO_WAIT | CLOSE_ON_EXEC, dir_fd=spot.folder)
    try:
        opened = os.fstat(fd)
        refuse_special(opened.st_mode, text)
        if opened.st_nlink > 1 and opened.st_uid != os.geteuid():
            raise SandboxError(
                f"{text} is another name of a file that belongs to somebody else",
                fix="No grant opens it: ask the person for a copy of it.",
                path=text,
            )
        if may_be_key(spot.name) and is_private_key(spot.name, os.pread(fd, KEY_START, 0)):
            raise explain.protected(text, "key", write=False, place=text)
    except BaseException:
        os.close(fd)
        raise
    return fd


def open_folder(spot: Spot) -> int:
    """Open the folder at a spot to be listed.

    Raises:
        FileNotFoundError, NotADirectoryError: When there is nothing, or no folder.
    """
    if spot.found is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), spot.path.text)
    flags = os.O_RDONLY | os.O_DIRECTORY | NO_FOLLOW | CLOSE_ON_EXEC
    try:
        return os.open(spot.name or ".", flags, dir_fd=spot.folder)
    except OSError as error:
        if error.errno in (errno.ENOTDIR, errno.ELOOP):
            raise NotADirectoryError(
                errno.ENOTDIR, os.strerror(errno.ENOTDIR), spot.path.text
            ) from None
        raise


def refuse_special(mode: int, text: str) -> None:
    """Refuse what is neither a regular file nor, with its own error, a folder.

    Raises:
        IsADirectoryError: For a folder.
        SandboxError: For a FIFO, a socket, a device, or a link that appeared meanwhile.
    """
    if stat.S_ISREG(mode):
        return
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), text)
    kinds = {
        stat.S_IFIFO: "fifo",
        stat.S_IFSOCK: "socket",
        stat.S_IFCHR: "character device",
        stat.S_IFBLK: "block device",
        stat.S_IFLNK: "symbolic link",
    }
    raise explain.not_regular(text, kinds.get(stat.S_IFMT(mode), "unknown kind"))
