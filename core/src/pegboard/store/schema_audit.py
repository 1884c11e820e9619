"""The table of the audit log."""

from __future__ import annotations

from typing import Final

from pegboard.store.migration import Migration

AUDIT: Final = Migration(
    1,
    "the audit log",
    (
        """
        CREATE TABLE audit(
            id INTEGER PRIMARY KEY,
            event TEXT NOT NULL CHECK(json_valid(event)),
            prev_hash TEXT NOT NULL,
            hash TEXT NOT NULL UNIQUE,
            at REAL AS (json_extract(event, '$.at')) VIRTUAL,
            kind TEXT AS (json_extract(event, '$.kind')) VIRTUAL,
            tool TEXT AS (json_extract(event, '$.tool')) VIRTUAL
        )
        """,
        "CREATE INDEX audit_at ON audit(at)",
        """
        CREATE TRIGGER audit_no_update BEFORE UPDATE ON audit
        BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END
        """,
        """
        CREATE TRIGGER audit_no_delete BEFORE DELETE ON audit
        BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END
        """,
        # also against INSERT OR REPLACE, which deletes without a delete trigger
        """
        CREATE TRIGGER audit_only_appended BEFORE INSERT ON audit
        WHEN NEW.id IS NOT (SELECT coalesce(max(id), 0) + 1 FROM audit)
        BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END
        """,
    ),
)
