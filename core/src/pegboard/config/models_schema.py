"""The schema of `[models]`: what the operator knows better of single models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final


def _price(what: str) -> dict[str, Any]:
    return {
        "type": "number",
        "minimum": 0,
        "description": f"US dollars for a million tokens that it {what}.",
    }


def _tokens(what: str) -> dict[str, Any]:
    return {"type": "integer", "minimum": 1, "description": f"{what} in tokens."}


def _tools(what: str) -> dict[str, Any]:
    return {"type": "array", "items": {"type": "string", "minLength": 1}, "description": what}


MODELS_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "default": {},
    "description": 'What is known better of a model: one table for each, `[models."MODEL"]`, or '
    '`[models."PROVIDER/MODEL"]` for the model at one provider.',
    "additionalProperties": {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "context": _tokens("Context window"),
            "max_output": _tokens("Longest answer"),
            "tools": {"type": "boolean", "description": "Whether it can call tools."},
            "images": {"type": "boolean", "description": "Whether it takes images."},
            "offered": _tools(
                "Tools that it is used to: of tools that do the same, such as apply_patch and "
                "file_edit, or update_plan and TaskCreate, the others are left out; empty = all "
                "are offered, absent, or nothing said of such tools = as its family is used to."
            ),
            "withheld": _tools("Tools that it is not offered; absent = as for its family."),
            "price": {
                "type": "object",
                "additionalProperties": False,
                "required": ["input", "output"],
                "description": "What it costs; absent = as the vendor's list says, if it is known.",
                "properties": {
                    "input": _price("reads"),
                    "output": _price("writes"),
                    "cached": _price("reads from a cache; absent = as `input`"),
                },
            },
        },
    },
}
