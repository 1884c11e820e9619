"""What plugins keep: two SQLite files for each, documents and tables, beside the host's store."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from pegboard.contracts.clock import Clock
from pegboard.contracts.errors import StoreError
from pegboard.contracts.storage import NOBODY, Document, EraseSql, Owner, Place
from pegboard.store.database import Database
from pegboard.store.encoding import dumped, kept, loaded
from pegboard.store.migration import Migration
from pegboard.store.plugin_erasure import DOCUMENTS as DOCUMENTS
from pegboard.store.plugin_erasure import TABLES as TABLES
from pegboard.store.plugin_tables import PluginTables, steps

_LAST: Final = chr(0x10FFFF)
"""Behind every key that a prefix may be followed by."""
_MIGRATIONS: Final = (
    Migration(
        1,
        "documents",
        (
            """
            CREATE TABLE document(
                collection TEXT NOT NULL,
                key TEXT NOT NULL,
                value TEXT NOT NULL CHECK(json_valid(value)),
                updated_at REAL NOT NULL,
                PRIMARY KEY(collection, key)
            ) STRICT, WITHOUT ROWID
            """,
        ),
    ),
    Migration(
        2,
        "owners",
        (
            *(
                f"ALTER TABLE document ADD COLUMN {owner} TEXT NOT NULL DEFAULT ''"
                for owner in ("conversation", "turn", "person")
            ),
            *(
                f"CREATE INDEX document_{owner} ON document({owner}) WHERE {owner} <> ''"
                for owner in ("conversation", "turn", "person")
            ),
        ),
    ),
)
_INSERT: Final = """
    INSERT INTO document(collection, key, value, updated_at, conversation, turn, person)
    VALUES (?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT(collection, key) DO UPDATE
    SET value = excluded.value, updated_at = excluded.updated_at
"""
_OWN: Final = (
    ", conversation = excluded.conversation, turn = excluded.turn, person = excluded.person"
)
_DELETE: Final = "DELETE FROM document WHERE collection = ? AND key = ?"


class PluginStorage:
    """What one plugin keeps; a `Storage`. Nothing is made on the disk before its first use.

    Args:
        plugin_id: Id of the plugin.
        folder: Folder of its files, and of nothing else.
        clock: The host's clock.
    """

    def __init__(self, plugin_id: str, folder: Path, clock: Clock) -> None:
        self._plugin_id = plugin_id
        self._folder = folder
        self._clock = clock
        self._documents = Database(folder, name=DOCUMENTS, migrations=_MIGRATIONS)
        self._tables: PluginTables | None = None
        self._closed = False

    async def get(self, collection: str, key: str, default: Any = None) -> Any:
        """Return the value of a document, or `default` when there is none."""
        place = checked((collection, key))
        text = await self._documents.read(lambda connection: _value(connection, place))
        return default if text is None else loaded(text)

    async def put(self, collection: str, key: str, value: Any, *, of: Owner | None = None) -> None:
        """Keep a JSON value; one that was there is replaced."""
        await self.write({(collection, key): value}, of=of)

    async def update(
        self,
        collection: str,
        key: str,
        change: Callable[[Any], Any],
        default: Any = None,
        *,
        of: Owner | None = None,
    ) -> Any:
        """Replace a value by what `change` makes of it, as one step, and return the new one."""
        place, now = checked((collection, key)), self._clock.now()

        def work(connection: sqlite3.Connection) -> Any:
            text = _value(connection, place)
            value = change(default if text is None else loaded(text))
            row = (*place, dumped(value, _what(place)), now, *_named(of))
            connection.execute(_put(of), row)
            return value

        return await self._documents.write(work)

    async def delete(self, collection: str, key: str) -> bool:
        """Remove a document; False when there is none."""
        place = checked((collection, key))
        return await self._documents.write(
            lambda connection: connection.execute(_DELETE, place).rowcount > 0
        )

    async def delete_same(self, documents: Mapping[Place, Mapping[str, Any]]) -> None:
        """Remove documents as one step, each only if its value still has these members."""
        known = {checked(place): dict(members) for place, members in documents.items()}

        def work(connection: sqlite3.Connection) -> None:
            for place, members in known.items():
                text = _value(connection, place)
                if text is not None and members.items() <= loaded(text).items():
                    connection.execute(_DELETE, place)

        await self._documents.write(work)

    async def list(
        self, collection: str, *, prefix: str = "", after: str = "", limit: int | None = None
    ) -> Sequence[Document]:
        """Return the documents of a collection, sorted by key."""
        checked((collection, prefix or "-"))
        most = -1 if limit is None else limit

        def work(connection: sqlite3.Connection) -> Sequence[Document]:
            rows = connection.execute(
                "SELECT key, value, updated_at FROM document WHERE collection = ? AND key >= ? "
                "AND key < ? AND key > ? ORDER BY key LIMIT ?",
                (collection, prefix, prefix + _LAST, after, most),
            )
            return [
                Document(key=key, value=loaded(value), updated_at=at) for key, value, at in rows
            ]

        return await self._documents.read(work)

    async def write(
        self,
        put: Mapping[Place, Any],
        delete: Sequence[Place] = (),
        *,
        of: Owner | None = None,
    ) -> None:
        """Put and delete several documents, of any collections, as one step."""
        now, owner = self._clock.now(), _named(of)
        rows = [
            (*checked(place), dumped(value, _what(place)), now, *owner)
            for place, value in put.items()
        ]
        gone = [checked(place) for place in delete]

        def work(connection: sqlite3.Connection) -> None:
            connection.executemany(_DELETE, gone)
            connection.executemany(_put(of), rows)

        await self._documents.write(work)

    async def tables(
        self, migrations: Sequence[Sequence[str]], *, erase: EraseSql | None = None
    ) -> PluginTables:
        """Open the plugin's own tables, and bring them to the newest form."""
        if self._closed:
            raise StoreError(f"The storage of the plugin {self._plugin_id} is closed.")
        wanted = steps(migrations)
        if self._tables is None:
            self._tables = PluginTables(self._plugin_id, self._folder, TABLES, wanted)
        elif self._tables.migrations != wanted:
            raise StoreError(
                f"The tables of the plugin {self._plugin_id} are open with other migrations.",
                fix="keep the migrations in one constant and open the tables with it",
            )
        opened = self._tables
        try:
            await opened.open(erase)
        except BaseException:
            if self._tables is opened:
                self._tables = None  # the next try begins anew
            await opened.aclose()
            raise
        return opened

    async def aclose(self) -> None:
        """Write what waits and close the files; a second time does nothing."""
        self._closed = True
        await self._documents.aclose()
        if self._tables is not None:
            await self._tables.aclose()


def checked(place: Place) -> Place:
    """Return the place of a document.

    Raises:
        StoreError: When it can't be one: empty, or with what is no text in every file.
    """
    for word in place:
        try:
            word.encode()
        except UnicodeEncodeError:
            word = ""
        if not word or "\0" in word:
            raise StoreError(
                f"{place!r} names no document: a collection and a key are text, not empty, without "
                "NUL and half characters.",
                fix="name it otherwise",
            )
    return place


def _value(connection: sqlite3.Connection, place: Place) -> str | None:
    row = connection.execute(
        "SELECT value FROM document WHERE collection = ? AND key = ?", place
    ).fetchone()
    return None if row is None else str(row[0])


def _put(of: Owner | None) -> str:
    return _INSERT if of is None else _INSERT + _OWN


def _named(of: Owner | None) -> tuple[str, str, str]:
    owner = of or NOBODY
    return kept(owner.conversation), kept(owner.turn), kept(owner.person)


def _what(place: Place) -> str:
    return f"document {place[1]} of {place[0]}"
