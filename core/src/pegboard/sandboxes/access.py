"""Judge a place: is it below a grant, may it be changed, is it closed."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable

from pegboard.contracts.errors import SandboxError
from pegboard.contracts.sandbox import Grip
from pegboard.sandboxes import explain
from pegboard.sandboxes.grants import GrantTable
from pegboard.sandboxes.paths import Parts, PathText, join
from pegboard.sandboxes.roots import unsafe_root


def check(table: GrantTable, path: PathText, parts: Parts, *, write: bool) -> None:
    """Judge a place whose links are resolved.

    Raises:
        SandboxError: When no grant reaches it, the grant is only for reading, or it is closed.
    """
    chosen = table.choose(parts)
    if chosen is None:
        raise outside(table, path, parts, write=write)
    root, _rest = chosen
    closed = table.protection.closed(parts, root.parts, write=write)
    if closed is not None:
        why, place = closed
        raise explain.protected(path.text, why, write=write, place=join(place))
    if write and root.mode != "rw":
        raise explain.read_only(path.text, root=join(root.parts))


def outside(table: GrantTable, path: PathText, parts: Parts, *, write: bool) -> SandboxError:
    """Return the refusal of a place that no grant reaches."""
    mode, folder, never = _wanted(table, parts, write)
    return explain.outside(path.text, mode=mode, folder=folder, never=never, grants=table.grants)


def link_outside(
    table: GrantTable, link: str, target: str, parts: Parts, *, write: bool
) -> SandboxError:
    """Return the refusal of a link that leads to a place that no grant reaches."""
    mode, folder, never = _wanted(table, parts, write)
    return explain.link_outside(link, target, mode=mode, folder=folder, never=never)


def _wanted(table: GrantTable, parts: Parts, write: bool) -> tuple[Grip, str, str | None]:
    """Return what has to be granted for a place: mode and folder, and why it can't be."""
    kind = _kind(parts)
    place = parts if stat.S_ISDIR(kind) else parts[:-1]
    mode: Grip = "rw" if write else "ro"

    def reason(place: Parts) -> str | None:
        return unsafe_root(place, mode, home=table.home, protected=table.protection.own)

    never = reason(place)
    if never is not None and stat.S_ISREG(kind) and reason(parts) is None:
        # what is nobody's secret, and rules no program, may be proposed; of the rest a person
        # thinks by themselves
        if kind & stat.S_IROTH and table.protection.closed(parts, (), write=write) is None:
            return mode, join(parts), None
        never += ", but the file alone can be"
    return mode, join(place), never


def _kind(parts: Parts) -> int:
    """Return kind and permissions of what a path leads to; 0 when there is nothing."""
    try:
        return os.stat(join(parts)).st_mode  # noqa: PTH116
    except OSError:
        return 0


def check_objects(
    table: GrantTable, path: PathText, found: Iterable[os.stat_result], *, write: bool
) -> None:
    """Refuse a closed place under a spelling that only the file system knows.

    Raises:
        SandboxError: When one of the open files or folders is a closed place.
    """
    for facts in found:
        closed = table.protection.closed_object(facts)
        if closed is None or (closed[0] == "secret" and table.names(closed[1])):
            continue
        why, place = closed
        raise explain.protected(path.text, why, write=write, place=str(place))
