"""The folders that a sandbox may reach, held open, and which of them a path is in."""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Final

from pegboard.contracts.errors import SandboxError
from pegboard.contracts.sandbox import Grant, Grip, SandboxSpec
from pegboard.sandboxes import explain
from pegboard.sandboxes.paths import (
    Parts,
    PathText,
    clipped,
    is_below,
    join,
    plain_name,
    read_path,
    split,
)
from pegboard.sandboxes.protected import Protection
from pegboard.sandboxes.roots import unsafe_root

FOLDER_FLAGS: Final = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0)
NOT_OPEN: Final = -1
CLOSE_ON_EXEC: Final = getattr(os, "O_CLOEXEC", 0)


@dataclass(frozen=True, slots=True)
class Root:
    """One grant, open.

    Args:
        parts: The granted place with every link resolved.
        spelled: The same place as the operator wrote it.
        mode: `ro` or `rw`.
        fd: Descriptor of the folder, or of the folder that holds the granted file.
        file: Name of the granted file, or "" when a folder is granted.
    """

    parts: Parts
    spelled: Parts
    mode: Grip
    fd: int
    file: str = ""


class GrantTable:
    """Every grant of one sandbox. The workspace is the first.

    The folders are held open, so that replacing one by a link changes nothing. Descriptors are
    given back by `close`, when no operation uses them any more.
    """

    def __init__(self, roots: tuple[Root, ...], protection: Protection, home: Parts) -> None:
        self.roots = roots
        self.protection = protection
        self.home = home
        self.notes: tuple[str, ...] = ()
        self._lock = Lock()
        self._using = 0
        self._closed = False

    @classmethod
    def open(cls, spec: SandboxSpec, *, home: Path | None = None) -> GrantTable:
        """Open the workspace and every grant of `spec`.

        A further grant that does not exist is left out, with a note.

        Args:
            spec: What a run asks for.
            home: The person's home folder; None = as the system says.

        Raises:
            SandboxError: When the workspace is no folder, or a folder may not be granted.
        """
        house = Path.home() if home is None else home
        home_parts = split(os.path.realpath(house))
        own = [split(os.path.realpath(place)) for place in spec.protected]
        roots: list[Root] = []
        notes: list[str] = []
        try:
            for grant in (Grant(spec.workspace, "rw"), *spec.grants):
                root = _open_root(grant, home_parts, own, further=bool(roots))
                if root is not None:
                    roots.append(root)
                if not roots or roots[0].file:
                    raise _no_workspace(spec.workspace)
                if root is None:
                    notes.append(f"The granted place {grant.path} does not exist.")
        except BaseException:
            for root in roots:
                os.close(root.fd)
            raise
        table = cls(tuple(roots), Protection.of(spec.protected, house), home_parts)
        table.notes = tuple(notes)
        return table

    @classmethod
    def elsewhere(
        cls, places: Sequence[tuple[Parts, Grip]], *, home: Parts, protected: Iterable[Parts] = ()
    ) -> GrantTable:
        """Return the grants of another machine: they are judged by name, and nothing is open.

        Args:
            places: Folders and files with every link resolved; the first is the workspace.
            home: The home folder there.
            protected: Places that no grant opens.

        Raises:
            SandboxError: When a folder may not be granted.
        """
        own = tuple(protected)
        for parts, mode in places:
            reason = unsafe_root(parts, mode, home=home, protected=own)
            if reason:
                raise explain.refused_root(join(parts), reason)
        roots = tuple(Root(parts, parts, mode, fd=NOT_OPEN) for parts, mode in places)
        return cls(roots, Protection.by_name(own, home), home)

    @property
    def workspace(self) -> Root:
        """The folder that relative paths start in."""
        return self.roots[0]

    @property
    def grants(self) -> tuple[Grant, ...]:
        """What is granted, with links resolved; the workspace is the first."""
        return tuple(Grant(Path(join(root.parts)), root.mode) for root in self.roots)

    def read(self, text: str) -> PathText:
        """Read a path as a model wrote it.

        Raises:
            SandboxError: When it can't be a path.
        """
        path = read_path(text, workspace=self.workspace.parts, home=self.home)
        # tools hand on absolute paths; whoever reads a refusal knows the relative one
        shown = self.display(path.parts) if text.startswith("/") else text
        return replace(path, text=clipped(shown))

    def choose(self, parts: Parts) -> tuple[Root, Parts] | None:
        """Return the innermost grant that `parts` is in, and the rest below it, or None."""
        best: tuple[Root, Parts] | None = None
        longest = -1
        for root in self.roots:
            for spelling in (root.parts, root.spelled):
                if len(spelling) > longest and is_below(parts, spelling):
                    best, longest = (root, parts[len(spelling) :]), len(spelling)
        return best

    def names(self, place: Path) -> bool:
        """Return whether a grant names this very place, or one below it."""
        parts = split(str(place))
        return any(
            is_below(root.parts, parts) or is_below(root.spelled, parts) for root in self.roots
        )

    def holds(self, parts: Parts) -> bool:
        """Return whether a granted place lies below `parts`: moving it would change its mode."""
        return any(is_below(root.parts, parts) for root in self.roots)

    def display(self, parts: Parts) -> str:
        """Return how to show a place: relative to the workspace where it is inside."""
        root = self.workspace
        for spelling in (root.parts, root.spelled):
            if is_below(parts, spelling):
                return plain_name("/".join(parts[len(spelling) :])) or "."
        return join(parts)

    @contextmanager
    def use(self) -> Iterator[None]:
        """Keep the descriptors open for the length of one operation.

        Raises:
            SandboxError: When the sandbox was closed.
        """
        with self._lock:
            if self._closed:
                raise SandboxError("the sandbox is closed", fix="Start a new conversation.")
            self._using += 1
        try:
            yield
        finally:
            with self._lock:
                self._using -= 1
                last = self._is_done()
            if last:
                self._give_back()

    def close(self) -> None:
        """Let no new operation begin; descriptors go when the last one has ended."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            idle = self._is_done()
        if idle:
            self._give_back()

    def _is_done(self) -> bool:
        return self._closed and self._using == 0

    def _give_back(self) -> None:
        for root in self.roots:
            if root.fd != NOT_OPEN:
                os.close(root.fd)


def _open_root(grant: Grant, home: Parts, own: list[Parts], *, further: bool) -> Root | None:
    spelled = split(os.path.abspath(grant.path))  # noqa: PTH100 - Path keeps `..`, which we don't
    parts = split(os.path.realpath(grant.path))
    reason = unsafe_root(parts, grant.mode, home=home, protected=own)
    if reason:
        raise explain.refused_root(str(grant.path), reason, granted=further)
    try:
        kind = os.stat(join(parts))  # noqa: PTH116
        if stat.S_ISDIR(kind.st_mode):
            fd = os.open(join(parts), FOLDER_FLAGS | CLOSE_ON_EXEC)
            return Root(parts, spelled, grant.mode, fd)
        if not stat.S_ISREG(kind.st_mode):
            raise explain.refused_root(
                str(grant.path), "it is neither a folder nor a file", granted=further
            )
        fd = os.open(join(parts[:-1]), FOLDER_FLAGS | CLOSE_ON_EXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except PermissionError as error:
        raise explain.refused_root(
            str(grant.path), "you may not enter it", granted=further
        ) from error
    return Root(parts, spelled, grant.mode, fd, parts[-1])


def _no_workspace(path: Path) -> SandboxError:
    return SandboxError(
        f"the workspace {path} is no folder",
        fix=f"mkdir -p {shlex.quote(str(path))}",
        path=str(path),
    )
