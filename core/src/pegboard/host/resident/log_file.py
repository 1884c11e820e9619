"""The log of the resident host: one line an event, without secrets, in files of bounded size."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any, Final

from pegboard.config.paths import make_private
from pegboard.host.resident.log_lines import LEVELS, LOG_FOLDER, LOG_NAME
from pegboard.policy.redaction import RedactingFilter

MB: Final = 1_000_000
MAX_MB: Final = 5
FILES: Final = 5
_OURS: Final = "pegboard"
_MODE: Final = 0o600


class LogFile:
    """Writes what this process logs to a file; used by one process at a time.

    Args:
        state: The state folder.
        settings: The section `[log]`.
        redact: Returns a text without the secrets in it.
    """

    def __init__(
        self, state: Path, settings: Mapping[str, Any], redact: Callable[[str], str]
    ) -> None:
        self._folder = state / LOG_FOLDER
        self._settings = settings
        self._redact = redact
        self._handler: RotatingFileHandler | None = None

    @property
    def path(self) -> Path:
        """The file that is written to."""
        return self._folder / LOG_NAME

    @contextmanager
    def open(self) -> Iterator[None]:
        """Write for the time of the block."""
        make_private(self._folder)
        handler = self._handler = _PrivateFile(self.path, encoding="utf-8", delay=True)
        handler.addFilter(RedactingFilter(self._redact))
        root = logging.getLogger()
        before = root.level
        self.take(self._settings)
        root.addHandler(handler)
        try:
            yield
        finally:
            root.removeHandler(handler)
            root.setLevel(before)
            handler.close()
            self._handler = None

    def take(self, settings: Mapping[str, Any]) -> None:
        """Go by these settings from now on."""
        handler = self._handler
        if handler is None:
            return
        handler.maxBytes = int(float(settings.get("max_mb", MAX_MB)) * MB)
        handler.backupCount = int(settings.get("files", FILES)) - 1
        form = settings.get("format", "json")
        handler.setFormatter(TextLine() if form == "text" else JsonLine())
        level = LEVELS[str(settings.get("level", "info"))]
        handler.filters = [item for item in handler.filters if not isinstance(item, _Important)]
        handler.addFilter(_Important(level))
        logging.getLogger().setLevel(min(level, logging.WARNING))


class _PrivateFile(RotatingFileHandler):
    """Makes every file readable for its owner only, and never fails the one who logs."""

    def _open(self) -> Any:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
        descriptor = os.open(self.baseFilename, flags, _MODE)
        return os.fdopen(descriptor, self.mode, encoding=self.encoding, errors="backslashreplace")

    def handleError(self, record: logging.LogRecord) -> None:
        """Drop what can't be written: a full disk must not end the host."""


class _Important(logging.Filter):
    """Keeps what is important enough: of libraries only what is wrong.

    Args:
        level: Least important level of our own.
    """

    def __init__(self, level: int) -> None:
        super().__init__()
        self._level = level

    def filter(self, record: logging.LogRecord) -> bool:
        """Tell whether a record is written."""
        own = record.name.startswith(_OURS)
        return record.levelno >= (self._level if own else max(self._level, logging.WARNING))


class JsonLine(logging.Formatter):
    """Writes a record as one JSON object."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        facts: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            "pid": record.process,
        }
        traceback = _traceback(self, record)
        if traceback:
            facts["traceback"] = traceback
        return json.dumps(facts)


class TextLine(logging.Formatter):
    """Writes a record as a line for people; what has more lines goes on with an indent."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, and the traceback below it."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        text = f"{at} {record.levelname.lower()} {record.name}: {record.getMessage()}"
        traceback = _traceback(self, record)
        return "\n    ".join(filter(None, (*text.splitlines(), *traceback.splitlines())))


def _traceback(formatter: logging.Formatter, record: logging.LogRecord) -> str:
    if record.exc_text:  # as the filter left it
        return record.exc_text
    return formatter.formatException(record.exc_info) if record.exc_info else ""
