"""Landlock, the kernel's own way for a thread to give up rights, without any library."""

from __future__ import annotations

import ctypes
import os
import stat
import struct
import sys
from functools import cache
from typing import Any, Final

CREATE, ADD, RESTRICT = 444, 445, 446
"""System calls, the same numbers on every architecture."""
_ASK_VERSION: Final = 1
_BENEATH: Final = 1
_NO_NEW_PRIVILEGES: Final = 38
_SECCOMP: Final = 22
_SECCOMP_FILTER: Final = 2
_DROP_BOUND: Final = 24
_LAST_CAPABILITY: Final = 63
_CAPABILITY_VERSION: Final = 0x20080522

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
MAKE_CHAR, MAKE_BLOCK = 1 << 6, 1 << 11
TRUNCATE, IOCTL_DEV = 1 << 14, 1 << 15
NET: Final = 0b11
SCOPED: Final = 0b11
READ: Final = EXECUTE | READ_FILE | READ_DIR
_OF_FILES: Final = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
_RIGHTS: Final = {1: 13, 2: 14, 3: 15, 4: 15}
"""Kinds of access by version; 16 from the fifth on."""
OLDEST: Final = 3
"""The first version that keeps files outside from being cut short."""
_WITH_NET: Final = 4
_WITH_SCOPES: Final = 6


def version() -> int:
    """Return the version of Landlock here, 0 = there is none."""
    libc = _libc()
    if libc is None:
        return 0
    return max(0, int(libc.syscall(CREATE, None, ctypes.c_size_t(0), _ASK_VERSION)))


class Ruleset:
    """What a thread, and all that it starts, may still reach.

    Args:
        abi: The version of Landlock.
        close_network: Whether TCP is closed too, where this version can.
    """

    def __init__(self, abi: int, *, close_network: bool = True) -> None:
        self._handled = (1 << _RIGHTS.get(abi, 16)) - 1
        net = NET if abi >= _WITH_NET and close_network else 0
        scoped = SCOPED if abi >= _WITH_SCOPES else 0
        size = 8 if abi < _WITH_NET else 16 if abi < _WITH_SCOPES else 24
        attributes = struct.pack("QQQ", self._handled, net, scoped)[:size]
        self.descriptor = _call(CREATE, attributes, ctypes.c_size_t(size), 0)

    def allow_read(self, path: str) -> None:
        """Let everything below a path be read and run."""
        self._allow(path, READ)

    def allow_write(self, path: str) -> None:
        """Let everything below a path be changed; no devices are made there."""
        self._allow(path, self._handled & ~(MAKE_CHAR | MAKE_BLOCK))

    def _allow(self, path: str, rights: int) -> None:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            if not stat.S_ISDIR(os.fstat(place).st_mode):
                rights &= _OF_FILES
            _call(
                ADD, self.descriptor, _BENEATH, struct.pack("=Qi", rights & self._handled, place), 0
            )
        finally:
            os.close(place)

    def close(self) -> None:
        """Give the descriptor back."""
        os.close(self.descriptor)


def give_up_rights(ruleset: int, seccomp: bytes) -> None:
    """Restrict this thread, for good: files, capabilities, new rights, system calls.

    Args:
        ruleset: Descriptor of the rules.
        seccomp: The filter of system calls.

    Raises:
        OSError: When the kernel refuses one of them.
    """
    if os.getuid() == 0:
        _drop_capabilities()
    _prctl(_NO_NEW_PRIVILEGES, 1)
    _call(RESTRICT, ruleset, 0)
    program = ctypes.create_string_buffer(seccomp, len(seccomp))
    header = struct.pack("HxxxxxxP", len(seccomp) // 8, ctypes.addressof(program))
    _prctl(_SECCOMP, _SECCOMP_FILTER, ctypes.c_char_p(header))


def _drop_capabilities() -> None:
    for capability in range(_LAST_CAPABILITY + 1):
        if _libc().prctl(_DROP_BOUND, capability, 0, 0, 0) != 0:
            break  # the last one that this kernel knows was the one before
    header = struct.pack("Ii", _CAPABILITY_VERSION, 0)
    if _libc().capset(ctypes.c_char_p(header), ctypes.c_char_p(bytes(24))) != 0:
        raise _error()


def _prctl(option: int, *arguments: Any) -> None:
    filled = [*arguments, *(0,) * (4 - len(arguments))]
    if _libc().prctl(option, *filled) != 0:
        raise _error()


def _call(number: int, *arguments: Any) -> int:
    answer = int(_libc().syscall(number, *arguments))
    if answer < 0:
        raise _error()
    return answer


def _error() -> OSError:
    code = ctypes.get_errno()
    return OSError(code, os.strerror(code))


@cache
def _libc() -> Any:
    if sys.platform != "linux":
        return None
    library = ctypes.CDLL(None, use_errno=True)
    library.syscall.restype = ctypes.c_long
    return library
