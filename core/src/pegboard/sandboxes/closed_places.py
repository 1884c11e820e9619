"""Find what is closed inside the grants, for a sandbox that has to close it to commands.

File tools judge each path as it comes. A command opens what it likes, so what exists must be known
before it starts: by name at the top of every writable folder, at each command; further down by one
look when the sandbox is opened, which does not go deep.
"""

from __future__ import annotations

import os
import stat
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pegboard.sandboxes.grants import GrantTable, Root
from pegboard.sandboxes.paths import Parts, canon, canon_parts, is_below, join, split
from pegboard.sandboxes.protected import CONTROL, KEY_START, Closed, is_private_key, may_be_key

DEPTH: Final = 3
"""Folders below a grant in which closed files are looked for."""
BUDGET: Final = 20_000
"""Entries looked at below one grant."""
GIT: Final = ".git"
GIT_FIXED: Final = ("config", "config.worktree", "hooks", "commondir")
"""What decides, inside a repository, which programs git runs."""
_NOT_ENTERED: Final = frozenset({"node_modules", ".venv", "venv", "__pycache__", ".tox", "target"})
_MODULES: Final = 200


@dataclass(frozen=True, slots=True)
class ClosedPlace:
    """A place that a command may not see, or not change.

    Args:
        path: Where it is, with links resolved.
        folder: Whether it is a folder.
        why: What it is: `own`, `secret` and `key` are not to be seen, `control` not to be changed.
    """

    path: str
    folder: bool
    why: Closed

    @property
    def hidden(self) -> bool:
        """Whether it is not to be seen."""
        return self.why != "control"


def private_places(table: GrantTable, *, everywhere: bool = False) -> dict[Path, Closed]:
    """Return Pegboard's own places and the known secrets that a command could see, if they exist.

    Args:
        table: The grants.
        everywhere: Whether a command sees more than the grants.
    """
    found: dict[Path, Closed] = {}
    for why, place in table.protection.places:
        parts = split(str(place))
        chosen = table.choose(parts)
        named = chosen is not None and is_below(canon_parts(chosen[0].parts), canon_parts(parts))
        if (chosen is not None or everywhere) and not (why == "secret" and named):
            found[place] = why
    return found


def make_own(table: GrantTable) -> None:
    """Make the folders of Pegboard itself that commands could make in its place."""
    for why, place in table.protection.places:
        chosen = table.choose(split(str(place)))
        is_folder = not place.suffix  # a file that is not there yet can't be told otherwise
        if why == "own" and chosen is not None and chosen[0].mode == "rw" and is_folder:
            place.mkdir(mode=0o700, parents=True, exist_ok=True)


def existing(places: Mapping[Path, Closed]) -> list[ClosedPlace]:
    """Return those of the places that exist, with links resolved."""
    found: dict[str, ClosedPlace] = {}
    for place, why in places.items():
        kind = _kind(str(place))
        if kind is None:
            continue
        path = os.path.realpath(place) if stat.S_ISLNK(kind) else str(place)
        kind = _kind(path)
        if kind is not None:
            found[path] = ClosedPlace(path, stat.S_ISDIR(kind), why)
    return list(found.values())


def control_places(root: Root) -> list[ClosedPlace]:
    """Return what decides which programs run, at the top of a writable grant."""
    found: list[ClosedPlace] = []
    if root.file:
        return found
    for name in sorted(CONTROL):
        path = join((*root.parts, name))
        kind = _kind(path)
        if kind is not None:
            found.extend(_control(path, kind))
    return found


def deep_places(root: Root) -> list[ClosedPlace]:
    """Return the closed places further down in a grant, and private keys; looks at the disk."""
    found: list[ClosedPlace] = []
    pending = deque([(root.parts, 0)]) if not root.file else deque()
    budget = BUDGET
    while pending and budget > 0:
        folder, depth = pending.popleft()
        for entry in _entries(join(folder)):
            budget -= 1
            if canon(entry.name) in CONTROL:
                kind = _kind(entry.path)
                if depth and root.mode == "rw" and kind is not None:
                    found.extend(_control(entry.path, kind))
            elif entry.is_dir(follow_symlinks=False):
                if depth < DEPTH and entry.name not in _NOT_ENTERED:
                    pending.append(((*folder, entry.name), depth + 1))
            elif may_be_key(entry.name) and _holds_key(entry):
                found.append(ClosedPlace(entry.path, folder=False, why="key"))
    return found


def still_there(places: Iterable[ClosedPlace]) -> list[ClosedPlace]:
    """Return those that are still there, and still what they were."""
    kinds = ((place, _kind(place.path)) for place in places)
    return [
        place
        for place, kind in kinds
        if kind is not None
        and not stat.S_ISLNK(kind)
        and stat.S_ISDIR(kind) == place.folder
        and os.path.realpath(place.path) == place.path
    ]


def ancestors(places: Iterable[Parts], grants: Mapping[Parts, bool]) -> list[str]:
    """Return the folders between a grant that can be changed and a place in it, outermost first.

    A place is closed, or opened, by its path: no folder on the way to it may be moved.

    Args:
        places: The places.
        grants: Every grant, and whether it can be changed.
    """
    found: dict[str, None] = {}
    for place in places:
        around = [grant for grant in grants if grant != place and is_below(place, grant)]
        top = max(around, key=len, default=None)
        if top is not None and grants[top]:
            for length in range(len(top) + 1, len(place)):
                found[join(place[:length])] = None
    return sorted(found, key=lambda path: path.count("/"))


def _control(path: str, kind: int) -> Iterator[ClosedPlace]:
    if stat.S_ISLNK(kind):
        return  # nothing can be laid over a link: it is watched instead
    if not (os.path.basename(path) == GIT and stat.S_ISDIR(kind)):  # noqa: PTH119 - a string
        yield ClosedPlace(path, stat.S_ISDIR(kind), "control")
        return
    for repository in (path, *_modules(path)):
        for name in GIT_FIXED:
            inner = f"{repository}/{name}"
            inner_kind = _kind(inner)
            if inner_kind is not None and not stat.S_ISLNK(inner_kind):
                yield ClosedPlace(inner, stat.S_ISDIR(inner_kind), "control")


def _modules(git: str) -> list[str]:
    """Return the repositories of submodules, which are inside the repository's own folder."""
    found: list[str] = []
    pending = deque([f"{git}/modules"])
    while pending and len(found) < _MODULES:
        folder = pending.popleft()
        if _kind(f"{folder}/config") is not None:
            found.append(folder)
            pending.append(f"{folder}/modules")
            continue
        pending.extend(
            entry.path for entry in _entries(folder) if entry.is_dir(follow_symlinks=False)
        )
    return found


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


def _kind(path: str) -> int | None:
    try:
        return os.lstat(path).st_mode
    except OSError:
        return None


def _holds_key(entry: os.DirEntry[str]) -> bool:
    try:
        if not entry.is_file(follow_symlinks=False):
            return False
        with open(entry.path, "rb") as file:  # noqa: PTH123 - a string
            return is_private_key(entry.name, file.read(KEY_START))
    except OSError:
        return False
