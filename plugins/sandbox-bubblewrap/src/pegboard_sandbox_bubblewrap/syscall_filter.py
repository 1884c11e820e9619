"""The filter of system calls, as the program that the kernel runs before each call.

Everything is allowed but what reaches beyond a namespace, a file system or a terminal, and kinds of
sockets that a network namespace does not cover. It is built here, so that no library is needed.
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Iterable
from typing import Final

from pegboard_sandbox_bubblewrap.syscall_numbers import (
    AUDIT_ARCH,
    CLONE,
    CLONE3,
    DENIED,
    IOCTL,
    SOCKET,
    X32_BIT,
)

AF_UNIX: Final = 1
AF_INET: Final = 2
AF_INET6: Final = 10
AF_NETLINK: Final = 16
ALL_FAMILIES: Final = (AF_UNIX, AF_INET, AF_INET6, AF_NETLINK)
"""What programs use; AF_VSOCK and the like are in no network namespace, so they stay closed."""

LOAD: Final = 0x20
JUMP_IF_EQUAL: Final = 0x15
JUMP_IF_AT_LEAST: Final = 0x35
JUMP_IF_ANY_BIT: Final = 0x45
RETURN: Final = 0x06
ALLOW: Final = 0x7FFF0000
KILL_PROCESS: Final = 0x80000000
REFUSE: Final = 0x00050000
NUMBER, ARCH, ARGUMENT_0, ARGUMENT_1 = 0, 4, 16, 24
"""Where in the kernel's question these are; of an argument the low half, which is all that counts
for the ones looked at."""

_TIOCSTI: Final = 0x5412
_TIOCLINUX: Final = 0x541C
_NEW_NAMESPACES: Final = 0x7E020000
_INSTRUCTION: Final = "HBBI"

Instruction = tuple[int, int, int, int]


def filter_program(machine: str, *, families: Iterable[int] = ALL_FAMILIES) -> bytes:
    """Return the filter for an architecture.

    Args:
        machine: As `platform.machine()` says it; a key of `AUDIT_ARCH`.
        families: Address families that sockets may have.
    """
    code = [
        _load(ARCH),
        (JUMP_IF_EQUAL, 1, 0, AUDIT_ARCH[machine]),
        (RETURN, 0, 0, KILL_PROCESS),
        _load(NUMBER),
    ]
    if machine in X32_BIT:
        code += [(JUMP_IF_AT_LEAST, 0, 1, X32_BIT[machine]), _refuse(errno.ENOSYS)]
    code += _when(SOCKET[machine], _socket(tuple(families)))
    code += _when(IOCTL[machine], _ioctl())
    code += _when(CLONE[machine], _clone())
    # its arguments are in memory, where a filter can't look; libraries fall back to clone
    code += _when(CLONE3[machine], [_refuse(errno.ENOSYS)])
    for number in DENIED[machine].values():
        code += _when(number, [_refuse(errno.EPERM)])
    code.append(_allow())
    return b"".join(struct.pack(_INSTRUCTION, *instruction) for instruction in code)


def _when(number: int, body: list[Instruction]) -> list[Instruction]:
    """Return `body`, which ends with a verdict, for one system call."""
    return [(JUMP_IF_EQUAL, 0, len(body), number), *body]


def _socket(families: tuple[int, ...]) -> list[Instruction]:
    if not families:
        return [_refuse(errno.EAFNOSUPPORT)]
    known = [
        (JUMP_IF_EQUAL, len(families) - place, 0, family) for place, family in enumerate(families)
    ]
    return [_load(ARGUMENT_0), *known, _refuse(errno.EAFNOSUPPORT), _allow()]


def _ioctl() -> list[Instruction]:
    return [
        _load(ARGUMENT_1),
        (JUMP_IF_EQUAL, 1, 0, _TIOCSTI),
        (JUMP_IF_EQUAL, 0, 1, _TIOCLINUX),
        _refuse(errno.EPERM),
        _allow(),
    ]


def _clone() -> list[Instruction]:
    return [
        _load(ARGUMENT_0),
        (JUMP_IF_ANY_BIT, 0, 1, _NEW_NAMESPACES),
        _refuse(errno.EPERM),
        _allow(),
    ]


def _load(place: int) -> Instruction:
    return (LOAD, 0, 0, place)


def _refuse(code: int) -> Instruction:
    return (RETURN, 0, 0, REFUSE | code)


def _allow() -> Instruction:
    return (RETURN, 0, 0, ALLOW)
