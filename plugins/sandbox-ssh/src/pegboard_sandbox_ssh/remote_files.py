"""Files of the other machine, below the grants.

Links are looked at before a file is opened, not while: what runs there with the same rights could
exchange a folder for a link in between. It could read and write the same files itself.
"""

from __future__ import annotations

import errno
import secrets
import stat
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, suppress
from typing import Final, NamedTuple

from pegboard import FileStat, SandboxError
from pegboard.sandboxes import (
    KEY_START,
    MAX_READ,
    Effects,
    GrantTable,
    Parts,
    PathText,
    check_place,
    is_private_key,
    join,
    lacks_effect,
    may_be_key,
    not_regular,
    protected,
    split,
)
from pegboard_sandbox_ssh.connection import Attributes, Connection, file_errors

_PLAIN_MODE: Final = 0o777  # what is made for a caller gives nobody another's rights
_LINKS: Final = 40
_PIECE: Final = 4 << 20


class Found(NamedTuple):
    """A place of the other machine; `facts` is None when there is nothing."""

    text: PathText
    parts: Parts
    facts: Attributes | None

    @property
    def path(self) -> str:
        """The place as an absolute path."""
        return join(self.parts)

    @property
    def kind(self) -> str:
        """`file`, `dir`, `symlink`, `other`, or "" when there is nothing."""
        return "" if self.facts is None else _kind(self.facts)


class RemoteFiles:
    """The file half of the contract, by SFTP.

    Args:
        connection: To the other machine; shared by every narrowed view.
        table: The grants there.
        effects: What this view may do.
    """

    def __init__(self, connection: Connection, table: GrantTable, effects: Effects) -> None:
        self.connection = connection
        self.table = table
        self.effects = effects

    def resolve(self, path: str, *, write: bool = False) -> str:
        """Return the absolute path that `path` names; links are looked at when it is used."""
        text = self.table.read(path)
        self._check(text, text.parts, write=write)
        return join(text.parts)

    def display(self, absolute: str) -> str:
        """Return how to show a path: relative to the workspace where it is inside."""
        return self.table.display(split(absolute))

    async def read(self, path: str, *, offset: int = 0, limit: int = MAX_READ) -> bytes:
        """Return at most `limit` bytes from `offset` of a regular file."""
        self._may("read")
        with self._errors(path):
            found = await self._find(path)
            self._require_file(found)
            async with self.connection.sftp.open(found.path, "rb") as file:
                if may_be_key(found.parts[-1]) and is_private_key(
                    found.parts[-1], await file.read(KEY_START, 0)
                ):
                    raise protected(path, "key", write=False, place=found.path)
                return await file.read(max(0, min(limit, MAX_READ)), max(0, offset))

    async def write(
        self,
        path: str,
        data: bytes,
        *,
        parents: bool = True,
        must_be_new: bool = False,
        new_mode: int | None = None,
    ) -> None:
        """Replace a file as one step; the mode of an existing file is kept."""
        self._may("fs_write")
        with self._errors(path):
            found = await self._find(path, write=True)
            if found.text.folder:
                raise IsADirectoryError(errno.EISDIR, "the path names a folder", path)
            if found.facts is not None:
                if must_be_new:
                    raise FileExistsError(errno.EEXIST, "the file exists", path)
                self._require_file(found)
            created = await self._make_parents(found) if parents else []
            try:
                await self._replace(found, data, must_be_new=must_be_new, new_mode=new_mode)
            except BaseException:
                for parts in reversed(created):
                    with suppress(Exception):
                        await self.connection.sftp.rmdir(join(parts))
                raise

    async def stat(self, path: str) -> FileStat | None:
        """Return what `path` is, or None when there is nothing."""
        with self._errors(path):
            found = await self._find(path, follow=False)
            return None if found.facts is None else self._fact(found.parts, found.facts)

    async def list_dir(self, path: str) -> list[FileStat]:
        """Return the entries of a folder, sorted by name."""
        self._may("read")
        with self._errors(path):
            found = await self._find(path)
            self._require_folder(found)
            entries = await self._entries(found.parts)
        return [self._fact((*found.parts, name), facts) for name, facts in sorted(entries.items())]

    async def walk(
        self, path: str, *, skip: frozenset[str] = frozenset()
    ) -> AsyncIterator[FileStat]:
        """Yield every file and link below `path`, sorted, without following links to folders."""
        self._may("read")
        with self._errors(path):
            found = await self._find(path)
            if found.facts is None:
                raise FileNotFoundError(errno.ENOENT, "no such file or folder", path)
        pending = [(found.parts, found.facts)]
        while pending:
            parts, facts = pending.pop()
            if _kind(facts) != "dir":
                if _kind(facts) in ("file", "symlink"):
                    yield self._fact(parts, facts)
            elif parts == found.parts or parts[-1] not in skip:
                pending.extend(await self._inside(parts, must=parts == found.parts))

    async def make_dir(self, path: str) -> None:
        """Create a folder and its parents."""
        self._may("fs_write")
        with self._errors(path):
            found = await self._find(path, write=True)
            if found.kind == "dir":
                return
            if found.facts is not None:
                raise FileExistsError(errno.EEXIST, "a file of that name exists", path)
            await self._make_parents(found)
            await self.connection.sftp.mkdir(found.path)

    async def remove(self, path: str) -> None:
        """Remove a file, a link, or an empty folder."""
        self._may("fs_write")
        with self._errors(path):
            found = await self._find(path, write=True, follow=False)
            self._require_movable(found)
            if found.kind == "dir":
                if await self._entries(found.parts):
                    raise OSError(errno.ENOTEMPTY, "the folder is not empty", path)
                await self.connection.sftp.rmdir(found.path)
            else:
                await self.connection.sftp.remove(found.path)

    async def rename(self, source: str, target: str) -> None:
        """Rename a file; refuses to replace an existing one."""
        self._may("fs_write")
        with self._errors(source):
            old = await self._find(source, write=True, follow=False)
            new = await self._find(target, write=True, follow=False)
            self._require_movable(old)
            if may_be_key(old.parts[-1]):
                await self.read(source, limit=0)  # a private key does not get an ordinary name
            if new.facts is not None:
                raise FileExistsError(errno.EEXIST, "the target exists", target)
            # the rename of SFTP itself: it replaces nothing
            await self.connection.sftp.rename(old.path, new.path)

    def _may(self, effect: str) -> None:
        if effect not in self.effects:
            raise lacks_effect(effect, self.effects)  # type: ignore[arg-type]

    def _errors(self, path: str) -> AbstractContextManager[None]:
        return file_errors(path, self.connection.title)

    def _check(self, text: PathText, parts: Parts, *, write: bool) -> None:
        try:
            check_place(self.table, text, parts, write=write)
        except SandboxError as error:
            if (error.fix or "").startswith("pegboard grant"):
                error.fix = (
                    "Add the folder to grants in the section [sandboxes.ssh] of config.toml."
                )
            raise

    async def _find(self, path: str, *, write: bool = False, follow: bool = True) -> Found:
        """Find a place, with the links on its way resolved, and judge it."""
        text = self.table.read(path)
        self._check(text, text.parts, write=write)
        parts = await self._resolved(text.parts, follow=follow)
        self._check(text, parts, write=write)
        return Found(text, parts, await self._look(join(parts)))

    async def _resolved(self, parts: Parts, *, follow: bool) -> Parts:
        """Return a place without links on its way; what is missing stays as it is."""
        done: Parts = ()
        rest = list(reversed(parts))
        links = 0
        while rest:
            name = rest.pop()
            place = (*done, name)
            facts = None
            if rest or follow:
                facts = await self._look(join(place))
            if facts is None or _kind(facts) != "symlink":
                done = place
                continue
            links += 1
            if links > _LINKS:
                raise OSError(errno.ELOOP, "too many links", join(parts))
            target = str(await self.connection.sftp.readlink(join(place)))
            base = () if target.startswith("/") else done
            rest.extend(reversed(split(f"{join(base)}/{target}")))
            done = ()
        return done

    async def _look(self, path: str) -> Attributes | None:
        try:
            with file_errors(path, self.connection.title):
                return await self.connection.sftp.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            return None

    async def _entries(self, parts: Parts) -> dict[str, Attributes]:
        found = await self.connection.sftp.readdir(join(parts))
        return {
            str(entry.filename): entry.attrs for entry in found if entry.filename not in (".", "..")
        }

    async def _inside(self, parts: Parts, *, must: bool) -> list[tuple[Parts, Attributes]]:
        """Return the entries of a folder, last first; none of one that is closed, unless `must`."""
        text = PathText(join(parts), parts, folder=True)
        try:
            with self._errors(join(parts)):
                self._check(text, parts, write=False)
                entries = await self._entries(parts)
        except (OSError, SandboxError):
            if must:
                raise
            return []

        def order(item: tuple[str, Attributes]) -> str:
            return item[0] + ("/" if _kind(item[1]) == "dir" else "")

        return [
            ((*parts, name), facts)
            for name, facts in sorted(entries.items(), key=order, reverse=True)
        ]

    async def _make_parents(self, found: Found) -> list[Parts]:
        missing: list[Parts] = []
        parts = found.parts[:-1]
        while parts and await self._look(join(parts)) is None:
            missing.append(parts)
            parts = parts[:-1]
        created = list(reversed(missing))
        for folder in created:
            await self.connection.sftp.mkdir(join(folder))
        return created

    async def _replace(
        self, found: Found, data: bytes, *, must_be_new: bool, new_mode: int | None
    ) -> None:
        sftp = self.connection.sftp
        part = join((*found.parts[:-1], f".{secrets.token_hex(8)}.part"))
        mode = None if new_mode is None else new_mode & _PLAIN_MODE
        if found.facts is not None:
            mode = stat.S_IMODE(found.facts.permissions or 0)
        try:
            async with sftp.open(part, "xb") as file:
                for start in range(0, len(data), _PIECE):
                    await file.write(data[start : start + _PIECE])
                if mode is not None:
                    await file.chmod(mode)
                with suppress(Exception):  # an extension, which few servers lack
                    await file.fsync()
            if must_be_new:
                await self._link(part, found)
            else:
                await sftp.posix_rename(part, found.path)
        finally:
            if await self._look(part) is not None:
                await sftp.remove(part)

    async def _link(self, part: str, found: Found) -> None:
        """Give a file its name unless somebody else has it by now."""
        try:
            await self.connection.sftp.link(part, found.path)
        except Exception:
            if await self._look(found.path) is None:
                raise
            raise FileExistsError(errno.EEXIST, "the file exists", found.text.text) from None

    def _require_file(self, found: Found) -> None:
        if found.facts is None:
            raise FileNotFoundError(errno.ENOENT, "no such file", found.text.text)
        if found.kind == "dir":
            raise IsADirectoryError(errno.EISDIR, "it is a folder", found.text.text)
        if found.kind != "file":
            raise not_regular(found.text.text, "a pipe, socket or device")

    def _require_folder(self, found: Found) -> None:
        if found.facts is None:
            raise FileNotFoundError(errno.ENOENT, "no such folder", found.text.text)
        if found.kind != "dir":
            raise NotADirectoryError(errno.ENOTDIR, "it is no folder", found.text.text)

    def _require_movable(self, found: Found) -> None:
        if found.facts is None:
            raise FileNotFoundError(errno.ENOENT, "no such file or folder", found.text.text)
        if self.table.holds(found.parts) or self.table.protection.holds(found.parts):
            raise SandboxError(
                f"{found.text.text} is, or holds, a granted or protected place and stays",
                fix="A person can move it.",
                path=found.text.text,
            )

    def _fact(self, parts: Parts, facts: Attributes) -> FileStat:
        seconds = facts.mtime or 0
        return FileStat(
            path=self.table.display(parts),
            kind=_kind(facts),  # type: ignore[arg-type]
            size=facts.size or 0,
            mtime_ns=int(seconds) * 1_000_000_000 + (facts.mtime_ns or 0),
            mode=stat.S_IMODE(facts.permissions or 0),
        )


def _kind(facts: Attributes) -> str:
    mode = facts.permissions or 0
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "dir"
    return "symlink" if stat.S_ISLNK(mode) else "other"
