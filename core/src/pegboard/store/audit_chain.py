"""The chain of hashes that shows whether an audit log is as it was written. Pure."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

START: Final = "0" * 64
"""What stands for the hash before the first record."""
_HEAD: Final = re.compile(r"(?:(\d+):)?([0-9a-f]{64})")


class Record(NamedTuple):
    """One line of the log.

    Args:
        id: 1 for the first one, without gaps.
        event: The event as JSON, in the one form that `canonical` makes.
        prev_hash: Hash of the record before it.
        hash: Hash of this one.
    """

    id: int
    event: str
    prev_hash: str
    hash: str

    def to_dict(self) -> dict[str, Any]:
        """Return the record as an export holds it."""
        event = json.loads(self.event)
        return {"id": self.id, "event": event, "prev_hash": self.prev_hash, "hash": self.hash}


class Head(NamedTuple):
    """How far a log goes; kept elsewhere, it shows later that nothing was cut off.

    Args:
        id: Id of the last record, 0 for none; None when only the hash is known.
        hash: Its hash.
    """

    id: int | None
    hash: str

    def __str__(self) -> str:
        return self.hash if self.id is None else f"{self.id}:{self.hash}"


EMPTY: Final = Head(0, START)


class Break(NamedTuple):
    """Where a log is not as it was written.

    Args:
        id: The record, or the one that is missing.
        problem: `removed`, `changed`, `not_in_order` or `truncated`.
        message: One sentence for people.
    """

    id: int
    problem: str
    message: str


class Verification(NamedTuple):
    """What was found.

    Args:
        records: Records that were looked at.
        head: The last one that is as it was written.
        broken: The first thing that is wrong, or None.
    """

    records: int
    head: Head
    broken: Break | None

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-serialisable data."""
        return {
            "ok": self.broken is None,
            "records": self.records,
            "head": str(self.head),
            "broken": None if self.broken is None else self.broken._asdict(),
        }


def canonical(event: Mapping[str, Any]) -> str:
    """Return an event as the JSON text that is hashed: sorted, compact, ASCII."""
    return json.dumps(event, sort_keys=True, separators=(",", ":"), allow_nan=False)


def chained(id: int, event: str, prev_hash: str) -> Record:
    """Return the record of an event that follows the one with `prev_hash`."""
    return Record(id, event, prev_hash, _hash(id, event, prev_hash))


def verify(records: Iterable[Record], head: Head | None = None) -> Verification:
    """Look at every record from the first one on.

    Args:
        records: All of the log, in the order of the ids.
        head: How far it went at an earlier time, to find what was cut off since.
    """
    last, seen, found = EMPTY, 0, head is None or head.hash == START
    for record in records:
        broken = _broken(record, last)
        if broken is not None:
            return Verification(seen, last, broken)
        seen, last = seen + 1, Head(record.id, record.hash)
        found = found or (head is not None and head.hash == record.hash)
    if head is not None and not found:
        return Verification(seen, last, _cut_off(last, head))
    return Verification(seen, last, None)


def parse_head(text: str) -> Head | None:
    """Read a head as `Head` writes it, or its bare hash; None when `text` is neither."""
    found = _HEAD.fullmatch(text.strip())
    return None if found is None else Head(int(found[1]) if found[1] else None, found[2])


def _hash(id: int, event: str, prev_hash: str) -> str:
    return hashlib.sha256(f"{id}\n{prev_hash}\n{event}".encode()).hexdigest()


def _broken(record: Record, last: Head) -> Break | None:
    expected = (last.id or 0) + 1
    if record.id > expected:
        gone = (
            f"record {expected} is"
            if record.id == expected + 1
            else (f"records {expected} to {record.id - 1} are")
        )
        return Break(expected, "removed", f"{gone} missing: removed after they were written.")
    if record.id != expected:
        message = f"record {record.id} is where record {expected} should be."
        return Break(expected, "not_in_order", message)
    if record.hash != _hash(record.id, record.event, record.prev_hash):
        message = f"record {record.id} is not what was written: edited, or moved here."
        return Break(record.id, "changed", message)
    if record.prev_hash != last.hash:
        message = f"record {record.id} does not follow the record before it, which was replaced."
        return Break(record.id, "changed", message)
    return None


def _cut_off(last: Head, head: Head) -> Break:
    end = last.id or 0
    if head.id is None or head.id > end:
        message = f"the log ends at record {end} and does not hold the head that was exported."
        return Break(end + 1, "truncated", message)
    message = f"record {head.id} is not the one that was exported: the log was written anew."
    return Break(head.id, "changed", message)
