"""The arguments of bwrap for one command: what is there, in which order it is laid over."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Final, Literal

from pegboard.sandboxes import ClosedPlace, Places
from pegboard_sandbox_bubblewrap.config import Mode
from pegboard_sandbox_bubblewrap.host_system import HostSystem

Network = Literal["none", "guarded", "shared"]
MAX_ARGUMENTS: Final = 9000
"""More than that, the command's own included, bwrap refuses."""
COMMAND_FILE: Final = "/run/command"
"""Where a command stands that has too many arguments itself."""
TMP: Final = "/tmp"
_SHM_BYTES: Final = 64 << 20
_PLACEHOLDER_BYTES: Final = 4096
_MIB: Final = 1 << 20
_GRANT, _PIN, _CLOSED = range(3)
"""Order of what is laid over the same place."""
_FIXED: Final = (
    *("--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try"),
    *("--disable-userns", "--die-with-parent", "--new-session", "--cap-drop", "ALL"),
    *("--hostname", "sandbox", "--clearenv"),
)
_REPLACED: Final = ("/dev", "/proc", "/run", TMP)
"""Never the machine's own inside, so that what is hidden there is hidden already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What one command sees.

    Args:
        system: What of the machine is shown.
        places: The grants, and what is closed inside them.
        mode: How much else is shown.
        network: Which network there is.
        environment: The whole environment.
        cwd: Folder to start in.
        tmp_mb: Megabytes of /tmp.
        files: Small files to make, by path, with the descriptor of their content.
        resolver: The file that names the resolvers, for the machine's own network; "" = none.
    """

    system: HostSystem
    places: Places
    mode: Mode = "standard"
    network: Network = "none"
    environment: Mapping[str, str] = field(default_factory=dict)
    cwd: str = "/"
    tmp_mb: int = 512
    files: Mapping[str, int] = field(default_factory=dict)
    resolver: str = ""


def sandbox_arguments(view: View) -> list[str]:
    """Return the arguments of bwrap, without the command and the descriptors that it is given."""
    return [
        *_FIXED,
        *(() if view.network == "shared" else ("--unshare-net",)),
        *_environment(view.environment),
        *_system(view),
        *_devices(),
        *_scratch(view),
        *_files(view),
        *_layers(view),
        *("--chdir", view.cwd),
        *(("--remount-ro", "/") if view.mode != "open" else ()),
    ]


def _environment(environment: Mapping[str, str]) -> Iterator[str]:
    for name, value in environment.items():
        yield from ("--setenv", name, value)


def _system(view: View) -> Iterator[str]:
    if view.mode == "open":
        yield from ("--ro-bind", "/", "/")
        return
    comforts = view.system.comforts if view.mode == "standard" else ()
    for path in (*view.system.folders, *comforts):
        yield from ("--ro-bind", path, path)
    for link, target in view.system.links:
        yield from ("--symlink", target, link)


def _devices() -> Iterator[str]:
    yield from ("--dev", "/dev", "--size", str(_SHM_BYTES), "--tmpfs", "/dev/shm")
    yield from ("--remount-ro", "/dev", "--proc", "/proc", "--remount-ro", "/proc")


def _scratch(view: View) -> Iterator[str]:
    granted = [str(grant.path) for grant in view.places.grants]
    if TMP not in granted:
        yield from ("--perms", "1777", "--size", str(view.tmp_mb * _MIB), "--tmpfs", TMP)
    if view.mode == "open":
        yield from ("--tmpfs", "/run")
    elif not any(_is_below(path, "/var/tmp") for path in granted):
        yield from ("--symlink", TMP, "/var/tmp")


def _files(view: View) -> Iterator[str]:
    if view.mode != "open":
        for path, descriptor in view.files.items():
            yield from ("--file", str(descriptor), path)
    elif COMMAND_FILE in view.files:
        yield from ("--file", str(view.files[COMMAND_FILE]), COMMAND_FILE)
    if view.resolver and (view.mode != "open" or _is_below(view.resolver, "/run")):
        yield from ("--ro-bind", view.resolver, view.resolver)
    if view.mode != "open":
        for spelled, real in view.places.links:
            if not any(_is_below(spelled, path) for path in view.system.folders):
                yield from ("--symlink", real, spelled)


def _layers(view: View) -> Iterator[str]:
    """Yield the grants and what is closed in them, each laid over what holds it."""
    granted = {str(grant.path): grant.mode for grant in view.places.grants}
    covered = list(_hidden_folders(view, granted))
    layers: list[tuple[int, int, tuple[str, ...]]] = []
    for path, mode in granted.items():
        option = "--bind" if mode == "rw" else "--ro-bind"
        layers.append((_depth(path), _GRANT, (option, path, path)))
    for path in view.places.pinned:
        if not _is_covered(path, covered):
            layers.append((_depth(path), _PIN, ("--bind", path, path)))
    for place in view.places.closed:
        if not (place.hidden and _is_elsewhere(place.path, granted)) and not _is_covered(
            place.path, covered
        ):
            layers.append((_depth(place.path), _CLOSED, _closing(place, granted)))
    for _, _, layer in sorted(layers, key=lambda item: item[:2]):
        yield from layer
    # only now: what is granted inside a hidden folder has been laid into it
    for path in covered:
        yield from ("--remount-ro", path)
    if view.mode == "open":
        yield from ("--remount-ro", "/run")


def _closing(place: ClosedPlace, granted: Iterable[str]) -> tuple[str, ...]:
    if not place.hidden:
        return ("--ro-bind", place.path, place.path)
    if not place.folder:
        return ("--ro-bind", "/dev/null", place.path)
    # entered, but not listed, where something inside it is granted
    rights = "0111" if any(_is_below(inner, place.path) for inner in granted) else "0000"
    return ("--perms", rights, "--size", str(_PLACEHOLDER_BYTES), "--tmpfs", place.path)


def _hidden_folders(view: View, granted: Iterable[str]) -> Iterator[str]:
    """Yield the outermost hidden folders."""
    folders = [
        place.path
        for place in view.places.closed
        if place.hidden and place.folder and not _is_elsewhere(place.path, granted)
    ]
    for path in folders:
        if not _is_covered(path, folders):
            yield path


def _is_covered(path: str, folders: Iterable[str]) -> bool:
    return any(path != folder and _is_below(path, folder) for folder in folders)


def _is_elsewhere(path: str, granted: Iterable[str]) -> bool:
    """Return whether a place is in a folder that is not the machine's own inside."""
    return any(_is_below(path, folder) for folder in _REPLACED) and not any(
        _is_below(path, folder) for folder in granted
    )


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _depth(path: str) -> int:
    return len(PurePosixPath(path).parts)
