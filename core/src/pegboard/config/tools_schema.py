"""The schema of `[tools]`: which tools the agent is offered, and what it reads of their results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_NAMES: Final = {"type": "array", "items": {"type": "string"}}

_OUTPUT_LIMITS: Final[Mapping[str, Any]] = {
    "anyOf": [
        {"type": "integer", "minimum": 200, "maximum": 10_000_000},
        {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "chars": {
                    "type": "integer",
                    "minimum": 200,
                    "maximum": 10_000_000,
                    "description": "Characters at most.",
                },
                "lines": {"type": "integer", "minimum": 1, "description": "Lines at most."},
                "keep": {
                    "type": "string",
                    "enum": ["head", "tail", "both"],
                    "description": "Which end survives a cut.",
                },
            },
        },
    ],
}

TOOLS_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "description": "Which tools the agent is offered.",
    "additionalProperties": False,
    "properties": {
        "allowed": {
            **_NAMES,
            "description": "Only these; absent = all, an empty list = none.",
        },
        "excluded": {
            **_NAMES,
            "default": [],
            "description": "Names that are left out.",
        },
        "excluded_categories": {
            **_NAMES,
            "default": [],
            "description": "Categories that are left out.",
        },
        "defer_over_tokens": {
            "type": "integer",
            "minimum": 0,
            "default": 12000,
            "description": "Schema tokens above which tools are found by search only.",
        },
        "search": {
            "type": "boolean",
            "default": True,
            "description": "Offer tool_search.",
        },
        "limits": {
            "type": "object",
            "default": {},
            "description": "Tool = characters of its output that a model reads at most, "
            "or a table with `chars`, `lines` and `keep`; the rest is kept for "
            "tool_result_recall.",
            "additionalProperties": _OUTPUT_LIMITS,
        },
    },
}
