"""The schema of `[sandbox]`: where tools read, write and run commands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_NAMES: Final = {"type": "array", "items": {"type": "string"}}

SANDBOX_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "description": "Where tools read, write and run commands.",
    "additionalProperties": False,
    "properties": {
        "use": {
            "type": "string",
            "default": "auto",
            "description": "Sandbox instance; auto = the strictest that works.",
        },
        "grants": {
            "type": "array",
            "default": [],
            "description": "Paths beside the workspace that tools may use.",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["path"],
                "properties": {
                    "path": {"type": "string", "minLength": 1, "description": "A path."},
                    "mode": {
                        "type": "string",
                        "enum": ["ro", "rw"],
                        "default": "ro",
                        "description": "ro = read only, rw = also write.",
                    },
                },
            },
        },
        "env": {
            **_NAMES,
            "default": [],
            "description": "Environment variables that commands may see.",
        },
    },
}
