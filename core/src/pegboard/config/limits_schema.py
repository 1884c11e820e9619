"""The schema of `[limits]`: what senders and channels may use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final


def _limit(**more: Any) -> dict[str, Any]:
    keys = {
        "turns_per_minute": ("integer", "Messages answered within a minute; 0 = no limit."),
        "turns_per_hour": ("integer", "Messages answered within an hour; 0 = no limit."),
        "tokens_per_day": (
            "integer",
            "Tokens that models read and write within 24 hours; 0 = no limit.",
        ),
        "cost_per_day": ("number", "US dollars that models cost within 24 hours; 0 = no limit."),
    }
    return {
        name: {"type": type, "minimum": 0, "description": description, **more}
        for name, (type, description) in keys.items()
    }


def _tables(description: str) -> dict[str, Any]:
    return {
        "type": "object",
        "default": {},
        "description": description,
        "additionalProperties": {
            "type": "object",
            "additionalProperties": False,
            "properties": _limit(),
        },
    }


LIMITS_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "description": "What each sender may use; the person at this machine only where a table names "
    "them (`local:person`).",
    "additionalProperties": False,
    "properties": {
        **_limit(default=0),
        "senders": _tables(
            'What is different for one sender, `"CHANNEL:ID"` or `"ID"`: a table with any of the '
            "keys above."
        ),
        "channels": _tables(
            "What all senders of a channel have together: a table with any of the keys above."
        ),
    },
}
