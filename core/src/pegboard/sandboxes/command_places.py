"""What one command may see and change of the grants, and what it may not have left behind."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pegboard.contracts.errors import SandboxError
from pegboard.contracts.sandbox import Grant
from pegboard.sandboxes.closed_places import (
    GIT,
    GIT_FIXED,
    ClosedPlace,
    ancestors,
    control_places,
    deep_places,
    existing,
    make_own,
    private_places,
    still_there,
)
from pegboard.sandboxes.explain import grant_command
from pegboard.sandboxes.fresh_repository import runs_programs
from pegboard.sandboxes.grants import CLOSE_ON_EXEC, FOLDER_FLAGS, GrantTable, Root
from pegboard.sandboxes.lookup import NO_FOLLOW
from pegboard.sandboxes.paths import is_below, join, split
from pegboard.sandboxes.protected import CONTROL
from pegboard.sandboxes.syscalls import rename_new

HELD: Final = ".held"
"""Ending of the name that a file gets which a command may not leave behind."""
_TRIES: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """What a sandbox shows to one command. All paths have their links resolved.

    Args:
        grants: Folders and files, each `rw` only when this command may change it.
        pinned: Folders that must stay where they are, outermost first.
        closed: What is hidden, or only to be read, inside the grants.
        links: Granted places that the operator spelled through a link: the spelling, and the place.
    """

    grants: tuple[Grant, ...]
    links: tuple[tuple[str, str], ...]
    pinned: tuple[str, ...]
    closed: tuple[ClosedPlace, ...]


class CommandPlaces:
    """Tells a sandbox what to show to its commands, and looks after them.

    Two commands at the same time are shown the same: what one has made since it began is not laid
    over for the other, because it may be a link by then.

    Args:
        table: The grants.
        everywhere: Whether commands see more than the grants, so that secrets anywhere are hidden.
        more: Further secrets to hide.
    """

    def __init__(
        self, table: GrantTable, *, everywhere: bool = False, more: Iterable[Path] = ()
    ) -> None:
        self._table = table
        self._private = private_places(table, everywhere=everywhere)
        self._private |= dict.fromkeys(more, "secret")
        self._deep: list[ClosedPlace] = []
        self._closed: list[ClosedPlace] = []
        self._before: dict[str, str | None] = {}
        self._running = 0

    def look(self) -> None:
        """Look for closed places further down; this takes a moment."""
        make_own(self._table)
        for root in self._roots():
            self._deep.extend(deep_places(root))

    def begin(self, *, writable: bool) -> Places:
        """Return what the next command may see; `end` must follow.

        Args:
            writable: Whether it may change what is granted `rw`.

        Raises:
            SandboxError: When a granted folder is no longer the one that was opened.
        """
        roots = list(self._roots())
        for root in roots:
            _require_same(root)
        if not self._running:
            self._refresh(roots)
        self._running += 1
        hiding = [place for place in self._closed if place.hidden]
        closed = self._closed if writable else hiding
        changing = {root.parts: writable and root.mode == "rw" for root in roots}
        inside = [*changing, *(split(place.path) for place in closed)]
        return Places(
            grants=tuple(
                Grant(Path(join(parts)), "rw" if changed else "ro")
                for parts, changed in changing.items()
            ),
            links=tuple(
                (join(root.spelled), join(root.parts))
                for root in roots
                if root.spelled != root.parts
                and not any(is_below(root.spelled, p) for p in changing)
            ),
            pinned=tuple(ancestors(inside, changing)),
            closed=tuple(closed),
        )

    def end(self) -> tuple[str, ...]:
        """Move aside what a command may not leave behind; return a sentence about each."""
        self._running -= 1
        notes = []
        for path, before in self._before.items():
            now = _print_of(path)
            if now == before:
                continue
            if now is not None and not self._may_stay(path):
                notes.append(self._hold(path))
            if before is not None and _print_of(path) is None:
                with suppress(OSError):
                    os.symlink(before, path)  # noqa: PTH211 - strings
        return tuple(notes)

    def _roots(self) -> Iterator[Root]:
        seen = set()
        for root in self._table.roots:
            if root.parts not in seen:
                seen.add(root.parts)
                yield root

    def _refresh(self, roots: list[Root]) -> None:
        closed = [*existing(self._private), *still_there(self._deep)]
        self._before = {}
        for root in roots:
            if root.mode == "rw" and not root.file:
                closed.extend(control_places(root))
                self._before |= {path: _print_of(path) for path in _watched(root)}
        unique = {place.path: place for place in closed if self._is_closed(place)}
        self._closed = list(unique.values())
        self._before = {
            path: before
            for path, before in self._before.items()
            if before != _SOLID and self._is_closed_path(path)
        }

    def _is_closed(self, place: ClosedPlace) -> bool:
        return place.hidden or self._is_closed_path(place.path)

    def _is_closed_path(self, path: str) -> bool:
        parts = split(path)
        chosen = self._table.choose(parts)
        if chosen is None:
            return False
        return self._table.protection.closed(parts, chosen[0].parts, write=True) is not None

    def _may_stay(self, path: str) -> bool:
        place = Path(path)
        return place.name == GIT and not runs_programs(place)

    def _hold(self, path: str) -> str:
        shown = self._table.display(split(path))
        what = f"{shown} decides what programs run, and was not there before"
        folder, name = os.path.split(path)
        try:
            fd = os.open(folder, FOLDER_FLAGS | NO_FOLLOW | CLOSE_ON_EXEC)
            try:
                held = _rename_aside(fd, name)
            finally:
                os.close(fd)
        except OSError as error:
            return f"{what}. It can't be moved aside: {error.strerror}. Look at it, and remove it."
        return f"{what}: it is now {held}. To let commands make it: {grant_command(path, 'rw')}"


_SOLID: Final = "/"
"""Print of what is no link: it is laid over, and can't be replaced."""


def _print_of(path: str) -> str | None:
    """Return the target of a link, `_SOLID` for what is none, None when there is nothing."""
    try:
        kind = os.lstat(path).st_mode
        return os.readlink(path) if stat.S_ISLNK(kind) else _SOLID  # noqa: PTH115 - strings
    except OSError:
        return None


def _watched(root: Root) -> Iterator[str]:
    """Yield the places of a writable folder that commands may not make."""
    for name in sorted(CONTROL):
        yield join((*root.parts, name))
    git = join((*root.parts, GIT))
    if _print_of(git) == _SOLID and os.path.isdir(git):  # noqa: PTH112 - strings
        for name in GIT_FIXED:
            yield f"{git}/{name}"


def _rename_aside(folder: int, name: str) -> str:
    for number in range(_TRIES):
        held = f"{name}{HELD}" + (f"-{number}" if number else "")
        try:
            rename_new(name, held, source_fd=folder, target_fd=folder)
        except FileExistsError:
            continue
        return held
    raise FileExistsError(errno.EEXIST, f"there are too many {name}{HELD}")


def _require_same(root: Root) -> None:
    path = join(root.parts[:-1] if root.file else root.parts)
    try:
        now, opened = os.lstat(path), os.fstat(root.fd)
        same = (now.st_dev, now.st_ino) == (opened.st_dev, opened.st_ino)
    except OSError:
        same = False
    if not same:
        raise SandboxError(
            f"the granted folder {path} is no longer what it was when the sandbox was opened",
            fix="Start a new conversation.",
            path=path,
        )
