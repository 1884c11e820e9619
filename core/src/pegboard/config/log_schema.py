"""The schema of `[log]`: what is logged, and how long it is kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

LOG_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "description": "The log.",
    "additionalProperties": False,
    "properties": {
        "level": {
            "type": "string",
            "enum": ["debug", "info", "warning", "error"],
            "default": "info",
            "description": "Least important level that a host which stays writes; of "
            "libraries only warnings and errors.",
        },
        "format": {
            "type": "string",
            "enum": ["json", "text"],
            "default": "json",
            "description": "json = one object a line, text = lines for people.",
        },
        "max_mb": {
            "type": "number",
            "exclusiveMinimum": 0,
            "default": 5,
            "description": "Megabytes of one file of the log.",
        },
        "files": {
            "type": "integer",
            "minimum": 2,
            "maximum": 100,
            "default": 5,
            "description": "Files that are kept; the oldest goes first.",
        },
    },
}
