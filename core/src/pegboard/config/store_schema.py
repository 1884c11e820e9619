"""The schema of `[store]`: what the host keeps, where, and for how long."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

STORE_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "description": "What the host keeps of conversations, and for how long.",
    "additionalProperties": False,
    "properties": {
        "backend": {
            "type": "string",
            "default": "embedded",
            "description": "Where it is kept: embedded = one file in the state folder; "
            "else the name of a backend that a plugin brings.",
        },
        "keep_days": {
            "type": "number",
            "minimum": 0,
            "default": 0,
            "description": "Days after which what was said is erased; 0 = never.",
        },
        "blob_days": {
            "type": "number",
            "minimum": 0,
            "default": 7,
            "description": "Days that images, documents and whole results are kept when "
            "no conversation refers to them.",
        },
        "blob_quota_mb": {
            "type": "number",
            "minimum": 0,
            "default": 1024,
            "description": "Megabytes that all of them may take; above it those that no "
            "conversation refers to go at once, the oldest first. 0 = no limit.",
        },
    },
}
