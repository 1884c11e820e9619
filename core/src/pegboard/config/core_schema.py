"""The schema of core's own settings: every key, its default and what it means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

RESERVED: Final = frozenset({"disabled", "required", "on_failure", "import_timeout_s"})
"""Keys of `[plugins]` that are settings of core; no plugin may have one of them as its id."""

CORE: Final = "core"
"""Id of the registry's own tools, which no plugin may have either."""

_NAMES: Final = {"type": "array", "items": {"type": "string"}}


def _instances(what: str, example: str, **more: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "description": f'{what}: one table for each, with `type = "{example}"` and its settings.',
        "additionalProperties": {
            "type": "object",
            "properties": {
                "type": {"type": "string", "description": "Type it is made of."},
                **more,
            },
            "additionalProperties": True,
        },
    }


CORE_SCHEMA: Final[Mapping[str, Any]] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Pegboard settings",
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "agent": {
            "type": "object",
            "description": "The agent that answers.",
            "additionalProperties": False,
            "properties": {
                "provider": {
                    "type": "string",
                    "default": "",
                    "description": "Provider instance to use; empty = the only one, or the best.",
                },
                "model": {
                    "type": "string",
                    "default": "",
                    "description": "Model to ask for; empty = the provider's default.",
                },
                "max_steps": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": 1000,
                    "default": 100,
                    "description": "Model calls in one run at most.",
                },
                "instructions": {
                    "type": "string",
                    "default": "",
                    "description": "Text added to the system prompt.",
                },
            },
        },
        "plugins": {
            "type": "object",
            "description": "Which plugins are used, and `[plugins.ID]` with the settings of one.",
            "additionalProperties": {"type": "object", "additionalProperties": True},
            "properties": {
                "disabled": {
                    **_NAMES,
                    "default": [],
                    "description": "Ids that are not loaded.",
                },
                "required": {
                    **_NAMES,
                    "default": [],
                    "description": "Ids without which something is wrong.",
                },
                "on_failure": {
                    "type": "string",
                    "enum": ["skip", "abort"],
                    "default": "skip",
                    "description": "What a host does when a required plugin can't be used.",
                },
                "import_timeout_s": {
                    "type": "number",
                    "exclusiveMinimum": 0,
                    "default": 20,
                    "description": "Seconds until the import of a plugin is given up.",
                },
            },
        },
        "providers": _instances("Model providers", "openai"),
        "channels": _instances(
            "Channels; with `guests = true`, senders whom nobody has named are guests, else they "
            "are ignored",
            "terminal",
            guests={
                "type": "boolean",
                "default": False,
                "description": "Let in senders whom `[policy.senders]` does not name, as guests.",
            },
        ),
        "sandboxes": _instances("Sandboxes", "local"),
        "skill_sources": _instances("Skill sources", "folder"),
        "sandbox": {
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
        },
        "names": {
            "type": "object",
            "description": "Short name -> `plugin:tool`, which settles a clash.",
            "additionalProperties": {"type": "string", "pattern": "^[^:]+:[^:]+$"},
        },
        "tools": {
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
            },
        },
        "policy": {
            "type": "object",
            "description": "Who may do what.",
            "additionalProperties": False,
            "properties": {
                "guest_tools": {
                    **_NAMES,
                    "default": [],
                    "description": "The tools that guests see.",
                },
                "senders": {
                    "type": "object",
                    "default": {},
                    "description": 'Who a sender is: `"CHANNEL:ID"` or `"ID"` = operator, admin '
                    "(an operator who may also change Pegboard itself), guest or blocked.",
                    "additionalProperties": {
                        "type": "string",
                        "enum": ["operator", "admin", "guest", "blocked"],
                    },
                },
            },
        },
        "autonomy": {
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
                    "description": "Refusals in a row after which an unattended run gets no more "
                    "tools.",
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
        },
        "scripts": {
            "type": "object",
            "description": "Scripts that the agent writes and runs.",
            "additionalProperties": False,
            "properties": {
                "allow": {
                    **_NAMES,
                    "default": [],
                    "description": "Tools of third parties (`plugin:tool`) that scripts may call.",
                },
            },
        },
        "hooks": {
            "type": "object",
            "description": "Hooks of plugins.",
            "additionalProperties": False,
            "properties": {
                "timeout_s": {
                    "type": "number",
                    "exclusiveMinimum": 0,
                    "default": 5.0,
                    "description": "Seconds that one hook may take.",
                },
                "observe_failures": {
                    "type": "integer",
                    "minimum": 1,
                    "default": 3,
                    "description": "Failures after which an observing hook is switched off.",
                },
            },
        },
        "secrets": {
            "type": "object",
            "description": "Where secrets are kept.",
            "additionalProperties": False,
            "properties": {
                "backend": {
                    "type": "string",
                    "enum": ["auto", "keyring", "file"],
                    "default": "auto",
                    "description": "auto = the system's keyring where it works, else the file.",
                },
            },
        },
        "log": {
            "type": "object",
            "description": "The log.",
            "additionalProperties": False,
            "properties": {
                "level": {
                    "type": "string",
                    "enum": ["debug", "info", "warning", "error"],
                    "default": "warning",
                    "description": "Least important level that is written.",
                },
            },
        },
    },
}
