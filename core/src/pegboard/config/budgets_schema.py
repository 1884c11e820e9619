"""The schema of `[budgets]`: what one run, one conversation and one day may cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_SCOPES: Final = {
    "run": "one turn and all that it starts",
    "conversation": "one conversation, from its beginning",
    "day": "all that this host does within 24 hours",
}


def _keys() -> dict[str, Any]:
    keys: dict[str, Any] = {}
    for name, words in _SCOPES.items():
        keys[f"tokens_per_{name}"] = {
            "type": "integer",
            "minimum": 0,
            "default": 0,
            "description": f"Tokens that models read and write for {words}; 0 = no budget.",
        }
        keys[f"cost_per_{name}"] = {
            "type": "number",
            "minimum": 0,
            "default": 0,
            "description": f"US dollars that models cost for {words}; 0 = no budget.",
        }
    return keys


BUDGETS_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "description": "What may be spent, whoever asks, the person at this machine included. Before "
    "each request to a model the run stops where a budget is used up.",
    "additionalProperties": False,
    "properties": {
        **_keys(),
        "unpriced": {
            "type": "string",
            "enum": ["stop", "allow"],
            "default": "stop",
            "description": "A model whose price nobody knows, where there is a budget of dollars: "
            "stop = it is not asked, while others go on; allow = it counts as nothing.",
        },
    },
}
