"""Start a program from a thread that has given up its rights, and ends with that.

Rights are given up by a thread, for good, and handed on to what it starts. So the host keeps its
own, and no code of ours runs between the start and the program.
"""

from __future__ import annotations

import errno
import gc
import os
import platform
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Final, TypeVar

from pegboard_sandbox_bubblewrap.landlock_rules import OLDEST, Ruleset, give_up_rights, version
from pegboard_sandbox_bubblewrap.limits import Limits, apply_limits
from pegboard_sandbox_bubblewrap.profile import supported_machine
from pegboard_sandbox_bubblewrap.syscall_filter import filter_program

T = TypeVar("T")
_COLLECTING: Final = threading.Lock()


def in_restricted_thread(
    start: Callable[[], subprocess.Popen[bytes]], ruleset: int, seccomp: bytes, limits: Limits
) -> subprocess.Popen[bytes]:
    """Start a program with fewer rights.

    Args:
        start: Starts it.
        ruleset: Descriptor of the Landlock rules.
        seccomp: The filter of system calls.
        limits: Greatest values by kind of resource.

    Raises:
        Exception: What giving up rights, or `start`, raises.
    """

    def restricted() -> subprocess.Popen[bytes]:
        give_up_rights(ruleset, seccomp)
        return start()

    process = _in_thread(restricted)
    apply_limits(process.pid, limits)
    return process


@cache
def why_not() -> str | None:
    """Return None when rights can be given up here, else why not; tried once in a process."""
    if not supported_machine():
        return "its filter of system calls is known for x86_64 and aarch64 only"
    abi = version()
    if abi == 0:
        return (
            "this kernel has no Landlock, or it is switched off: Linux 6.2 or newer, lsm=landlock"
        )
    if abi < OLDEST:
        return f"this kernel's Landlock (version {abi}) is too old: Linux 6.2 or newer is needed"
    rules = Ruleset(abi)
    try:
        return _in_thread(lambda: _try(rules.descriptor))
    except OSError as error:
        return f"the kernel refuses it: {error.strerror}"
    finally:
        rules.close()


def _try(ruleset: int) -> str | None:
    give_up_rights(ruleset, filter_program(platform.machine(), families=()))
    try:
        os.close(os.open("/", os.O_RDONLY | os.O_DIRECTORY))
    except OSError as error:
        return None if error.errno == errno.EACCES else f"it fails: {error.strerror}"
    return "the kernel accepts the rules and does not keep to them"


def _in_thread(work: Callable[[], T]) -> T:
    answers: list[T] = []
    errors: list[BaseException] = []

    def body() -> None:
        try:
            answers.append(work())
        except BaseException as error:  # raised again where it is waited for
            errors.append(error)

    thread = threading.Thread(target=body, name="pegboard-restricted")
    with _no_collection():
        thread.start()
        thread.join()
    if errors:
        raise errors[0]
    return answers[0]


@contextmanager
def _no_collection() -> Iterator[None]:
    """Keep finalizers of others out of a thread that could not open their files."""
    with _COLLECTING:
        was_on = gc.isenabled()
        gc.disable()
        try:
            yield
        finally:
            if was_on:
                gc.enable()
