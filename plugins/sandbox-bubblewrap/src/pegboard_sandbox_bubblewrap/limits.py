"""Resource limits of a confined command."""

from __future__ import annotations

import os
import resource
import shutil
from collections.abc import Iterator, Sequence
from typing import Final

from pegboard import Completed, SandboxError
from pegboard_sandbox_bubblewrap.config import ConfinedSettings

Limits = dict[int, int]
"""Greatest values by kind of resource."""
_MIB: Final = 1 << 20
_PATH: Final = "/usr/bin:/bin:/usr/sbin:/sbin"
_OPTIONS: Final = {
    resource.RLIMIT_CORE: "core",
    resource.RLIMIT_FSIZE: "fsize",
    resource.RLIMIT_NOFILE: "nofile",
    resource.RLIMIT_NPROC: "nproc",
}


def limits_of(settings: ConfinedSettings, *, own_users: bool = True) -> Limits:
    """Return the limits that the settings ask for. No core files are ever written.

    Args:
        settings: What the operator decides.
        own_users: Whether commands are in a namespace of users of their own.
    """
    found = {resource.RLIMIT_CORE: 0}
    if settings.max_file_mb:
        found[resource.RLIMIT_FSIZE] = settings.max_file_mb * _MIB
    if settings.max_open_files:
        found[resource.RLIMIT_NOFILE] = settings.max_open_files
    if settings.max_processes and own_users and os.getuid() != 0 and counts_by_namespace():
        found[resource.RLIMIT_NPROC] = settings.max_processes
    return found


def counts_by_namespace() -> bool:
    """Return whether processes are counted for each user namespace apart.

    Where they are not, a limit would count everything that the person runs.
    """
    major, minor = (int("".join(filter(str.isdigit, part))) for part in _release()[:2])
    return (major, minor) >= (5, 14)


def limited(argv: Sequence[str], limits: Limits) -> tuple[str, ...]:
    """Return a command that takes limits upon itself, so that they hold from its first moment.

    Without the program prlimit it is returned as it is.
    """
    program = shutil.which("prlimit", path=_PATH)
    if program is None or not limits:
        return tuple(argv)
    options = (f"--{_OPTIONS[kind]}={value}:{value}" for kind, value in _lowest(0, limits))
    return (program, *options, "--", *argv)


def start_failure(done: Completed, program: str) -> SandboxError | None:
    """Return what it means that prlimit could not start the command, or None when it did."""
    said = done.stderr.text()
    named = program in said.partition("\n")[0]  # else the command itself ran some prlimit
    if done.exit_code not in (126, 127) or not said.startswith("prlimit: ") or not named:
        return None
    if done.exit_code == 127:
        return SandboxError(
            f"no program named {program} here", fix=f"Install {program}, or name another program."
        )
    return SandboxError(
        f"can't start {program}: {said.strip().rpartition(': ')[2]}",
        fix="Name a program that may be run.",
    )


def _lowest(pid: int, limits: Limits) -> Iterator[tuple[int, int]]:
    """Yield the limits that a process may be given: none is above the one that it has."""
    for kind, value in limits.items():
        hardest = resource.prlimit(pid, kind)[1]
        yield kind, value if hardest == resource.RLIM_INFINITY else min(value, hardest)


def apply_limits(pid: int, limits: Limits) -> None:
    """Lower the limits of a process, and of what it starts from now on.

    Raises:
        SandboxError: When the system does not let us.
    """
    try:
        for kind, lowest in _lowest(pid, limits):
            resource.prlimit(pid, kind, (lowest, lowest))
    except ProcessLookupError:
        return  # it has ended
    except OSError as error:
        raise SandboxError(
            f"the limits of a command can't be set: {error.strerror}", fix="pegboard doctor"
        ) from error


def _release() -> list[str]:
    return [*os.uname().release.split("."), "0"]
