"""The two system calls that Python does not offer: open below a folder, rename without replacing.

Both have a fallback, so a missing call (an old kernel, macOS, a filter) costs speed, not safety.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys
from functools import cache
from typing import Any, Final

RESOLVE_NO_MAGICLINKS: Final = 0x02
RESOLVE_NO_SYMLINKS: Final = 0x04
RESOLVE_BENEATH: Final = 0x08

_OPENAT2: Final = 437  # the same number on every architecture
_HOW_SIZE: Final = 24
_RENAME_NOREPLACE: Final = 1
_TRIES: Final = 128
_ABSENT: Final = frozenset({errno.ENOSYS, errno.EPERM, errno.EINVAL, errno.E2BIG})


def open_below(folder: int, path: str, flags: int) -> int | None:
    """Open `path` below the open folder, following no symbolic link and leaving it by no way.

    Args:
        folder: Descriptor of the folder.
        path: Relative, without NUL bytes (a C string would end there).
        flags: As for `os.open`; close-on-exec is added.

    Returns:
        A descriptor, or None when this system lacks the call.

    Raises:
        OSError: ELOOP for a symbolic link on the way, EXDEV for a way out, and what `open` raises.
    """
    libc = _libc()
    if libc is None:
        return None
    how = struct.pack(
        "QQQ",
        flags | os.O_CLOEXEC,
        0,
        RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS,
    )
    raw = os.fsencode(path)
    for _ in range(_TRIES):
        descriptor = int(libc.syscall(_OPENAT2, folder, raw, how, ctypes.c_size_t(_HOW_SIZE)))
        if descriptor >= 0:
            return descriptor
        code = ctypes.get_errno()
        if code not in (errno.EAGAIN, errno.EINTR):
            break
    if code in _ABSENT or code == errno.EAGAIN:
        return None
    raise OSError(code, os.strerror(code), path)


def rename_new(source: str, target: str, *, source_fd: int, target_fd: int) -> None:
    """Rename `source` to `target`, which must not exist.

    One step where the kernel can; else looked at first, which leaves a moment between the two.

    Raises:
        FileExistsError: When the target exists.
    """
    libc = _libc()
    call = getattr(libc, "renameat2", None) if libc is not None else None
    if call is not None:
        flags = ctypes.c_uint(_RENAME_NOREPLACE)
        if call(source_fd, os.fsencode(source), target_fd, os.fsencode(target), flags) == 0:
            return
        code = ctypes.get_errno()
        if code not in _ABSENT:
            raise OSError(code, os.strerror(code), target)
    try:
        os.stat(target, dir_fd=target_fd, follow_symlinks=False)
    except FileNotFoundError:
        os.rename(source, target, src_dir_fd=source_fd, dst_dir_fd=target_fd)
        return
    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target)


@cache
def _libc() -> Any:
    if sys.platform != "linux":
        return None
    library = ctypes.CDLL(None, use_errno=True)
    library.syscall.restype = ctypes.c_long
    return library
