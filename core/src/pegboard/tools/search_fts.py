"""The search index as an SQLite file, one for each catalogue, made once and then only read."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from pegboard.config.paths import make_private
from pegboard.tools.search_terms import Document

WEIGHTS: Final = "5.0, 1.0, 0.5, 1.0"
"""What a word is worth in the name, the description, the parameters, the origin."""
_KEEP_FILES: Final = 4


class FtsIndex:
    """Ranks documents with FTS5.

    Args:
        connection: An open database that holds the table `tools`.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    @classmethod
    def open(cls, folder: Path, digest: str, documents: Sequence[Document]) -> FtsIndex:
        """Open the index of a catalogue; make it when it is not there or can't be read.

        Args:
            folder: Where the files are.
            digest: Hash of the catalogue.
            documents: What to index, in catalogue order.

        Raises:
            sqlite3.Error, OSError: When neither works (no FTS5, no space, no permission).
        """
        place = folder / f"{digest}.sqlite"
        if place.is_file():
            try:
                return cls(_opened(place, len(documents)))
            except sqlite3.Error:
                place.unlink(missing_ok=True)
        make_private(folder)
        _make(place, documents)
        _prune(folder, keep=place)
        return cls(_opened(place, len(documents)))

    def ranked(self, words: Iterable[str], most: int) -> list[int]:
        """Return the places of the best documents, best first.

        Raises:
            sqlite3.Error: When the file can no longer be read.
        """
        match = " OR ".join(f'"{word}"' for word in words)
        rows = self._connection.execute(
            f"SELECT rowid - 1 FROM tools WHERE tools MATCH ? ORDER BY bm25(tools, {WEIGHTS})"
            " LIMIT ?",
            (match, most),
        )
        return [place for (place,) in rows]

    def close(self) -> None:
        """Close the file."""
        self._connection.close()


def _opened(place: Path, size: int) -> sqlite3.Connection:
    # read-only and immutable: no lock is taken, so none can be in the way
    connection = sqlite3.connect(
        f"file:{_quoted(place)}?mode=ro&immutable=1", uri=True, check_same_thread=False
    )
    try:
        ((rows,),) = connection.execute("SELECT size FROM about").fetchall()
        connection.execute("SELECT rowid FROM tools WHERE tools MATCH 'a' LIMIT 1").fetchall()
    except (sqlite3.Error, ValueError) as error:
        connection.close()
        raise sqlite3.DatabaseError(f"{place} is no index") from error
    if rows != size:
        connection.close()
        raise sqlite3.DatabaseError(f"{place} is the index of something else")
    return connection


def _make(place: Path, documents: Sequence[Document]) -> None:
    # made beside its place and renamed: another host sees a whole index or none
    temporary = place.with_suffix(f".{os.getpid()}-{id(documents):x}.new")
    temporary.unlink(missing_ok=True)
    connection = sqlite3.connect(temporary)
    try:
        connection.executescript(
            "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
            "CREATE VIRTUAL TABLE tools USING fts5("
            " name, description, parameters, origin, content = '', tokenize = 'porter unicode61');"
            "CREATE TABLE about (size INTEGER);"
        )
        connection.executemany(
            "INSERT INTO tools(rowid, name, description, parameters, origin)"
            " VALUES (?, ?, ?, ?, ?)",
            ((row, *texts) for row, texts in enumerate(documents, 1)),
        )
        connection.execute("INSERT INTO tools(tools) VALUES ('optimize')")
        connection.execute("INSERT INTO about VALUES (?)", (len(documents),))
        connection.commit()
        connection.close()
        temporary.replace(place)
    finally:
        connection.close()
        temporary.unlink(missing_ok=True)


def _prune(folder: Path, *, keep: Path) -> None:
    """Remove the indexes of catalogues that were not used for the longest time."""
    files = sorted(
        (place for place in folder.glob("*.sqlite") if place != keep),
        key=lambda place: place.stat().st_mtime,
        reverse=True,
    )
    for place in files[_KEEP_FILES - 1 :]:
        place.unlink(missing_ok=True)


def _quoted(place: Path) -> str:
    return str(place).replace("%", "%25").replace("?", "%3f").replace("#", "%23")
