"""The schema of `[[policy.rules]]`. Every command reads it, so it imports nothing of ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

EFFECTS: Final = ("read", "fs_write", "exec", "net_read", "net_write", "state_write", "gui")
"""As `contracts.effects` has them; a test compares the two."""
_EFFECT: Final = {"type": "string", "enum": list(EFFECTS)}
_PATTERN: Final = {"type": ["string", "number", "boolean"]}

RULES_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "array",
    "default": [],
    "description": "What the agent asks a person about, what it is refused and what passes without "
    "a question: the first rule that matches a call decides. Without rules nothing asks. No rule "
    "allows what is refused for another reason.",
    "items": {
        "type": "object",
        "additionalProperties": False,
        "required": ["action"],
        "properties": {
            "action": {
                "type": "string",
                "enum": ["ask", "deny", "allow"],
                "description": "What becomes of a call that matches; allow = no later rule counts.",
            },
            "tool": {
                "type": "string",
                "minLength": 1,
                "description": "Which tools, as a glob: `shell`, `files:*`. Absent = all.",
            },
            "effect": {
                "anyOf": [_EFFECT, {"type": "array", "minItems": 1, "items": _EFFECT}],
                "description": "Calls with one of these effects; for allow, those with no others.",
            },
            "arguments": {
                "type": "object",
                "description": "Argument = glob, or `re:` and a regular expression, or a list of "
                "them of which one must match. For shell source each command in it is looked at.",
                "additionalProperties": {
                    "anyOf": [_PATTERN, {"type": "array", "minItems": 1, "items": _PATTERN}]
                },
            },
            "exact": {
                "type": "object",
                "description": "All arguments of the call with their values; those that are left "
                "out have their defaults.",
                "additionalProperties": True,
            },
            "trust": {
                "type": "string",
                "enum": ["operator", "guest"],
                "description": "Whom it is about: guest on ask or deny = only guests, operator on "
                "allow = only operators. The others are about everybody, so that a guest is never "
                "allowed more.",
            },
            "channel": {
                "type": "string",
                "minLength": 1,
                "description": "Calls from this channel, as a glob over instance names.",
            },
            "agent": {
                "type": "string",
                "minLength": 1,
                "description": "Calls of this named agent, as a glob.",
            },
            "question": {
                "type": "string",
                "description": "What the person is asked, above the call itself.",
            },
            "reason": {
                "type": "string",
                "description": "What is said of a refusal.",
            },
        },
    },
}
