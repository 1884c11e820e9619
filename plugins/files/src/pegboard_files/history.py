"""File history: what files held before runs changed them, bounded in size and age."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from pegboard import CallInfo, PluginContext
from pegboard_files.file_change import Content, FileChange
from pegboard_files.history_tables import drop_contents, opened
from pegboard_files.journal import before_of, write_down

DAY_S: Final = 86_400.0
_SIZE: Final = """
    SELECT coalesce(sum(size), 0) FROM content
    WHERE hash IN (SELECT before FROM change WHERE before IS NOT NULL)
"""
_PACKING: Final = 1  # the quickest: text shrinks to a quarter all the same


@dataclass(frozen=True, slots=True)
class PastChange:
    """What a run did to one file.

    Args:
        run: Id of the run.
        path: Absolute path.
        existed: Whether there was a file before.
        before: Hash of its bytes, or None when there was none or they were not kept.
        mode: Its permission bits, or None.
        after: Hash of its bytes behind the change, or None when it was gone then.
        moved_from: Absolute path of the file that this one was before, or None.
        workspace: The folder of the run.
        conversation: Key of its conversation, or "".
        made: Absolute path of the uppermost folder that was made for it, or None.
    """

    run: str
    path: str
    existed: bool
    before: str | None
    mode: int | None
    after: str | None
    moved_from: str | None
    workspace: str
    conversation: str
    made: str | None


@dataclass(frozen=True, slots=True)
class PastRun:
    """A run that changed files.

    Args:
        run: Its id.
        at: When it last did, in seconds since the epoch.
        workspace: Its folder.
        conversation: Key of its conversation, or "".
        files: How many files it changed.
        undone: True when they were all taken back.
    """

    run: str
    at: float
    workspace: str
    conversation: str
    files: int
    undone: bool


class Room(NamedTuple):
    """How much is kept, and how much at most.

    Args:
        bytes: Bytes that are kept, as they lie on the disk.
        most_bytes: Bytes at most.
        days: Days after which they are dropped.
    """

    bytes: int
    most_bytes: int
    days: int


class History:
    """The file history of this machine.

    Args:
        context: The plugin: its settings say how much is kept.
    """

    def __init__(self, context: PluginContext) -> None:
        self._context = context
        self._settings = context.config

    async def keep(
        self, call: CallInfo, tool: str, changes: Sequence[FileChange], *, token: str = ""
    ) -> tuple[list[int], list[str]]:
        """Keep what files hold, before they are changed.

        Args:
            call: The call that changes them.
            tool: Name of the tool.
            changes: The changes.
            token: Name under which their steps are written down; "" = they are not.

        Returns:
            The ids of the rows, for `forget`, and the paths whose content is too large to be kept.
        """
        rows: list[tuple[Any, ...]] = []
        contents: dict[str, Content] = {}
        left_out: list[str] = []
        owner = call.owner
        made_by = (
            *(call.run, call.id, tool, str(call.workspace)),
            *(owner.conversation, owner.turn, owner.person),
        )
        for change in changes:
            for row in self._rows(change, contents, left_out):
                rows.append((*made_by, *row))
        if token:
            befores = (before_of(change) for change in changes)
            contents.update((item.digest, item) for item in befores if item and item.whole)
        now = self._context.clock.now()
        oldest = now - self._settings.history_days * DAY_S
        room = self._settings.history_mb << 20
        tables = await opened(self._context.storage)

        def work(statements: Any) -> list[int]:
            for digest, content in contents.items():
                packed = zlib.compress(content.data, _PACKING)
                statements.execute(
                    "INSERT OR IGNORE INTO content(hash, packed, size) VALUES (?, ?, ?)",
                    (digest, packed, len(packed)),
                )
            ids = [
                statements.execute(
                    "INSERT INTO change(run, call, tool, workspace, conversation, turn, person, "
                    "path, existed, before, mode, after, moved_from, made, at) "
                    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
                    (*row, now),
                )[0][0]
                for row in rows
            ]
            if token:
                write_down(statements, token, str(call.workspace), changes, ids)
            _drop_old(statements, call.run, oldest, room)
            return ids

        return await tables.transaction(work), left_out

    def _rows(
        self, change: FileChange, contents: dict[str, Content], left_out: list[str]
    ) -> list[tuple[Any, ...]]:
        """Return a row for the file, and one for the file that it was, when it had another name."""
        after = None if change.after is None else change.after.digest
        rows = [
            (
                change.target,
                int(change.before is not None),
                *self._kept(change.path, change.before, contents, left_out),
                after,
                change.moved_from,
                change.made,
            )
        ]
        if change.moved_from is not None:
            kept = self._kept(change.path, change.source, contents, left_out)
            rows.append((change.moved_from, 1, *kept, None, None, None))
        return rows

    def _kept(
        self,
        path: str,
        content: Content | None,
        contents: dict[str, Content],
        left_out: list[str],
    ) -> tuple[str | None, int | None]:
        if content is None:
            return None, None
        mode = content.stat.mode if content.stat else None
        if not content.whole or len(content.data) > self._settings.history_file_mb << 20:
            left_out.append(path)
            return None, mode
        contents[content.digest] = content
        return content.digest, mode

    async def forget(self, ids: Sequence[int]) -> None:
        """Drop rows of changes that were not made after all."""
        tables = await opened(self._context.storage)

        def work(statements: Any) -> None:
            for id in ids:
                statements.execute("DELETE FROM change WHERE id = ?", (id,))
            drop_contents(statements)

        await tables.transaction(work)

    async def runs(self, *, conversation: str | None, limit: int) -> list[PastRun]:
        """Return the runs that changed files, the latest first.

        Args:
            conversation: Only those of this conversation; None = all.
            limit: How many at most.
        """
        tables = await opened(self._context.storage)
        rows = await tables.query(
            "SELECT run, max(at), workspace, conversation, count(DISTINCT path), "
            "min(undone_by IS NOT NULL) FROM change WHERE ?1 IS NULL OR conversation = ?1 "
            "GROUP BY run ORDER BY max(id) DESC LIMIT ?2",
            (conversation, limit),
        )
        return [
            PastRun(run, at, workspace, conversation, files, bool(undone))
            for run, at, workspace, conversation, files, undone in rows
        ]

    async def changes(self, run: str) -> list[PastChange]:
        """Return what a run did, in its order."""
        tables = await opened(self._context.storage)
        rows = await tables.query(
            "SELECT run, path, existed, before, mode, after, moved_from, workspace, conversation, "
            "made FROM change WHERE run = ? ORDER BY id",
            (run,),
        )
        return [PastChange(row[0], row[1], bool(row[2]), *row[3:]) for row in rows]

    async def content(self, digest: str) -> bytes | None:
        """Return kept bytes, or None when they were dropped."""
        tables = await opened(self._context.storage)
        rows = await tables.query("SELECT packed FROM content WHERE hash = ?", (digest,))
        return zlib.decompress(rows[0][0]) if rows else None

    async def last_writer(self, path: str, digest: str | None) -> str | None:
        """Return the latest run that left a path with these bytes, or None."""
        tables = await opened(self._context.storage)
        rows = await tables.query(
            "SELECT run FROM change WHERE path = ? AND after IS ? ORDER BY id DESC LIMIT 1",
            (path, digest),
        )
        return rows[0][0] if rows else None

    async def set_undone(self, run: str, by: str) -> None:
        """Note that a run's changes were taken back, by another run."""
        tables = await opened(self._context.storage)
        await tables.execute("UPDATE change SET undone_by = ? WHERE run = ?", (by, run))

    async def room(self) -> Room:
        """Return how much is kept, and how much at most."""
        tables = await opened(self._context.storage)
        rows = await tables.query(_SIZE)
        return Room(rows[0][0], self._settings.history_mb << 20, self._settings.history_days)


def _drop_old(statements: Any, current: str, oldest: float, room: int) -> None:
    """Drop what is too old; then the oldest runs until the rest fits, but never the current one."""
    statements.execute("DELETE FROM change WHERE at < ?", (oldest,))
    drop_contents(statements)
    while statements.execute(_SIZE)[0][0] > room:
        found = statements.execute(
            "SELECT run FROM change WHERE run != ? AND before IS NOT NULL "
            "GROUP BY run ORDER BY max(id) LIMIT 1",
            (current,),
        )
        if found:
            statements.execute("DELETE FROM change WHERE run = ?", (found[0][0],))
        else:
            # one run alone has more than there is room for: its own earliest contents go
            statements.execute(
                "UPDATE change SET before = NULL WHERE id = "
                "(SELECT min(id) FROM change WHERE before IS NOT NULL)"
            )
        drop_contents(statements)
