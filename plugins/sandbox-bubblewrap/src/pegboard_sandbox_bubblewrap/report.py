"""What the sandboxes say of themselves, to people and to models."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final

from pegboard import Grant, SandboxReport
from pegboard.sandboxes import Enforcement
from pegboard_sandbox_bubblewrap.binary import Binary
from pegboard_sandbox_bubblewrap.config import BubblewrapSettings, LandlockSettings

OFFLINE: Final = (
    "This command had no network: the call may not use one, or the sandbox gives none "
    "(pegboard sandbox explain)."
)
GUARDED: Final = (
    "The only network here is the proxy that http_proxy and https_proxy name: programs that ignore "
    "these, and other protocols, reach nothing, and there are no name look-ups."
)
_ROOT: Final = "Pegboard runs as root, so the number of processes of a command is not limited."
_SHOWN: Final = {
    "strict": "Commands see the programs of the system and what is granted, nothing else.",
    "standard": "Commands see the programs of the system, those of version managers, and what is "
    "granted; the rest of this machine is hidden.",
    "open": "Commands READ the whole file system, but for known secrets; they write only what is "
    "granted. They reach sockets that other programs keep in files, such as a database's.",
}


def bubblewrap_report(
    binary: Binary,
    settings: BubblewrapSettings,
    grants: tuple[Grant, ...],
    notes: tuple[str, ...],
) -> SandboxReport:
    """Return what bubblewrap enforces, as it is set up."""
    is_open = settings.mode == "open"
    shared = is_open and settings.allow_hosts is None
    net: Enforcement = "partial" if shared else "yes"
    return SandboxReport(
        sandbox="bubblewrap",
        enforced={
            "fs_read": "partial" if is_open else "yes",
            "fs_write": "yes",
            "net": net,
            "signals": "yes",
            "pids": "yes",
            "tree_kill": "yes",
        },
        grants=grants,
        notes=(*_bubblewrap_notes(binary, settings), *notes),
    )


def _bubblewrap_notes(binary: Binary, settings: BubblewrapSettings) -> Iterator[str]:
    yield f"Commands run in {binary.shown}, mode {settings.mode}."
    yield _SHOWN[settings.mode]
    yield _network_note(settings)
    yield (
        f"/tmp is a folder of {settings.tmp_mb} MB that is empty at each command, and nothing that "
        "a command starts outlives it."
    )
    if os.getuid() == 0:
        yield _ROOT


def _network_note(settings: BubblewrapSettings) -> str:
    if settings.mode == "strict" or settings.allow_hosts == []:
        return "No command has any network."
    if settings.mode == "open" and settings.allow_hosts is None:
        return "Calls that may use the network have the network of this machine, others have none."
    hosts = settings.allow_hosts
    reached = "every public host" if hosts is None else ", ".join(hosts)
    ports = "ports " if len(settings.allow_ports) > 1 else "port "
    ports += " and ".join(map(str, settings.allow_ports))
    return (
        f"Calls that may use the network reach {reached} on {ports}, through a proxy that "
        "refuses private addresses; others have none."
    )


def landlock_report(
    settings: LandlockSettings,
    abi: int,
    grants: tuple[Grant, ...],
    notes: tuple[str, ...],
) -> SandboxReport:
    """Return what Landlock enforces, as it is set up."""
    return SandboxReport(
        sandbox="landlock",
        enforced={
            "fs_read": "yes",
            "fs_write": "partial",
            "net": "yes",
            "signals": "yes" if abi >= SCOPES else "no",
            "pids": "partial",
            "tree_kill": "partial",
        },
        grants=grants,
        notes=(*_landlock_notes(settings, abi), *notes),
    )


SCOPES: Final = 6
"""The first version of Landlock that keeps signals inside."""


def _landlock_notes(settings: LandlockSettings, abi: int) -> Iterator[str]:
    yield f"Commands run under Landlock (version {abi}) and a filter of system calls."
    yield _SHOWN[settings.mode]
    yield (
        "What Landlock can't do: a command may change modes, owners and times of files anywhere "
        "that your user may change; it may change .git, .envrc and the like inside a folder that "
        "it may write; it sees which other processes run; and a child that leaves its group and "
        "wipes its environment outlives the command."
    )
    yield "No command has any network, not even one of its own, and none can open a socket."
    yield "Private keys in granted folders are closed to file tools; commands can read them."
    if abi < SCOPES:
        yield "This kernel lets commands send signals to your other processes."
