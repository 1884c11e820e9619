"""One step by which the tables of the store came about."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Migration:
    """One step. A step that was released never changes; what is new becomes a further one.

    Args:
        version: Version of the store after it: one more than before it.
        about: What it brings, in a few words.
        statements: SQL, run in order in one transaction.
        with_fts5: SQL that is run after them where SQLite has full-text search.
    """

    version: int
    about: str
    statements: tuple[str, ...]
    with_fts5: tuple[str, ...] = ()
