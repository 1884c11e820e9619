"""The filter, run by a small machine of our own, for both architectures."""

from __future__ import annotations

import errno
import platform
import re
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pegboard_sandbox_bubblewrap.syscall_filter import (
    ALL_FAMILIES,
    ALLOW,
    KILL_PROCESS,
    REFUSE,
    filter_program,
)
from pegboard_sandbox_bubblewrap.syscall_numbers import (
    AUDIT_ARCH,
    CLONE,
    CLONE3,
    DENIED,
    IOCTL,
    SOCKET,
)

MACHINES = sorted(AUDIT_ARCH)
SPECIAL = {name: {SOCKET[name], IOCTL[name], CLONE[name], CLONE3[name]} for name in MACHINES}


def verdict(program: bytes, arch: int, number: int, *arguments: int) -> int:
    """Run a filter as the kernel does."""
    filled = [*arguments, *(0,) * (6 - len(arguments))]
    question = struct.pack("=IIQ6Q", number, arch, 0, *filled)
    code = [struct.unpack_from("HBBI", program, place) for place in range(0, len(program), 8)]
    loaded = place = 0
    while True:
        kind, yes, no, value = code[place]
        place += 1
        if kind == 0x06:
            return value
        if kind == 0x20:
            (loaded,) = struct.unpack_from("=I", question, value)
            continue
        holds = {0x15: loaded == value, 0x35: loaded >= value, 0x45: bool(loaded & value)}[kind]
        place += yes if holds else no


def refused(code: int) -> int:
    return REFUSE | code


@pytest.mark.parametrize("machine", MACHINES)
def test_what_is_denied_is_not_permitted_and_the_rest_is_allowed(machine: str) -> None:
    program, arch = filter_program(machine), AUDIT_ARCH[machine]
    denied = set(DENIED[machine].values())
    for number in set(range(500)) - SPECIAL[machine]:
        wanted = refused(errno.EPERM) if number in denied else ALLOW
        assert verdict(program, arch, number) == wanted, number


@pytest.mark.parametrize("machine", MACHINES)
def test_another_architecture_is_killed(machine: str) -> None:
    program = filter_program(machine)
    for other in (0x40000003, 0x40000028, *(set(AUDIT_ARCH.values()) - {AUDIT_ARCH[machine]})):
        assert verdict(program, other, 0) == KILL_PROCESS


def test_the_second_table_of_x86_is_not_there() -> None:
    program = filter_program("x86_64")
    for number in (0x40000000, 0x40000000 + 520, 0xFFFFFFFF):
        assert verdict(program, AUDIT_ARCH["x86_64"], number) == refused(errno.ENOSYS)


@pytest.mark.parametrize("machine", MACHINES)
@given(family=st.integers(0, 2**32 - 1), high=st.integers(0, 2**32 - 1))
def test_only_known_families_have_sockets(machine: str, family: int, high: int) -> None:
    program, arch = filter_program(machine), AUDIT_ARCH[machine]
    argument = family | high << 32  # the kernel looks at the low half alone
    wanted = ALLOW if family in ALL_FAMILIES else refused(errno.EAFNOSUPPORT)
    assert verdict(program, arch, SOCKET[machine], argument) == wanted


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("family", [*ALL_FAMILIES, 40])
def test_without_families_there_are_no_sockets(machine: str, family: int) -> None:
    program = filter_program(machine, families=())
    answer = verdict(program, AUDIT_ARCH[machine], SOCKET[machine], family)
    assert answer == refused(errno.EAFNOSUPPORT)


@pytest.mark.parametrize("machine", MACHINES)
def test_terminals_are_not_typed_into(machine: str) -> None:
    program, arch = filter_program(machine), AUDIT_ARCH[machine]
    for request in (0x5412, 0x541C, 0x5412 | 1 << 40):
        assert verdict(program, arch, IOCTL[machine], 0, request) == refused(errno.EPERM)
    assert verdict(program, arch, IOCTL[machine], 0, 0x5413) == ALLOW


@pytest.mark.parametrize("machine", MACHINES)
def test_clone_makes_processes_and_threads_but_no_namespaces(machine: str) -> None:
    program, arch = filter_program(machine), AUDIT_ARCH[machine]
    thread = 0x100 | 0x200 | 0x400 | 0x800 | 0x10000 | 0x40000
    for flags in (17, thread):
        assert verdict(program, arch, CLONE[machine], flags) == ALLOW
    for bit in (0x20000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000):
        assert verdict(program, arch, CLONE[machine], bit | 17) == refused(errno.EPERM)
    assert verdict(program, arch, CLONE3[machine]) == refused(errno.ENOSYS)


@pytest.mark.parametrize(
    ("machine", "header"),
    [
        ("x86_64", "/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
        ("aarch64", "/usr/include/asm-generic/unistd.h"),
    ],
)
def test_the_numbers_are_those_of_the_kernels_own_headers(machine: str, header: str) -> None:
    path = Path(header)
    if not path.is_file():
        pytest.skip(f"no {header} here (linux-libc-dev)")
    found = re.findall(r"#define\s+__NR(?:3264)?_(\w+)\s+(\d+)", path.read_text())
    known = {name: int(number) for name, number in found}
    ours = DENIED[machine] | {
        "socket": SOCKET[machine],
        "ioctl": IOCTL[machine],
        "clone": CLONE[machine],
        "clone3": CLONE3[machine],
    }
    wrong = {name: number for name, number in ours.items() if known.get(name, number) != number}
    assert wrong == {}
    assert len(set(ours) & set(known)) > 50


def test_this_machine_is_known() -> None:
    assert platform.machine() in MACHINES
