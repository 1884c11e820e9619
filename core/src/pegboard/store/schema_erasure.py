"""The table of what was erased here and may still be kept elsewhere."""

from __future__ import annotations

from typing import Final

from pegboard.store.migration import Migration
from pegboard.store.schema_turns import OPEN

ERASURE: Final = Migration(
    3,
    "what plugins keep of erased conversations",
    (
        """
        CREATE TABLE erasure(
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            kind TEXT NOT NULL CHECK(kind IN ('conversation', 'turn', 'person', 'thinned')),
            name TEXT NOT NULL,
            -- a turn that ran: what it still writes elsewhere is erased once more, later
            ran INTEGER NOT NULL DEFAULT 0,
            settled_at REAL
        ) STRICT
        """,
        # triggers: so whatever erases a conversation or a turn, today or later, is written down
        """
        CREATE TRIGGER conversation_erased AFTER DELETE ON conversation
        BEGIN INSERT INTO erasure(kind, name) VALUES ('conversation', OLD.key); END
        """,
        f"""
        CREATE TRIGGER turn_erased AFTER DELETE ON turn
        BEGIN
            INSERT INTO erasure(kind, name, ran) VALUES ('turn', OLD.id, OLD.{OPEN});
        END
        """,
    ),
)

ERASURE_FILES: Final = Migration(
    4,
    "in which files of plugins it is still to be erased",
    # as JSON; NULL = in all
    ("ALTER TABLE erasure ADD COLUMN files TEXT",),
)
