"""Erase in the files of plugins what was erased in the store, without asking the plugins."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final, get_args

from pegboard.contracts.archive import Erasure, ErasureKind
from pegboard.contracts.errors import StoreError
from pegboard.contracts.storage import EraseSql
from pegboard.store.encoding import kept
from pegboard.store.plugin_sql import refuse
from pegboard.store.sqlite import open_for_writing, told

DOCUMENTS: Final = "documents.db"
TABLES: Final = "tables.db"
KINDS: Final[tuple[ErasureKind, ...]] = get_args(ErasureKind)
_SQL_TABLE: Final = "pegboard_erase"
"""Table in a plugin's own file that tells how rows of the others are erased."""
_DOCUMENTS: Final = {
    "conversation": "DELETE FROM document WHERE conversation = :name",
    "turn": "DELETE FROM document WHERE turn = :name",
    "person": "DELETE FROM document WHERE person = :name",
    "thinned": "DELETE FROM document WHERE conversation = :name AND turn = ''",
}
_WORDS_TABLE: Final = f"""
    CREATE TABLE IF NOT EXISTS {_SQL_TABLE}(
        kind TEXT NOT NULL, number INTEGER NOT NULL, sql TEXT NOT NULL, PRIMARY KEY(kind, number)
    ) STRICT, WITHOUT ROWID
"""
_NAME: Final = ":name"
_QUICK_MS: Final = 200


def erase_below(folder: Path, erasures: Sequence[Erasure]) -> dict[str, StoreError]:
    """Erase in the files of all plugins, each with a folder of its own; return which failed.

    Args:
        folder: Folder of those folders.
        erasures: What was erased. A second time does nothing.

    Returns:
        Why by file, such as `web/tables.db`, in the words of `Erasure.left`.
    """
    failed: dict[str, StoreError] = {}
    erasures = [item for item in erasures if item.name]  # "" stands for what is nobody's
    for name, erase in ((DOCUMENTS, _in_documents), (TABLES, _in_tables)):
        for path in sorted(folder.glob(f"*/{name}")):
            file = f"{path.parent.name}/{name}"
            wanted = [item for item in erasures if item.concerns(file)]
            try:
                if wanted:
                    _erase(path, erase, wanted)
            except StoreError as error:
                failed[file] = error
    return failed


def keep_sql(connection: sqlite3.Connection, erase: EraseSql) -> None:
    """Keep beside a plugin's tables how their rows are erased.

    Raises:
        StoreError: When a statement can't be run on these tables, or is not for plugins.
    """
    wanted = [
        (kind, number, sql)
        for kind in KINDS
        for number, sql in enumerate(_statements(kind, getattr(erase, kind)))
    ]
    for _, _, sql in wanted:
        refuse(sql)
        try:
            connection.execute(f"EXPLAIN {sql}", {"name": ""})
        except sqlite3.Error as error:
            raise StoreError(
                f"`{sql}` can't erase: {error}.",
                fix="give EraseSql statements on these tables, with :name for what is erased",
            ) from error
    if _kept(connection) == wanted:
        return
    connection.execute(_WORDS_TABLE)
    connection.execute(f"DELETE FROM {_SQL_TABLE}")
    connection.executemany(f"INSERT INTO {_SQL_TABLE} VALUES (?, ?, ?)", wanted)


def _statements(kind: str, given: Sequence[str]) -> Sequence[str]:
    if isinstance(given, str):
        raise StoreError(
            f"EraseSql.{kind} is a text; it must be a sequence of statements.",
            fix='write ("DELETE FROM ...",), with the comma',
        )
    return given


def _kept(connection: sqlite3.Connection) -> list[tuple[str, int, str]]:
    there = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
    if connection.execute(there, (_SQL_TABLE,)).fetchone() is None:
        return []
    found = connection.execute(f"SELECT kind, number, sql FROM {_SQL_TABLE}").fetchall()
    return sorted(found, key=lambda row: (KINDS.index(row[0]), row[1]))


def _erase(
    path: Path,
    erase: Callable[[sqlite3.Connection, Sequence[Erasure]], bool],
    erasures: Sequence[Erasure],
) -> None:
    with closing(open_for_writing(path)) as connection, told(path):
        # what was there is overwritten in the file, and not only given free
        connection.execute("PRAGMA secure_delete=ON")
        connection.execute("BEGIN IMMEDIATE")
        try:
            found = erase(connection, erasures)
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")
        if found:
            # the log still has the pages as they were; who reads now keeps it for that long
            connection.execute(f"PRAGMA busy_timeout={_QUICK_MS}")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _in_documents(connection: sqlite3.Connection, erasures: Sequence[Erasure]) -> bool:
    columns = connection.execute("SELECT name FROM pragma_table_info('document')").fetchall()
    if ("conversation",) not in columns:
        return False  # no document had an owner then
    return _run(
        connection, list(_DOCUMENTS.items()), [(item.kind, kept(item.name)) for item in erasures]
    )


def _in_tables(connection: sqlite3.Connection, erasures: Sequence[Erasure]) -> bool:
    statements = [(kind, sql) for kind, _, sql in _kept(connection)]
    for _, sql in statements:
        refuse(sql)
    names = [(item.kind, item.name) for item in erasures if _can_be_there(item.name)]
    return _run(connection, statements, names)


def _can_be_there(name: str) -> bool:
    """Tell whether a plugin can have kept a name: half characters SQLite refuses."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _run(
    connection: sqlite3.Connection,
    statements: Sequence[tuple[str, str]],
    names: Sequence[tuple[str, str]],
) -> bool:
    """Run the statements of each kind for all names of it; tell whether one changed anything.

    One without a name, which tidies up behind those before it, is run once and not for each.
    """
    before = connection.total_changes
    for kind, sql in statements:
        wanted = [{"name": name} for of, name in names if of == kind]
        for named in wanted if _NAME in sql else wanted[:1]:
            connection.execute(sql, named)
    return connection.total_changes > before
