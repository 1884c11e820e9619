"""What tools were refused for want of a grant: kept for a week, for people who look later."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, NamedTuple

from pegboard.config.paths import make_private
from pegboard.config.private_file import write_private
from pegboard.store.host_lock import locked

WEEK_S: Final = 7 * 24 * 3_600.0
FILE_NAME: Final = "refused.jsonl"
GRANT: Final = "pegboard grant "
"""A refusal that a grant ends has a fix that begins like this."""
_MOST_BYTES: Final = 256 * 1024
_MOST_LINES: Final = 500


class Refused(NamedTuple):
    """One grant that was wanted.

    Args:
        fix: The command that gives it.
        tool: The last tool that wanted it.
        at: When that was, in seconds since the epoch.
        times: How often it was wanted.
    """

    fix: str
    tool: str
    at: float
    times: int = 1


class RefusedLog:
    """The file of refusals; many hosts may add to it.

    Args:
        state: The state folder.
    """

    def __init__(self, state: Path) -> None:
        self.file = state / FILE_NAME

    def add(self, fix: str, tool: str, *, at: float) -> None:
        """Keep a refusal. Writes to the disk, but does not wait for it.

        Raises:
            OSError: When it can't be written.
        """
        make_private(self.file.parent)
        line = json.dumps({"at": at, "tool": tool, "fix": fix}) + "\n"
        file = os.open(self.file, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(file, line.encode())
            too_long = os.fstat(file).st_size > _MOST_BYTES
            if too_long and locked(file, exclusive=True):
                self._shorten(at)
        finally:
            os.close(file)

    def recent(self, now: float) -> list[Refused]:
        """Return the grants that were wanted in the last week, the latest first.

        Args:
            now: Seconds since the epoch.
        """
        try:
            text = self.file.read_text(encoding="utf-8", errors="replace")
        except OSError:  # none yet, or none that can be told of
            return []
        return _folded(text.splitlines(), now)

    def _shorten(self, now: float) -> None:
        kept = reversed(self.recent(now)[:_MOST_LINES])
        lines = [
            json.dumps({"at": item.at, "tool": item.tool, "fix": item.fix, "times": item.times})
            for item in kept
        ]
        write_private(self.file, "".join(f"{line}\n" for line in lines), durable=False)


def _folded(lines: Iterable[str], now: float) -> list[Refused]:
    found: dict[str, Refused] = {}
    for line in lines:
        item = _read(line)
        if item is None or not 0 <= now - item.at < WEEK_S:
            continue
        before = found.pop(item.fix, None)  # put behind the others again: it is the latest
        found[item.fix] = item._replace(times=item.times + (before.times if before else 0))
    return list(found.values())[::-1]


def _read(line: str) -> Refused | None:
    """Return a line of the file; None for one that a crash cut off, or somebody else wrote."""
    try:
        data: dict[str, Any] = json.loads(line)
        item = Refused(data["fix"], data["tool"], data["at"], data.get("times", 1))
    except (ValueError, TypeError, KeyError):
        return None
    texts = isinstance(item.fix, str) and isinstance(item.tool, str)
    numbers = isinstance(item.at, int | float) and isinstance(item.times, int)
    return item if texts and numbers else None
