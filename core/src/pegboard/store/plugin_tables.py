"""A plugin's own tables: SQL in a file of its own, one statement at a time."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from pegboard.contracts.errors import StoreError
from pegboard.contracts.storage import ConstraintError, EraseSql, Parameters, Row, Statements
from pegboard.store.database import Database
from pegboard.store.migration import Migration
from pegboard.store.plugin_erasure import keep_sql
from pegboard.store.plugin_sql import refuse

T = TypeVar("T")


class PluginTables:
    """The tables of one plugin; a `Tables`.

    Args:
        plugin_id: Id of the plugin.
        folder: Folder of the file.
        name: Name of the file.
        migrations: The steps to the newest form.
    """

    def __init__(
        self, plugin_id: str, folder: Path, name: str, migrations: tuple[Migration, ...]
    ) -> None:
        self.migrations = migrations
        self._plugin_id = plugin_id
        self._erase: EraseSql | None = None
        self._database = Database(folder, name=name, migrations=migrations)

    async def open(self, erase: EraseSql | None = None) -> None:
        """Open and migrate the file; again: does nothing.

        Args:
            erase: How rows are erased; None = as it was said the last time.

        Raises:
            StoreError: When a step fails, a newer version of the plugin has written the tables, or
                `erase` is no SQL for them.
        """
        try:
            await self._database.open()
        except StoreError as error:
            if "newest" not in error.details:
                raise
            raise StoreError(
                f"The tables of the plugin {self._plugin_id} were written by a newer version of "
                "it.",
                fix="install that version again",
                **error.details,
            ) from error
        if erase is not None and erase != self._erase:
            await self._database.write(partial(keep_sql, erase=erase))
            self._erase = erase

    async def query(self, sql: str, parameters: Parameters = ()) -> Sequence[Row]:
        """Read: run one statement that changes nothing and return its rows."""
        return await self._database.read(lambda connection: run(connection, sql, parameters))

    async def execute(self, sql: str, parameters: Parameters = ()) -> Sequence[Row]:
        """Write: run one statement, and return its rows once it is on the disk."""
        return await self._database.write(lambda connection: run(connection, sql, parameters))

    async def transaction(self, work: Callable[[Statements], T]) -> T:
        """Run several statements as one step, and return what `work` returns."""

        def within(connection: sqlite3.Connection) -> T:
            statements = _Statements(connection)
            try:
                return work(statements)
            finally:
                statements.end()

        return await self._database.write(within)

    async def aclose(self) -> None:
        """Write what waits and close the file; a second time does nothing."""
        await self._database.aclose()


class _Statements:
    """A connection of which only statements can be reached, and only within one transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._run: Callable[[str, Parameters], list[Row]] = partial(run, connection)

    def execute(self, sql: str, parameters: Parameters = ()) -> Sequence[Row]:
        return self._run(sql, parameters)

    def end(self) -> None:
        self._run = _ended


def run(connection: sqlite3.Connection, sql: str, parameters: Parameters) -> list[Row]:
    """Run one statement of a plugin and return its rows.

    Raises:
        ConstraintError: When it breaks a rule of the table.
        StoreError: When it can't be run, or is not for plugins.
    """
    refuse(sql)
    try:
        return connection.execute(sql, parameters).fetchall()
    except sqlite3.IntegrityError as error:
        raise ConstraintError(f"The statement breaks a rule of its table: {error}.") from error
    except (sqlite3.ProgrammingError, sqlite3.Warning, OverflowError) as error:
        raise StoreError(f"The statement can't be run: {error}", fix="mend the SQL") from error
    except sqlite3.OperationalError as error:
        name = getattr(error, "sqlite_errorname", "")
        if name == "SQLITE_READONLY":
            raise StoreError(
                "Tables.query reads, and this statement writes.", fix="use Tables.execute"
            ) from error
        if name != "SQLITE_ERROR":
            raise  # the disk is full or the like: said as for the host's own store
        raise StoreError(f"The statement can't be run: {error}.", fix="mend the SQL") from error


def steps(migrations: Sequence[Sequence[str]]) -> tuple[Migration, ...]:
    """Return a plugin's migrations as the store knows them.

    Raises:
        StoreError: When there is none, or one is no sequence of statements for plugins.
    """
    found = []
    for version, statements in enumerate(migrations, start=1):
        if isinstance(statements, str):
            raise StoreError(
                f"Migration {version} is a text; it must be a sequence of statements.",
                fix='write ("CREATE TABLE ...",), with the comma',
            )
        for sql in statements:
            refuse(sql)
        found.append(Migration(version, f"migration {version} of a plugin", tuple(statements)))
    if not found:
        raise StoreError("Tables need one migration at least.", fix='give (("CREATE TABLE ...",),)')
    return tuple(found)


def _ended(sql: str, parameters: Parameters) -> list[Row]:
    raise StoreError(
        "The transaction is over: its statements can't be kept for later.",
        fix="call Tables.transaction again",
    )
