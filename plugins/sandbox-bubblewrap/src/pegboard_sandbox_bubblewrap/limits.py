"""Resource limits of a confined command."""

from __future__ import annotations

import os
import resource
from typing import Final

from pegboard import SandboxError
from pegboard_sandbox_bubblewrap.config import ConfinedSettings

Limits = dict[int, int]
"""Greatest values by kind of resource."""
_MIB: Final = 1 << 20


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


def apply_limits(pid: int, limits: Limits) -> None:
    """Lower the limits of a process, and of what it starts from now on.

    Raises:
        SandboxError: When the system does not let us.
    """
    try:
        for kind, value in limits.items():
            _, hardest = resource.prlimit(pid, kind)
            lowest = value if hardest == resource.RLIM_INFINITY else min(value, hardest)
            resource.prlimit(pid, kind, (lowest, lowest))
    except ProcessLookupError:
        return  # it has ended
    except OSError as error:
        raise SandboxError(
            f"the limits of a command can't be set: {error.strerror}", fix="pegboard doctor"
        ) from error


def _release() -> list[str]:
    return [*os.uname().release.split("."), "0"]
