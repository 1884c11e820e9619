"""Read the log back: in order over all its files, from a time on, and as it grows."""

from __future__ import annotations

import json
import logging
import os
import re
from collections import deque
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

LOG_FOLDER: Final = "logs"
LOG_NAME: Final = "pegboard.log"
LEVELS: Final = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}
_RANK: Final = {**LEVELS, "critical": logging.CRITICAL}
_TEXT: Final = re.compile(r"(\S+) (\w+) ([\w.\-]+): (.*)", re.DOTALL)


class LogLine(NamedTuple):
    """An event of the log.

    Args:
        at: When, in seconds since the epoch; 0 = unknown.
        level: How important.
        logger: Who logged it.
        message: What happened.
        facts: All that the line says.
    """

    at: float
    level: str
    logger: str
    message: str
    facts: dict[str, Any]

    def wanted(self, since: float, level: str) -> bool:
        """Tell whether it came at or after a time, and is at least so important."""
        return self.at >= since and _RANK.get(self.level, logging.ERROR) >= _RANK[level]


def files(state: Path) -> list[Path]:
    """Return the files of the log, the oldest first."""
    folder = state / LOG_FOLDER
    numbered = []
    for path in folder.glob(f"{LOG_NAME}.*"):
        if path.suffix[1:].isdigit():
            numbered.append((int(path.suffix[1:]), path))
    older = [path for _, path in sorted(numbered, reverse=True)]
    newest = folder / LOG_NAME
    return [*older, newest] if newest.exists() else older


def kept(
    state: Path, *, since: float, level: str, most: int, before: Follower | None = None
) -> list[LogLine]:
    """Return the latest events, the oldest of them first.

    Args:
        state: The state folder.
        since: Earliest time, in seconds since the epoch.
        level: Least important level.
        most: How many at most.
        before: Only what this one will not read.
    """
    found: deque[LogLine] = deque(maxlen=most)
    for path in files(state):
        try:
            with path.open("rb") as stream:
                size = -1 if before is None else before.place_in(stream.fileno())
                texts = stream.read(size).decode("utf-8", "replace").splitlines(keepends=True)
            found.extend(line for line in lines(texts) if line.wanted(since, level))
        except FileNotFoundError:  # it was rotated away just now
            continue
    return list(found)


def lines(texts: Iterable[str]) -> Iterator[LogLine]:
    """Yield the events in lines of text; an indented line belongs to the one before it."""
    held: list[str] = []
    for text in texts:
        if not text.strip():
            continue
        if text[:1].isspace() and held:
            held.append(text)
            continue
        if held:
            yield read("".join(held))
        held = [text]
    if held:
        yield read("".join(held))


def read(text: str) -> LogLine:
    """Return the event in a line of either format; what is none is a message of its own."""
    text = text.rstrip("\n")
    facts: Any = None
    try:
        facts = json.loads(text)
    except (ValueError, RecursionError):
        match = _TEXT.fullmatch(text)
        if match is not None:
            names = ("at", "level", "logger", "message")
            facts = dict(zip(names, match.groups(), strict=True))
    if not isinstance(facts, dict):
        facts = {"level": "error", "logger": "", "message": text}
    return LogLine(
        at=_seconds(facts.get("at")),
        level=str(facts.get("level", "error")),
        logger=str(facts.get("logger", "")),
        message=str(facts.get("message", "")),
        facts=facts,
    )


class Follower:
    """Reads what is added to the log, also when it is rotated meanwhile.

    Args:
        state: The state folder.
    """

    def __init__(self, state: Path) -> None:
        self._path = state / LOG_FOLDER / LOG_NAME
        self._inode = 0
        self._place = 0
        self._rest = b""
        found = self._state()
        if found is not None:
            self._inode, self._place = found.st_ino, found.st_size

    def place_in(self, file: int) -> int:
        """Return where in an open file it begins to read; -1 = it reads nothing of it."""
        return self._place if os.fstat(file).st_ino == self._inode else -1

    def read(self) -> list[LogLine]:
        """Return the events that were added since the last look."""
        found = self._state()
        if found is None:
            return []
        data = b""
        if found.st_ino != self._inode or found.st_size < self._place:
            data = self._end_of_old()
            self._inode, self._place = found.st_ino, 0
        data += self._more()
        whole, newline, self._rest = (self._rest + data).rpartition(b"\n")
        text = (whole + newline).decode("utf-8", "replace")
        return list(lines(text.splitlines(keepends=True)))

    def _state(self) -> os.stat_result | None:
        try:
            return self._path.stat()
        except OSError:
            return None

    def _end_of_old(self) -> bytes:
        """Return what was added to the file before it was rotated away."""
        old = self._path.with_name(f"{LOG_NAME}.1")
        try:
            if old.stat().st_ino != self._inode:
                return b""
            with old.open("rb") as stream:
                stream.seek(self._place)
                return stream.read()
        except OSError:
            return b""

    def _more(self) -> bytes:
        try:
            with self._path.open("rb") as stream:
                stream.seek(self._place)
                data = stream.read()
        except OSError:
            return b""
        self._place += len(data)
        return data


def _seconds(text: object) -> float:
    try:
        return datetime.fromisoformat(str(text)).timestamp()
    except ValueError:
        return 0.0
