"""The schema of named agents: `[agents.NAME]`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_NAMES: Final = {"type": "array", "items": {"type": "string"}}
EFFORT_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "string",
    "enum": ["low", "medium", "high"],
    "description": "How much it thinks before it answers; absent = as the model does.",
}
FALLBACKS_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "array",
    "items": {"type": "string", "pattern": "^[^/]+(/.+)?$"},
    "description": "Who is asked when the provider fails, in this order: `PROVIDER` or "
    "`PROVIDER/MODEL`.",
}

AGENTS_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "default": {},
    "description": "Named agents: one table for each. `main` is the one that answers where no "
    "other was chosen; it is there without a table.",
    "additionalProperties": {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "role": {
                "type": "string",
                "enum": ["main", "sub"],
                "default": "main",
                "description": "main = it talks to people; sub = it only does work that another "
                "agent gives it.",
            },
            "description": {
                "type": "string",
                "default": "",
                "description": "What it is for, in a line: agents that may delegate to it read it.",
            },
            "prompt": {
                "type": "string",
                "default": "",
                "description": "Text of its system prompt; empty = `agent.instructions`.",
            },
            "provider": {
                "type": "string",
                "default": "",
                "description": "Provider instance to use; empty = the one of `[agent]`.",
            },
            "model": {
                "type": "string",
                "default": "",
                "description": "Model to ask for; empty = the one of `[agent]`, or the default of "
                "its own provider.",
            },
            "effort": EFFORT_SCHEMA,
            "fallbacks": {
                **FALLBACKS_SCHEMA,
                "description": "Who is asked when its provider fails, as in `[agent]`; absent = as "
                "there, but nobody when it has a provider or a model of its own.",
            },
            "tools": {
                **_NAMES,
                "description": "Only these; absent = all, an empty list = none.",
            },
            "mcp": {
                **_NAMES,
                "description": "MCP servers (`docs`) or tools of one (`docs:search`) that it may "
                "use; absent = all.",
            },
            "profile": {
                "type": "string",
                "enum": ["assistant", "standard", "max"],
                "description": "How much it may do on its own, as in `[autonomy]` and never more "
                "than that says; absent = the same.",
            },
            "max_steps": {
                "type": "integer",
                "minimum": 1,
                "maximum": 1000,
                "description": "Model calls in one run at most; absent = `agent.max_steps`.",
            },
            "timeout_s": {
                "type": "number",
                "exclusiveMinimum": 0,
                "description": "Seconds that one run may take; absent = as long as it needs.",
            },
            "delegates": {
                **_NAMES,
                "default": [],
                "description": "Agents that it may hand a conversation over to, or give work.",
            },
            "senders": {
                **_NAMES,
                "default": [],
                "description": "Whose messages it answers, as in `[policy.senders]`; this counts "
                "before the channel's `agent`.",
            },
        },
    },
}
