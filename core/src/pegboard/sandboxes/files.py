"""The file half of a sandbox: every primitive of the contract, below the grants."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from itertools import islice
from operator import itemgetter
from typing import Final, TypeVar

import anyio
from anyio import to_thread

from pegboard.contracts.effects import Effect, Effects
from pegboard.contracts.errors import SandboxError
from pegboard.contracts.sandbox import MAX_READ, FileKind, FileStat
from pegboard.sandboxes import explain
from pegboard.sandboxes.access import check
from pegboard.sandboxes.grants import GrantTable
from pegboard.sandboxes.lookup import Spot
from pegboard.sandboxes.opening import open_file, open_folder, reach, refuse_special
from pegboard.sandboxes.paths import Parts, PathText, clipped, join, split
from pegboard.sandboxes.protected import may_be_key
from pegboard.sandboxes.replace import replace_file
from pegboard.sandboxes.syscalls import rename_new

T = TypeVar("T")
_MENDS: Final = {
    errno.ENOSPC: "Make room on that disk.",
    errno.EDQUOT: "Make room in your quota of that disk.",
    errno.EFBIG: "Write less to it.",
    errno.EROFS: "No grant opens it: its file system is read-only.",
    errno.ENAMETOOLONG: "Use a shorter name.",
}
_BATCH: Final = 512
_PIECE: Final = 4 << 20
_PASSED_ON: Final = (
    *(FileNotFoundError, FileExistsError, IsADirectoryError, NotADirectoryError, PermissionError),
)


class SandboxFiles:
    """File primitives on a grant table, for backends that keep files on this machine.

    The work is done in worker threads, so a slow disk never stalls the loop. A call that is
    cancelled ends its current step first: a file is either replaced or untouched.

    Args:
        table: The grants; shared by every narrowed view.
        effects: What this view may do.
        durable: Whether a write waits until it is on the disk.
    """

    def __init__(self, table: GrantTable, effects: Effects, *, durable: bool = True) -> None:
        self.table = table
        self.effects = effects
        self.durable = durable

    def narrowed(self, effects: Effects) -> SandboxFiles:
        """Return the same files with fewer effects."""
        return SandboxFiles(self.table, self.effects & effects, durable=self.durable)

    def resolve(self, path: str, *, write: bool = False) -> str:
        """Return the absolute path that `path` names, after checking it against the grants."""
        text = self.table.read(path)
        with _errors(text.text):
            try:
                with reach(self.table, text, write=write) as spot:
                    return join(spot.parts)
            except (FileNotFoundError, NotADirectoryError):
                # the folder is missing too; a write would make it, and judge again then
                check(self.table, text, text.parts, write=write)
                return join(text.parts)

    async def folder(self, path: str) -> str:
        """Return the absolute folder that a command starts in; "" is the workspace."""
        if not path:
            return join(self.table.workspace.parts)
        place = self.resolve(path)
        if not await anyio.Path(place).is_dir():
            raise SandboxError(
                f"the folder {clipped(path)} does not exist",
                fix="Name a folder that exists.",
                path=path,
            )
        return place

    def display(self, absolute: str) -> str:
        """Return how to show a path: relative to the workspace where it is inside."""
        return self.table.display(split(absolute))

    async def read(self, path: str, *, offset: int = 0, limit: int = MAX_READ) -> bytes:
        """Return at most `limit` bytes from `offset` of a regular file."""
        self._may("read")
        return await self._do(path, lambda text: self._read(text, offset, limit))

    async def read_each(self, paths: Sequence[str], *, limit: int) -> list[bytes | None]:
        """Return the first `limit` bytes of each file, in order; None where it can't be read."""
        self._may("read")
        return await to_thread.run_sync(lambda: [self._read_if(path, limit) for path in paths])

    async def write(
        self,
        path: str,
        data: bytes,
        *,
        parents: bool = True,
        must_be_new: bool = False,
        new_mode: int | None = None,
    ) -> None:
        """Replace a file as one step; mode and owner of an existing file are kept."""
        self._may("fs_write")
        await self._do(path, lambda text: self._write(text, data, parents, must_be_new, new_mode))

    async def stat(self, path: str) -> FileStat | None:
        """Return what `path` is, or None when there is nothing."""
        return await self._do(path, self._stat)

    async def list_dir(self, path: str) -> list[FileStat]:
        """Return the entries of a folder, sorted by name."""
        self._may("read")
        return await self._do(path, self._list)

    async def walk(
        self, path: str, *, skip: frozenset[str] = frozenset()
    ) -> AsyncIterator[FileStat]:
        """Yield every file and link below `path`, sorted, without following links to folders."""
        self._may("read")
        text = self.table.read(path)
        with closing(self._walk(text, skip)) as found, _errors(text.text):
            while True:
                batch = await to_thread.run_sync(lambda: list(islice(found, _BATCH)))
                for item in batch:
                    yield item
                if len(batch) < _BATCH:
                    return

    async def make_dir(self, path: str) -> None:
        """Create a folder and its parents."""
        self._may("fs_write")
        await self._do(path, self._make_dir)

    async def remove(self, path: str) -> None:
        """Remove a file, a link, or an empty folder."""
        self._may("fs_write")
        await self._do(path, self._remove)

    async def rename(self, source: str, target: str) -> None:
        """Rename a file; refuses to replace an existing one."""
        self._may("fs_write")
        to = self.table.read(target)
        await self._do(source, lambda text: self._rename(text, to))

    def _may(self, effect: Effect) -> None:
        if effect not in self.effects:
            raise explain.lacks_effect(effect, self.effects)

    async def _do(self, path: str, work: Callable[[PathText], T]) -> T:
        text = self.table.read(path)

        def in_thread() -> T:
            with _errors(text.text):
                return work(text)

        return await to_thread.run_sync(in_thread)

    def _read(self, text: PathText, offset: int, limit: int) -> bytes:
        with reach(self.table, text) as spot:
            fd = open_file(spot)
        try:
            return _read_at(fd, max(0, offset), max(0, min(limit, MAX_READ)))
        finally:
            os.close(fd)

    def _read_if(self, path: str, limit: int) -> bytes | None:
        try:
            return self._read(self.table.read(path), 0, limit)
        except (OSError, SandboxError):
            return None

    def _write(
        self, text: PathText, data: bytes, parents: bool, must_be_new: bool, new_mode: int | None
    ) -> None:
        if text.folder:
            raise IsADirectoryError(
                errno.EISDIR, "the path ends in a slash, so it names a folder", text.text
            )
        created: list[Parts] = []
        try:
            with reach(self.table, text, write=True, created=created if parents else None) as spot:
                self._replace(spot, data, must_be_new, new_mode)
        except BaseException:
            self._take_back(created)
            raise

    def _replace(self, spot: Spot, data: bytes, must_be_new: bool, new_mode: int | None) -> None:
        if spot.found is not None:
            if must_be_new:
                raise FileExistsError(errno.EEXIST, "the file exists", spot.path.text)
            refuse_special(spot.found.st_mode, spot.path.text)
        try:
            replace_file(
                spot.folder,
                spot.name,
                data,
                old=spot.found,
                must_be_new=must_be_new,
                new_mode=new_mode,
                durable=self.durable,
            )
        except PermissionError as error:
            what = "it" if error.filename == spot.name else "its folder"
            raise SandboxError(
                f"cannot replace {spot.path.text}: {what} is not writable",
                fix="Ask the person to change its permissions.",
                path=spot.path.text,
            ) from error

    def _take_back(self, created: list[Parts]) -> None:
        for parts in reversed(created):
            place = PathText(join(parts), parts, folder=True)
            with suppress(OSError, SandboxError), reach(self.table, place, write=True) as spot:
                os.rmdir(spot.name, dir_fd=spot.folder)

    def _stat(self, text: PathText) -> FileStat | None:
        try:
            with reach(self.table, text, follow=False) as spot:
                return None if spot.found is None else self._fact(spot.parts, spot.found)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def _list(self, text: PathText) -> list[FileStat]:
        with reach(self.table, text) as spot:
            found = sorted(_entries(spot), key=itemgetter(0))
        return [self._fact((*spot.parts, name), facts) for name, facts in found]

    def _walk(self, text: PathText, skip: frozenset[str]) -> Generator[FileStat, None, None]:
        with reach(self.table, text) as spot:
            parts, found = spot.parts, spot.found
            if found is not None and not stat.S_ISDIR(found.st_mode):
                yield self._fact(parts, found)
                return
            pending = _last_first(spot)
        while pending:
            parts, found = pending.pop()
            kind = _kind(found.st_mode)
            if kind == "dir" and parts[-1] not in skip:
                pending.extend(self._enter(parts))
            elif kind in ("file", "symlink"):
                yield self._fact(parts, found)

    def _enter(self, parts: Parts) -> list[tuple[Parts, os.stat_result]]:
        """Return the entries of a folder met on a walk, last first; none when it is closed."""
        place = PathText(join(parts), parts, folder=True)
        try:
            with reach(self.table, place, follow=False) as spot:
                return _last_first(spot)
        except (OSError, SandboxError):
            return []

    def _make_dir(self, text: PathText) -> None:
        created: list[Parts] = []
        try:
            with reach(self.table, text, write=True, created=created) as spot:
                if spot.found is None:
                    os.mkdir(spot.name, dir_fd=spot.folder)
                elif not stat.S_ISDIR(spot.found.st_mode):
                    raise FileExistsError(errno.EEXIST, "a file of that name exists", text.text)
        except BaseException:
            self._take_back(created)
            raise

    def _remove(self, text: PathText) -> None:
        with reach(self.table, text, write=True, follow=False) as spot:
            self._movable(spot)
            assert spot.found is not None
            if stat.S_ISDIR(spot.found.st_mode):
                os.rmdir(spot.name, dir_fd=spot.folder)
            else:
                os.unlink(spot.name, dir_fd=spot.folder)

    def _rename(self, source: PathText, target: PathText) -> None:
        with (
            reach(self.table, source, write=True, follow=False) as old,
            reach(self.table, target, write=True, follow=False) as new,
        ):
            self._movable(old)
            if may_be_key(old.name):
                os.close(open_file(old))  # a private key does not get an ordinary name
            if new.found is not None or not new.name:
                raise FileExistsError(errno.EEXIST, "the target exists", target.text)
            rename_new(old.name, new.name, source_fd=old.folder, target_fd=new.folder)

    def _movable(self, spot: Spot) -> None:
        if spot.found is None:
            raise FileNotFoundError(errno.ENOENT, "no such file or folder", spot.path.text)
        if not spot.name:
            raise SandboxError(
                f"{spot.path.text} is a granted folder and stays",
                fix="Name something inside it.",
                path=spot.path.text,
            )
        if not stat.S_ISDIR(spot.found.st_mode):
            return
        if self.table.holds(spot.parts) or self.table.protection.holds(spot.parts):
            raise SandboxError(
                f"{spot.path.text} holds a granted or protected place and stays",
                fix="A person can move it.",
                path=spot.path.text,
            )

    def _fact(self, parts: Parts, found: os.stat_result) -> FileStat:
        return FileStat(
            path=self.table.display(parts),
            kind=_kind(found.st_mode),
            size=found.st_size,
            mtime_ns=found.st_mtime_ns,
            mode=stat.S_IMODE(found.st_mode),
        )


def _entries(spot: Spot) -> list[tuple[str, os.stat_result]]:
    fd = open_folder(spot)
    try:
        found: list[tuple[str, os.stat_result]] = []
        with os.scandir(fd) as entries:
            for entry in entries:
                with suppress(FileNotFoundError):
                    found.append((entry.name, entry.stat(follow_symlinks=False)))
        return found
    finally:
        os.close(fd)


def _last_first(spot: Spot) -> list[tuple[Parts, os.stat_result]]:
    """Return what is in a folder so that popping one after another gives whole paths in order."""
    found = sorted(_entries(spot), key=_path_order, reverse=True)
    return [((*spot.parts, name), facts) for name, facts in found]


def _path_order(entry: tuple[str, os.stat_result]) -> str:
    name, found = entry
    return name + "/" if stat.S_ISDIR(found.st_mode) else name


def _kind(mode: int) -> FileKind:
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "dir"
    return "symlink" if stat.S_ISLNK(mode) else "other"


def _read_at(fd: int, offset: int, limit: int) -> bytes:
    pieces: list[bytes] = []
    left = os.fstat(fd).st_size - offset
    while limit > 0:
        wanted = min(limit, max(left, 0) + 1, _PIECE)
        piece = os.pread(fd, wanted, offset)
        pieces.append(piece)
        if len(piece) < wanted:
            break
        offset += len(piece)
        limit -= len(piece)
        left -= len(piece)
    return b"".join(pieces)


@contextmanager
def _errors(path: str) -> Iterator[None]:
    """Let through the errors that the contract names; make all others a refusal."""
    try:
        yield
    except _PASSED_ON as error:
        if error.filename in (None, path):
            raise
        raise type(error)(error.errno, error.strerror, path) from error
    except OSError as error:
        raise SandboxError(
            f"{path}: {os.strerror(error.errno) if error.errno else error}",
            fix=_MENDS.get(error.errno or 0, "Use another path."),
            path=path,
        ) from error
