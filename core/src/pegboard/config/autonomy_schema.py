"""The schema of `[autonomy]`: what the agent may do on its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_NAMES: Final = {"type": "array", "items": {"type": "string"}}

AUTONOMY_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "description": "What the agent may do on its own.",
    "additionalProperties": False,
    "properties": {
        "profile": {
            "type": "string",
            "enum": ["assistant", "standard", "unattended", "max"],
            "default": "standard",
            "description": "assistant = it starts nothing by itself; standard and max = "
            "subagents, jobs, messages, scripts; unattended = the same with nobody to "
            "ask: a question is a no, and a run that is refused too often stops.",
        },
        "write": {
            "type": "boolean",
            "default": False,
            "description": "Let scripts call tools that write (`orch:write`).",
        },
        "browse": {
            "type": "boolean",
            "default": False,
            "description": "Let it drive a real browser (`orch:browse`).",
        },
        "denial_breaker": {
            "type": "integer",
            "minimum": 1,
            "default": 5,
            "description": "Refusals in a row after which an unattended run is aborted.",
        },
        "lease_max_minutes": {
            "type": "number",
            "exclusiveMinimum": 0,
            "default": 60,
            "description": "Minutes that a run may call tools which another "
            "one started, or which is unattended.",
        },
        "mcp": {
            "type": "object",
            "default": {},
            "description": "Servers of the Model Context Protocol.",
            "additionalProperties": False,
            "properties": {
                "allow": {
                    "type": "object",
                    "default": {},
                    "description": "Server = the names of its tools that scripts may call.",
                    "additionalProperties": _NAMES,
                },
            },
        },
    },
}
