"""Try bubblewrap once in this process, and say what its errors mean."""

from __future__ import annotations

import sys
from typing import Final

from pegboard import Command, Completed, SandboxError
from pegboard.sandboxes import Places, run_process
from pegboard_sandbox_bubblewrap.arguments import View
from pegboard_sandbox_bubblewrap.binary import INSTALL, Binary, find_binaries, why_none
from pegboard_sandbox_bubblewrap.descriptors import Descriptors, StatusPipe
from pegboard_sandbox_bubblewrap.host_system import look_at_host
from pegboard_sandbox_bubblewrap.profile import supported_machine, wrap

_TRIED: dict[str, str | None] = {}
"""By path of the program: None when it has worked in this process, else why not."""
_TRY_S: Final = 10.0
_CONTAINER: Final = (
    "this container or kernel refuses user namespaces; allow them (docker: --security-opt "
    "seccomp=unconfined, kernel: sysctl user.max_user_namespaces), or use the sandbox landlock"
)
_APPARMOR: Final = (
    "AppArmor refuses user namespaces; allow them for bwrap with a profile of its own, or with: "
    "sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0"
)
_MEANINGS: Final = (
    ("No permissions to creat", _CONTAINER),
    ("Creating new namespace failed", _CONTAINER),
    ("setting up uid map", _APPARMOR),
    ("Failed RTM_NEWADDR", _APPARMOR),
    ("Failed to make / slave", _CONTAINER),
    ("Unknown option", f"it is too old; {INSTALL}"),
    (
        "Can't mount proc",
        "this container hides /proc; run it with --security-opt systempaths="
        "unconfined, or use the sandbox landlock",
    ),
)


async def working_binary() -> Binary | str:
    """Return the bwrap to use, or why there is none and what to do."""
    if sys.platform != "linux":
        return "it works on Linux only"
    if not supported_machine():
        return "its filter of system calls is known for x86_64 and aarch64 only"
    binaries = find_binaries()
    if not binaries:
        return why_none()
    for binary in binaries:
        if binary.path not in _TRIED:
            _TRIED[binary.path] = await _try(binary)
        if _TRIED[binary.path] is None:
            return binary
    return _TRIED[binaries[0].path] or why_none()


def setup_error(done: Completed, program: str) -> SandboxError:
    """Return what it means that bwrap has ended before the command ran."""
    said = done.stderr.text().strip().partition("\n")[0].removeprefix("bwrap: ")
    if said.startswith(f"execvp {program}: No such file"):
        return SandboxError(
            f"no program named {program} in the sandbox",
            fix=f"Install {program} for the whole system, or grant its folder: pegboard grant PATH",
        )
    if said.startswith("execvp "):
        return SandboxError(
            f"can't start {program}: {said.rpartition(': ')[2]}",
            fix="Name a program that may be run.",
        )
    return SandboxError(
        f"the sandbox could not be built: {_meaning(said)}", fix="pegboard sandbox explain"
    )


async def _try(binary: Binary) -> str | None:
    command = Command(argv=("/usr/bin/env", "true"), timeout_s=_TRY_S)
    view = View(
        system=look_at_host(),
        places=Places(grants=(), links=(), pinned=(), closed=()),
        environment={"PATH": "/usr/bin:/bin"},
    )
    try:
        with Descriptors() as descriptors:
            wrapped = wrap(binary.path, view, command.argv, descriptors)
            descriptors.shut(wrapped.release)
            done = await run_process(wrapped.launch, command)
            for descriptor in wrapped.given:
                descriptors.shut(descriptor)
            ran = StatusPipe(wrapped.status).has_run()
    except (SandboxError, OSError) as error:
        return f"{binary.shown}: {error}"
    if ran and done.exit_code == 0:
        return None
    said = done.stderr.text().strip().partition("\n")[0].removeprefix("bwrap: ")
    return f"{binary.shown}: {_meaning(said or 'it ends at once')}"


def _meaning(said: str) -> str:
    known = next((meaning for start, meaning in _MEANINGS if start in said), None)
    return f"{said}: {known}" if known else said
