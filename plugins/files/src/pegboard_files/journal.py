"""Which changes of several files are under way, so that one that was killed can be ended.

A change of one file is one step of the file system; of several, each step is written down before
the first is taken. Whoever makes the change holds a lock for as long: a journal without one is that
of a process that died.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from posixpath import dirname
from typing import Any, Final

from pegboard import PluginContext
from pegboard_files.file_change import Content, FileChange
from pegboard_files.history_tables import drop_contents, opened

_LOCKS: Final = "changing"


@dataclass(frozen=True, slots=True)
class Step:
    """What a change under way does to one file.

    Args:
        path: As it is shown.
        target: Absolute path.
        moved_from: Absolute path of the file that this one was before, or None.
        made: Absolute path of the uppermost folder that is made for it, or None.
        before: Hash of the bytes before, those of the file that is moved; None = there is no file.
        after: Hash of the bytes after; None = the file goes.
        aside: Where a file that goes is put first, or None.
    """

    path: str
    target: str
    moved_from: str | None
    made: str | None
    before: str | None
    after: str | None
    aside: str | None


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A change that a process left when it died.

    Args:
        token: Its name.
        committed: True when all is done but that files that were put aside still have to go.
        steps: Its steps, in their order.
    """

    token: str
    committed: bool
    steps: tuple[Step, ...]


def needs_journal(changes: Sequence[FileChange]) -> bool:
    """Tell whether changes take more than one step, between which a process can die."""
    return len(changes) > 1 or any(
        change.moved_from is not None and change.after is not change.source for change in changes
    )


def aside_of(change: FileChange, token: str, number: int) -> str | None:
    """Return where a file that goes is put first; a name that no file has.

    Args:
        change: The change.
        token: Name of the whole change.
        number: Place of this one in it.
    """
    if change.after is not None:
        return None
    return f"{dirname(change.target)}/.pegboard-{token}-{number}"


def before_of(change: FileChange) -> Content | None:
    """Return what a file, or the one that becomes it, holds before a change."""
    return change.source if change.moved_from is not None else change.before


def write_down(
    statements: Any,
    token: str,
    workspace: str,
    changes: Sequence[FileChange],
    history: Sequence[int],
) -> None:
    """Write the steps of changes down; what they need is kept beside it.

    Args:
        statements: The transaction.
        token: Name of the whole change.
        workspace: The folder of the run.
        changes: The changes.
        history: Ids of its rows in the history.
    """
    statements.execute(
        "INSERT INTO journal(token, workspace, history) VALUES (?, ?, ?)",
        (token, workspace, json.dumps(list(history))),
    )
    for number, change in enumerate(changes):
        before = before_of(change)
        statements.execute(
            "INSERT INTO step(token, number, path, target, moved_from, made, before, after, aside) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                token,
                number,
                change.path,
                change.target,
                change.moved_from,
                change.made,
                None if before is None else before.digest,
                None if change.after is None else change.after.digest,
                aside_of(change, token, number),
            ),
        )


class Journal:
    """The changes under way on this machine.

    Args:
        context: The plugin.
    """

    def __init__(self, context: PluginContext) -> None:
        self._context = context

    @contextmanager
    def held(self, token: str) -> Iterator[None]:
        """Be known as alive for the time of the block."""
        folder = self._context.data_dir / _LOCKS
        folder.mkdir(exist_ok=True)
        with _locked(folder / token) as locked:
            yield
            if locked:
                (folder / token).unlink(missing_ok=True)

    async def commit(self, token: str) -> None:
        """Note that there is no way back: what is put aside has to go."""
        tables = await opened(self._context.storage)
        await tables.execute("UPDATE journal SET committed = 1 WHERE token = ?", (token,))

    async def close(self, token: str, *, undone: bool = False) -> None:
        """Forget a change that has ended.

        Args:
            token: Its name.
            undone: True when nothing of it was done: the history forgets it as well.
        """
        tables = await opened(self._context.storage)

        def work(statements: Any) -> None:
            found = statements.execute(
                "DELETE FROM journal WHERE token = ? RETURNING history, workspace", (token,)
            )
            statements.execute("DELETE FROM step WHERE token = ?", (token,))
            for history, workspace in found if undone else ():
                # rows that were erased meanwhile may have left their ids to those of other folders
                statements.execute(
                    "DELETE FROM change WHERE id IN (SELECT value FROM json_each(?)) "
                    "AND workspace = ?",
                    (history, workspace),
                )
            drop_contents(statements)

        await tables.transaction(work)
        with suppress(OSError):
            (self._context.data_dir / _LOCKS / token).unlink(missing_ok=True)

    async def left(self, workspace: Path) -> list[str]:
        """Return the names of changes in a folder that have not ended, also those under way."""
        tables = await opened(self._context.storage)
        rows = await tables.query(
            "SELECT token FROM journal WHERE workspace = ? ORDER BY token", (str(workspace),)
        )
        return [token for (token,) in rows]

    @contextmanager
    def taken(self, token: str) -> Iterator[bool]:
        """Take over a change for the time of the block; False when whoever makes it is alive."""
        folder = self._context.data_dir / _LOCKS
        folder.mkdir(exist_ok=True)
        with _locked(folder / token) as locked:
            yield locked

    async def unfinished(self, token: str) -> Unfinished | None:
        """Return a change that has not ended; None when it has."""
        tables = await opened(self._context.storage)
        found = await tables.query("SELECT committed FROM journal WHERE token = ?", (token,))
        if not found:
            return None
        rows = await tables.query(
            "SELECT path, target, moved_from, made, before, after, aside FROM step "
            "WHERE token = ? ORDER BY number",
            (token,),
        )
        return Unfinished(token, bool(found[0][0]), tuple(Step(*row) for row in rows))


@contextmanager
def _locked(path: Path) -> Iterator[bool]:
    """Hold a lock that ends with the process; False when somebody else holds it."""
    try:
        import fcntl
    except ImportError:  # Windows: nobody is known to be dead, so nothing is taken over
        yield False
        return
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(file)
