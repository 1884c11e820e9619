"""The profile that confines one command: bwrap, its arguments and what it is given to read."""

from __future__ import annotations

import os
import platform
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

from pegboard import SandboxError
from pegboard.sandboxes import Launch
from pegboard_sandbox_bubblewrap.arguments import (
    COMMAND_FILE,
    MAX_ARGUMENTS,
    View,
    sandbox_arguments,
)
from pegboard_sandbox_bubblewrap.descriptors import Descriptors
from pegboard_sandbox_bubblewrap.host_system import account_files
from pegboard_sandbox_bubblewrap.syscall_filter import filter_program
from pegboard_sandbox_bubblewrap.syscall_numbers import AUDIT_ARCH

_OUTER_ARGUMENTS: Final = 40
"""Room for what is said beside the profile and the command."""
_MANY: Final = 4000
"""Arguments of a command beyond which it goes in a file."""


@dataclass(frozen=True, slots=True)
class Wrapped:
    """A command, wrapped.

    Args:
        launch: How it is started.
        status: Where bwrap says what happens.
        release: What lets it go on when it is closed.
        given: Descriptors that only bwrap needs once it has started.
    """

    launch: Launch
    status: int
    release: int
    given: tuple[int, ...]


def wrap(binary: str, view: View, argv: Sequence[str], descriptors: Descriptors) -> Wrapped:
    """Return how a command is started inside a view.

    Raises:
        SandboxError: When there is more to lay over than bwrap can.
    """
    files = {name: descriptors.content("file", data) for name, data in account_files().items()}
    if len(argv) > _MANY:
        text = f"exec {shlex.join(argv)}\n"
        files[COMMAND_FILE] = descriptors.content("command", os.fsencode(text))
        argv = ("/bin/sh", COMMAND_FILE)
    arguments = sandbox_arguments(replace(view, files=files))
    if len(arguments) + len(argv) + _OUTER_ARGUMENTS > MAX_ARGUMENTS:
        raise SandboxError(
            f"too much is granted, or too many variables set, for one command: {len(arguments)} "
            f"arguments, where bwrap takes {MAX_ARGUMENTS}",
            fix="Grant fewer folders that contain the others: pegboard revoke PATH",
        )
    seccomp = descriptors.content("seccomp", system_call_filter())
    status_reading, status = descriptors.pipe()
    block, release = descriptors.pipe()
    given_by_number = {"--seccomp": seccomp, "--json-status-fd": status, "--block-fd": block}
    for option, descriptor in given_by_number.items():
        arguments += (option, str(descriptor))
    profile = descriptors.arguments(arguments)
    given = (profile, seccomp, status, block, *files.values())
    launch = Launch(
        argv=(binary, "--args", str(profile), "--", *argv),
        cwd="/",
        env={},
        pass_fds=given,
        own_processes=True,
    )
    return Wrapped(launch, status_reading, release, given)


def supported_machine() -> bool:
    """Return whether the filter of system calls is known for this architecture."""
    return platform.machine() in AUDIT_ARCH


@cache
def system_call_filter() -> bytes:
    """Return the filter for this machine."""
    return filter_program(platform.machine())
