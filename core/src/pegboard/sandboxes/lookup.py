"""Find the open folder and the plain name that a path comes to, by either of two ways."""

from __future__ import annotations

import errno
import os
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from pegboard.contracts.errors import SandboxError
from pegboard.sandboxes.access import check, link_outside
from pegboard.sandboxes.grants import CLOSE_ON_EXEC, FOLDER_FLAGS, GrantTable, Root
from pegboard.sandboxes.paths import Parts, PathText, clipped, normal
from pegboard.sandboxes.syscalls import open_below

MAX_LINKS: Final = 40
NO_FOLLOW: Final = getattr(os, "O_NOFOLLOW", 0)
_LINKED: Final = frozenset({errno.ELOOP, errno.EXDEV})
_NEW_FOLDER_MODE: Final = 0o777  # the umask takes away what the person does not want


@dataclass(slots=True)
class Spot:
    """An open folder and one name in it.

    Args:
        path: What was asked for.
        folder: Descriptor of the folder.
        name: A plain name, or "" for the folder itself.
        parts: The place, with every link before the name resolved.
        found: What is there, not following a link, or None when there is nothing.
    """

    path: PathText
    folder: int
    name: str
    parts: Parts
    found: os.stat_result | None


class Walker:
    """One look-up. Holds how many links it has followed, over all restarts."""

    def __init__(
        self, table: GrantTable, path: PathText, *, write: bool, created: list[Parts] | None
    ) -> None:
        self.table = table
        self.path = path
        self.write = write
        self.created = created
        self.links = 0

    def direct(self, root: Root, rest: Parts) -> Spot | None:
        """Reach the place with one call, or return None when a link or a gap is on the way."""
        if root.file:
            return self._file_root(root, rest)
        if not rest:
            return self._spot(os.dup(root.fd), "", root.parts)
        try:
            folder = open_below(root.fd, "/".join(rest[:-1]) or ".", FOLDER_FLAGS)
        except OSError as error:
            if error.errno in _LINKED:
                return None
            if error.errno == errno.ENOENT and self.created is not None:
                return None
            raise
        if folder is None:
            return None
        return self._spot(folder, rest[-1], (*root.parts, *rest))

    def walk(self, root: Root, rest: Parts, *, last: bool) -> Spot:
        """Reach the place component by component; `last` = a link at the end is followed too."""
        while True:
            if root.file:
                return self._file_root(root, rest)
            trail = _Trail(root)
            try:
                outcome = self._walk_in(trail, deque(rest), last=last)
            finally:
                trail.close_but_kept()
            if isinstance(outcome, Spot):
                return outcome
            root, rest = outcome

    def _walk_in(
        self, trail: _Trail, pending: deque[str], *, last: bool
    ) -> Spot | tuple[Root, Parts]:
        origin: tuple[str, str] | None = None
        while pending:
            name = pending.popleft()
            if name in ("", "."):
                continue
            if name == "..":
                if trail.up():
                    continue
                assert origin is not None  # only a link's target holds `..` here
                return self._elsewhere(normal(trail.root.parts[:-1], "/".join(pending)), *origin)
            target = trail.link(name) if pending or last else None
            if target is None:
                if not pending:
                    return self._spot(trail.keep(), name, (*trail.parts, name))
                self._enter(trail, name)
                continue
            self._count_link()
            origin = (clipped("/".join((*trail.below, name))), clipped(target))
            if target.startswith("/"):
                return self._elsewhere(normal((), "/".join((target, *pending))), *origin)
            pending.extendleft(reversed(target.split("/")))
        return self._spot(trail.keep(), "", trail.parts)

    def _enter(self, trail: _Trail, name: str) -> None:
        try:
            trail.enter(name)
        except FileNotFoundError:
            if self.created is None:
                raise FileNotFoundError(
                    errno.ENOENT, os.strerror(errno.ENOENT), self.path.text
                ) from None
            parts = (*trail.parts, name)
            check(self.table, self.path, parts, write=True)
            with suppress(FileExistsError):
                os.mkdir(name, _NEW_FOLDER_MODE, dir_fd=trail.fd)
                self.created.append(parts)
            trail.enter(name)
        except NotADirectoryError:
            raise NotADirectoryError(
                errno.ENOTDIR, os.strerror(errno.ENOTDIR), self.path.text
            ) from None

    def _elsewhere(self, parts: Parts, link: str, target: str) -> tuple[Root, Parts]:
        chosen = self.table.choose(parts)
        if chosen is None:
            raise link_outside(self.table, link, target, parts, write=self.write)
        return chosen

    def _count_link(self) -> None:
        self.links += 1
        if self.links > MAX_LINKS:
            raise SandboxError(
                f"too many symbolic links: {self.path.text}",
                fix="Name the file itself.",
                path=self.path.text,
            )

    def _file_root(self, root: Root, rest: Parts) -> Spot:
        if rest:
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), self.path.text)
        return self._spot(os.dup(root.fd), root.file, root.parts)

    def _spot(self, folder: int, name: str, parts: Parts) -> Spot:
        try:
            if name:
                found = os.stat(name, dir_fd=folder, follow_symlinks=False)
            else:
                found = os.fstat(folder)
        except FileNotFoundError:
            return Spot(self.path, folder, name, parts, None)
        except BaseException:
            os.close(folder)
            raise
        return Spot(self.path, folder, name, parts, found)


class _Trail:
    """The open folders from a grant down to where a walk is."""

    def __init__(self, root: Root) -> None:
        self.root = root
        self.below: list[str] = []
        self._fds = [os.dup(root.fd)]

    @property
    def fd(self) -> int:
        return self._fds[-1]

    @property
    def parts(self) -> Parts:
        return (*self.root.parts, *self.below)

    def enter(self, name: str) -> None:
        flags = FOLDER_FLAGS | NO_FOLLOW | CLOSE_ON_EXEC
        self._fds.append(os.open(name, flags, dir_fd=self.fd))
        self.below.append(name)

    def up(self) -> bool:
        """Go to the folder above; False when that is outside the grant."""
        if not self.below:
            return False
        self.below.pop()
        os.close(self._fds.pop())
        return True

    def link(self, name: str) -> str | None:
        """Return the target of a link, or None when `name` is none (or nothing)."""
        try:
            return os.readlink(name, dir_fd=self.fd)
        except OSError as error:
            if error.errno in (errno.EINVAL, errno.ENOENT):
                return None
            raise

    def keep(self) -> int:
        """Take the innermost folder out; the caller closes it."""
        return self._fds.pop()

    def close_but_kept(self) -> None:
        while self._fds:
            os.close(self._fds.pop())
