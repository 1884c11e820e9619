"""Change several files as one step: all of them, or none.

Each step is undone by what gives back exactly the room on the disk that it took, and steps are
undone in reverse order, so that a full disk does not stand in the way.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from posixpath import dirname
from typing import Final

import anyio

from pegboard import FileStat, PegboardError, Sandbox, SandboxError, ToolFailure
from pegboard_files.file_change import Content, FileChange
from pegboard_files.journal import aside_of
from pegboard_files.names import shown

Undo = Callable[[], Awaitable[None]]
_FAILURES: Final = (OSError, PegboardError)


class RollbackFailed(ToolFailure):
    """A change failed, and so did taking back what had been done before it."""


class Transaction:
    """Changes of files, and the way back.

    Args:
        sandbox: Where the files are.
        token: A name that no file has.
        no_way_back: Called before the first file goes for good.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        token: str,
        *,
        no_way_back: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._no_way_back = no_way_back
        self._sandbox = sandbox
        self._token = token
        self._undo: list[tuple[str, Undo]] = []
        self._staged: list[str] = []

    async def apply(self, changes: Sequence[FileChange]) -> None:
        """Make all changes; when one fails, those before it are taken back.

        A call that is cancelled on the way takes back what it did, too.

        Raises:
            ToolFailure: When a file is not any more what it was when it was read.
            RollbackFailed: When it can't be taken back; the message names the files.
            SandboxError, OSError: What the failed change says.
        """
        for change in changes:
            await self._check_unchanged(change)
        if len(changes) == 1 and changes[0].after is None:
            return await self._sandbox.remove(changes[0].target)
        try:
            for change in changes:
                if change.after is not None:
                    await self._put(change, change.after)
            for number, change in enumerate(changes):
                aside = aside_of(change, self._token, number)
                if aside is not None:
                    await self._stage(change, aside)
            if self._staged and self._no_way_back is not None:
                await self._no_way_back()
            with anyio.CancelScope(shield=True):  # the first that goes can't be brought back
                for staged in self._staged:
                    await self._sandbox.remove(staged)
        except BaseException as error:
            with anyio.CancelScope(shield=True):
                await self._roll_back(error)
            raise

    async def _check_unchanged(self, change: FileChange) -> None:
        place = change.moved_from or change.target
        content = change.source if change.moved_from else change.before
        stat = await self._sandbox.stat(place)
        if _same(content, stat):
            return
        raise ToolFailure(
            f"{shown(change.path)} was changed by somebody else in this moment.",
            fix="Read it again, then repeat the change. No file was changed.",
            code="changed_meanwhile",
            retryable=True,
        )

    async def _put(self, change: FileChange, after: Content) -> None:
        sandbox, target = self._sandbox, change.target
        before = change.before
        if change.moved_from is not None:
            source = change.moved_from
            await self._make_parents(change)
            await sandbox.rename(source, target)
            self._undo.append((change.path, lambda: sandbox.rename(target, source)))
            before = change.source
        if after is before:
            return
        if before is None:
            await self._make_parents(change)
            await sandbox.write(target, after.data, must_be_new=True, new_mode=after.new_mode)
            self._undo.append((change.path, lambda: sandbox.remove(target)))
            return
        old = before
        await sandbox.write(target, after.data)
        if old.whole:
            self._undo.append((change.path, lambda: sandbox.write(target, old.data)))
        else:
            self._undo.append((change.path, _can_not))

    async def _make_parents(self, change: FileChange) -> None:
        for made in reversed(await missing_folders(self._sandbox, change.target)):
            await self._sandbox.make_dir(made)
            self._undo.append((change.path, _remover(self._sandbox, made)))

    async def _stage(self, change: FileChange, aside: str) -> None:
        """Put a file aside: unlike a file that is removed it comes back as it was, mode and all."""
        sandbox, target = self._sandbox, change.target
        await sandbox.rename(target, aside)
        self._staged.append(aside)
        self._undo.append((change.path, lambda: sandbox.rename(aside, target)))

    async def _roll_back(self, cause: BaseException) -> None:
        left: list[str] = []
        for path, undo in reversed(self._undo):
            try:
                await undo()
            except _FAILURES as error:
                left.append(f"{shown(path)}: {error}")
        if left:
            listed = "".join(f"\n- {line}" for line in left)
            raise RollbackFailed(
                f"The change failed ({cause}), and what was done before could not be taken back:"
                f"{listed}\n",
                fix="What the files held is kept: `pegboard undo` lists it.",
                code="rollback_failed",
            ) from cause


async def missing_folders(sandbox: Sandbox, path: str) -> list[str]:
    """Return the folders above a path that are not there, the lowest first."""
    missing: list[str] = []
    folder = dirname(path)
    while folder not in ("", "/") and await sandbox.stat(folder) is None:
        missing.append(folder)
        folder = dirname(folder)
    return missing


def _same(content: Content | None, stat: FileStat | None) -> bool:
    if content is None:
        return stat is None
    if stat is None:
        return False
    known = content.stat
    return known is None or (known.kind, known.size, known.mtime_ns) == (
        stat.kind,
        stat.size,
        stat.mtime_ns,
    )


def _remover(sandbox: Sandbox, folder: str) -> Undo:
    async def remove() -> None:
        try:
            await sandbox.remove(folder)
        except (OSError, SandboxError):
            return  # somebody else has put something into it

    return remove


async def _can_not() -> None:
    raise ToolFailure("it was too large to be kept")
