"""The audit log in the store: appended to, listed, verified, exported; never changed.

The functions take a connection, so that they run inside `Store.write` and `Store.read`, and on the
connection that a command opened for reading.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from pegboard.contracts.audit import AuditEvent
from pegboard.store.audit_chain import (
    EMPTY,
    Head,
    Record,
    Verification,
    canonical,
    chained,
    parse_head,
    verify,
)

EXPORT_VERSION: Final = 1
_COLUMNS: Final = "id, event, prev_hash, hash"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFilter:
    """Which records to list; what is not given does not narrow.

    Args:
        since: Earliest time, in seconds since the epoch.
        tool: Canonical name of the tool.
        kind: Kind of event.
        limit: How many at most, the latest of them.
    """

    since: float | None = None
    tool: str | None = None
    kind: str | None = None
    limit: int | None = None


def append(connection: sqlite3.Connection, events: Iterable[AuditEvent]) -> Head:
    """Append events and return the new head.

    The head is read in the transaction that writes, so several processes may append to one log.
    """
    last = head(connection)
    records = []
    for event in events:
        record = chained((last.id or 0) + 1, canonical(event.to_dict()), last.hash)
        records.append(record)
        last = Head(record.id, record.hash)
    connection.executemany(f"INSERT INTO audit({_COLUMNS}) VALUES (?, ?, ?, ?)", records)
    return last


def head(connection: sqlite3.Connection) -> Head:
    """Return how far the log goes."""
    row = connection.execute("SELECT id, hash FROM audit ORDER BY id DESC LIMIT 1").fetchone()
    return EMPTY if row is None else Head(*row)


def listed(connection: sqlite3.Connection, filter: AuditFilter) -> list[Record]:
    """Return the records that a filter keeps, the oldest of them first."""
    wanted = [
        (condition, value)
        for condition, value in (
            ("at >= ?", filter.since),
            ("tool = ?", filter.tool),
            ("kind = ?", filter.kind),
        )
        if value is not None
    ]
    where = " AND ".join(condition for condition, _ in wanted) or "1"
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM audit WHERE {where} ORDER BY id DESC LIMIT ?",
        (*(value for _, value in wanted), -1 if filter.limit is None else filter.limit),
    )
    return [Record(*row) for row in rows][::-1]


def records(connection: sqlite3.Connection) -> Iterator[Record]:
    """Yield every record, in order."""
    for row in connection.execute(f"SELECT {_COLUMNS} FROM audit ORDER BY id"):
        yield Record(*row)


def verified(connection: sqlite3.Connection, expected: Head | None = None) -> Verification:
    """Look whether the whole log is as it was written.

    Args:
        connection: The store.
        expected: A head that was exported earlier; without it a cut-off end can't be noticed.
    """
    return verify(records(connection), expected)


def exported(connection: sqlite3.Connection) -> Iterator[str]:
    """Yield the log as lines of JSON: one for each record, and the head as the last."""
    last, count = EMPTY, 0
    for record in records(connection):
        last, count = Head(record.id, record.hash), count + 1
        yield json.dumps(record.to_dict(), sort_keys=True)
    yield end_of_export(last, count)


def end_of_export(head: Head, records: int = 0) -> str:
    """Return the last line of an export."""
    return json.dumps({"export": EXPORT_VERSION, "head": str(head), "records": records})


def head_of_export(line: str) -> Head | None:
    """Return the head that the last line of an export states, or None when it is none."""
    try:
        end = json.loads(line)
    except ValueError:
        return None
    return parse_head(str(end.get("head", ""))) if isinstance(end, dict) else None
