"""The arguments of the engine for one command: what is mounted, and what is taken away."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from pegboard.sandboxes import Places
from pegboard_sandbox_docker.config import DockerSettings
from pegboard_sandbox_docker.lifeline import ENTRY, INSIDE

TMP: Final = "/tmp"
LABEL: Final = "pegboard.host"
"""Says which process a container belongs to."""
_FIXED: Final = (
    *("--rm", "--interactive", "--init", "--read-only", "--cap-drop", "ALL"),
    *("--security-opt", "no-new-privileges", "--security-opt", "label=disable"),
    *("--pull", "never", "--hostname", "sandbox"),
)
_USER_PROCESSES: Final = 32_768
_ENTRYPOINT: Final = "/bin/sh"
_LINE_END: Final = "\r\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """One command, and what its container shows.

    Args:
        name: Name of the container.
        host: Value of its label.
        settings: What the operator decides.
        places: The grants, and what is closed inside them.
        network: True when it has the engine's network.
        cwd: Folder to start in.
        lifeline: Folder to mount, which holds `nothing` and `empty` too.
        environment: Variables of the command.
        passed: Further ones, which it gets with the values that they have here.
        user: User and group id to run as, or None where the engine keeps them apart from ours.
        limits: Greatest values of `nofile` and `nproc` that this process may give.
        controls: Which of `memory` and `pids` the engine can limit.
    """

    name: str
    host: str
    settings: DockerSettings
    places: Places
    network: bool
    cwd: str
    lifeline: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    passed: Sequence[str] = ()
    user: tuple[int, int] | None = None
    limits: tuple[int, int] = (-1, -1)
    controls: frozenset[str] = frozenset({"memory", "pids"})


def run_arguments(container: Container, argv: Sequence[str]) -> list[str]:
    """Return what follows the engine's name to run a command in a container of its own."""
    settings = container.settings
    return [
        *settings.engine_arguments,
        "run",
        *_FIXED,
        *("--name", container.name, "--label", f"{LABEL}={container.host}"),
        *("--network", "bridge" if container.network else "none"),
        *(("--memory", f"{settings.memory_mb}m") if "memory" in container.controls else ()),
        *(("--pids-limit", str(settings.max_processes)) if "pids" in container.controls else ()),
        *_ulimits(container),
        *("--tmpfs", f"{TMP}:rw,nosuid,nodev,mode=1777,size={settings.tmp_mb}m"),
        *_user(container),
        *_mounts(container),
        *_environment(container),
        *("--workdir", container.cwd, "--entrypoint", _ENTRYPOINT),
        settings.image,
        *("-c", ENTRY, "sh", *argv),
    ]


def _ulimits(container: Container) -> Iterator[str]:
    files, processes = container.limits
    wanted = {
        "nofile": (container.settings.max_open_files, files),
        # not the processes of a command: this counts all that its user has on the machine
        "nproc": (_USER_PROCESSES, processes),
    }
    for name, (value, most) in wanted.items():
        value = value if most < 0 else min(value, most)
        yield from ("--ulimit", f"{name}={value}:{value}")


def _user(container: Container) -> Iterator[str]:
    if container.user is not None:
        yield from ("--user", "{}:{}".format(*container.user))


def _environment(container: Container) -> Iterator[str]:
    for name, value in container.environment.items():
        yield from ("--env", f"{name}={value}")
    for name in container.passed:  # their values are for nobody who lists processes
        yield from ("--env", name)


def _mounts(container: Container) -> Iterator[str]:
    places, lifeline = container.places, container.lifeline
    found = {INSIDE: (str(lifeline), False)}
    for grant in places.grants:
        found[str(grant.path)] = (str(grant.path), grant.mode == "rw")
    for spelled, real in places.links:
        found.setdefault(spelled, (real, found.get(real, ("", False))[1]))
    for path in places.pinned:  # a mount can't be moved away
        found.setdefault(path, (path, True))
    hidden = [place.path for place in places.closed if place.hidden and place.folder]
    for place in places.closed:
        if any(place.path != folder and _is_below(place.path, folder) for folder in hidden):
            continue
        instead = lifeline / ("empty" if place.folder else "nothing")
        found[place.path] = (str(instead) if place.hidden else place.path, False)
    # what holds something comes before it; engines keep that order, or make it
    for target in sorted(found, key=lambda path: (path.count("/"), path)):
        source, writable = found[target]
        yield from ("--mount", _mount(source, target, writable=writable))


def _mount(source: str, target: str, *, writable: bool) -> str:
    fields = ["type=bind", f"src={source}", f"dst={target}"]
    if not writable:
        fields.append("readonly")
    text = io.StringIO()
    # engines read it so; what ends a line is quoted only where it could end this one
    csv.writer(text, lineterminator=_LINE_END).writerow(fields)
    return text.getvalue().removesuffix(_LINE_END)


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder.rstrip(os.sep)}/")
