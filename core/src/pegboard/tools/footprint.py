"""What a call touches, as far as it decides which calls of a step may run at the same time."""

from __future__ import annotations

import os.path
import unicodedata
from collections.abc import Iterable
from typing import Final, NamedTuple

from pegboard.contracts.effects import Access
from pegboard.contracts.tool import RegisteredTool

_FILES: Final = "/"
_STATE: Final = "state:"
_NET: Final = "net:"
_SCREEN: Final = "gui:"


class Footprint(NamedTuple):
    """The resources of one call; a path stands for everything below it.

    Args:
        alone: True when nothing may run beside it.
        reads: What it only looks at.
        writes: What it changes.
    """

    alone: bool = False
    reads: frozenset[str] = frozenset()
    writes: frozenset[str] = frozenset()


ALONE: Final = Footprint(alone=True)
NOTHING: Final = Footprint()


def footprint(tool: RegisteredTool, access: Iterable[Access]) -> Footprint:
    """Return what a call touches.

    What is unknown, and what a server elsewhere does, runs alone. A read or write of files that
    names no path may be of any file; so may a command.

    Args:
        tool: The tool.
        access: What the call reaches, as policy sees it.
    """
    if tool.spec.effects is None or tool.kind == "mcp":
        return ALONE
    reads: set[str] = set()
    writes: set[str] = set()
    for item in access:
        if item.effect == "read":
            reads.update((item.resource,) if item.resource else (_FILES, _STATE))
        elif item.effect == "fs_write":
            writes.add(item.resource or _FILES)
        elif item.effect == "exec":
            writes.update((_FILES, _STATE))
        elif item.effect == "state_write":
            writes.add(_STATE)
        elif item.effect == "net_read":
            reads.add(_NET)
        else:
            writes.add(_NET if item.effect == "net_write" else _SCREEN)
    return Footprint(False, frozenset(reads), frozenset(writes))


def spelled_out(named: Footprint) -> Footprint:
    """Return a footprint with every spelling under which another call may name the same file.

    Beside the path as it was written that is the one that links lead to, and both in the form of
    file systems on which `A` is `a`. Reads the disk.
    """
    return named._replace(reads=_spellings(named.reads), writes=_spellings(named.writes))


def conflict(one: Footprint, other: Footprint) -> bool:
    """Tell whether the order of two calls matters."""
    if one.alone or other.alone:
        return True
    return (
        _meet(one.writes, other.writes)
        or _meet(one.writes, other.reads)
        or _meet(one.reads, other.writes)
    )


def _spellings(resources: frozenset[str]) -> frozenset[str]:
    found = set(resources)
    for resource in resources:
        if resource.startswith("/"):
            found.update(_folded(path) for path in (resource, _real(resource)))
    return frozenset(found)


def _real(path: str) -> str:
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):  # no file can have this name
        return path


def _folded(path: str) -> str:
    return unicodedata.normalize("NFC", path).casefold()


def _meet(some: frozenset[str], others: frozenset[str]) -> bool:
    return any(_overlap(one, other) for one in some for other in others)


def _overlap(one: str, other: str) -> bool:
    if one == other:
        return True
    shorter, longer = sorted((one, other), key=len)
    return longer.startswith(shorter if shorter.endswith("/") else f"{shorter}/")
