"""Calls that were at work when their host died: kept for a week, for people who look later."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from pegboard.config.paths import make_private
from pegboard.config.private_file import write_private
from pegboard.contracts.turn import CallRecord
from pegboard.store.encoding import as_was
from pegboard.store.host_lock import locked

WEEK_S: Final = 7 * 24 * 3_600.0
FILE_NAME: Final = "fatal_calls.jsonl"
_MOST_BYTES: Final = 256 * 1024
_MOST_LINES: Final = 500


class FatalCall(NamedTuple):
    """One call during which a host died.

    Args:
        tool: Canonical name of the tool.
        turn: Id of the turn. Whose conversation it is stands in the store only, where it can be
            erased.
        call: Id of the call in the turn.
        attempt: Which attempt of the call it was.
        at: When it was noticed, in seconds since the epoch.
        version: Version of the tool's distribution then, or "".
    """

    tool: str
    turn: str
    call: str
    attempt: int
    at: float
    version: str = ""

    @property
    def plugin(self) -> str:
        """Id of the plugin that brings the tool."""
        return self.tool.partition(":")[0]


class FatalCalls:
    """The file of such calls; many hosts may add to it, and one call more than once.

    Args:
        state: The state folder.
    """

    def __init__(self, state: Path) -> None:
        self.file = state / FILE_NAME

    def add(self, calls: Iterable[FatalCall]) -> None:
        """Keep calls. Writes to the disk, but does not wait for it.

        Raises:
            OSError: When they can't be written.
        """
        lines = _lines(calls)
        if not lines:
            return
        make_private(self.file.parent)
        file = os.open(self.file, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(file, lines.encode())
            too_long = os.fstat(file).st_size > _MOST_BYTES
            if too_long and locked(file, exclusive=True):
                write_private(self.file, _lines(self._kept()[-_MOST_LINES:]), durable=False)
        finally:
            os.close(file)

    def recent(self, now: float) -> list[FatalCall]:
        """Return the calls of the last week, each once, the oldest first.

        Args:
            now: Seconds since the epoch.
        """
        return [call for call in self._kept() if 0 <= now - call.at < WEEK_S]

    def _kept(self) -> list[FatalCall]:
        try:
            text = self.file.read_text(encoding="utf-8", errors="replace")
        except OSError:  # none yet, or none that can be told of
            return []
        read = [call for line in text.splitlines() if (call := _read(line)) is not None]
        return distinct(read)


def distinct(calls: Iterable[FatalCall]) -> list[FatalCall]:
    """Return each attempt of a call once, as it was noticed first."""
    found: dict[tuple[str, str, int], FatalCall] = {}
    for call in calls:
        found.setdefault((call.turn, call.call, call.attempt), call)
    return list(found.values())


def innermost(calls: Mapping[str, CallRecord]) -> tuple[CallRecord, ...]:
    """Return the calls of tools that were begun and did not end, without those that wait for one.

    Args:
        calls: The calls of a turn by id; what a call makes itself is `<outer>.<n>`.
    """
    begun = {id: call for id, call in calls.items() if call.kind == "tool" and call.result is None}
    outer = {id.rpartition(".")[0] for id in begun}
    return tuple(call for id, call in begun.items() if id not in outer)


def of_dead_hosts(connection: sqlite3.Connection, living: Collection[str]) -> list[FatalCall]:
    """Return the calls of turns that nobody has taken up yet since their host died.

    Args:
        connection: A store of the newest version.
        living: Ids of the hosts that live.
    """
    rows = connection.execute(
        """
        SELECT turn.id, turn.worker, call.id, call.name, call.attempt, inbox.received_at
        FROM turn JOIN call ON call.turn = turn.id JOIN inbox ON inbox.turn = turn.id
        LEFT JOIN approval ON approval.turn = turn.id AND approval.call = call.id
        WHERE turn.state = 'running' AND call.kind = 'tool' AND call.result IS NULL
            AND coalesce(approval.state, 'agreed') = 'agreed'
        ORDER BY call.number
        """
    )
    found: dict[str, dict[str, CallRecord]] = {}
    times: dict[str, float] = {}
    for turn, worker, id, name, attempt, at in rows:
        if as_was(worker) not in living:
            record = CallRecord(id=as_was(id), kind="tool", name=as_was(name), attempt=attempt)
            found.setdefault(as_was(turn), {})[record.id] = record
            times[as_was(turn)] = at
    return [
        FatalCall(call.name, turn, call.id, call.attempt, times[turn])
        for turn, calls in found.items()
        for call in innermost(calls)
    ]


def conversations_of(connection: sqlite3.Connection, turns: Iterable[str]) -> dict[str, str]:
    """Return the conversations of turns, by their ids; what was erased has none."""
    wanted = json.dumps(list(turns))
    rows = connection.execute(
        "SELECT id, key FROM turn WHERE id IN (SELECT value FROM json_each(?))", (wanted,)
    )
    return {as_was(id): as_was(key) for id, key in rows}


def _lines(calls: Iterable[FatalCall]) -> str:
    return "".join(f"{json.dumps(call._asdict())}\n" for call in calls)


def _read(line: str) -> FatalCall | None:
    """Return a line of the file; None for one that a crash cut off, or somebody else wrote."""
    try:
        data: dict[str, Any] = json.loads(line)
        call = FatalCall(**data)
    except (ValueError, TypeError):
        return None
    texts = all(isinstance(text, str) for text in (call.tool, call.turn, call.call, call.version))
    numbers = isinstance(call.attempt, int) and isinstance(call.at, int | float)
    return call if texts and numbers else None
