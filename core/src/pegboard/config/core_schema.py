"""The schema of core's own settings: every key, its default and what it means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pegboard.config.agents_schema import AGENTS_SCHEMA, EFFORT_SCHEMA, FALLBACKS_SCHEMA
from pegboard.config.autonomy_schema import AUTONOMY_SCHEMA
from pegboard.config.budgets_schema import BUDGETS_SCHEMA
from pegboard.config.limits_schema import LIMITS_SCHEMA
from pegboard.config.log_schema import LOG_SCHEMA
from pegboard.config.models_schema import MODELS_SCHEMA
from pegboard.config.rules_schema import RULES_SCHEMA
from pegboard.config.sandbox_schema import SANDBOX_SCHEMA
from pegboard.config.store_schema import STORE_SCHEMA
from pegboard.config.tools_schema import TOOLS_SCHEMA

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
                "effort": EFFORT_SCHEMA,
                "fallbacks": {
                    **FALLBACKS_SCHEMA,
                    "default": [],
                },
                "failover_mid_run": {
                    "type": "boolean",
                    "default": False,
                    "description": "Ask the fallbacks also when a run has begun to answer or to "
                    "call tools; false = only for its first request.",
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
        "agents": AGENTS_SCHEMA,
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
            agent={
                "type": "string",
                "default": "main",
                "description": "Agent that answers what comes in here.",
            },
        ),
        "sandboxes": _instances("Sandboxes", "local"),
        "skill_sources": _instances("Skill sources", "folder"),
        "backends": _instances("Backends: places to keep what a host must not lose", "postgres"),
        "sandbox": SANDBOX_SCHEMA,
        "names": {
            "type": "object",
            "description": "Short name -> `plugin:tool`, which settles a clash.",
            "additionalProperties": {"type": "string", "pattern": "^[^:]+:[^:]+$"},
        },
        "tools": TOOLS_SCHEMA,
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
                "rules": RULES_SCHEMA,
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
        "autonomy": AUTONOMY_SCHEMA,
        "models": MODELS_SCHEMA,
        "limits": LIMITS_SCHEMA,
        "budgets": BUDGETS_SCHEMA,
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
        "turns": {
            "type": "object",
            "description": "How what comes in is worked off.",
            "additionalProperties": False,
            "properties": {
                "slots": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": 1000,
                    "default": 16,
                    "description": "Turns that run at the same time at most, each of another "
                    "conversation; two of them are kept free for people.",
                },
                "max_attempts": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": 100,
                    "default": 3,
                    "description": "How often a turn is begun, when the host is killed each time, "
                    "before it is given up.",
                },
            },
        },
        "compaction": {
            "type": "object",
            "description": "Summaries in place of the older parts of a long conversation.",
            "additionalProperties": False,
            "properties": {
                "enabled": {
                    "type": "boolean",
                    "default": True,
                    "description": "Summarise by itself; false = only when /compact asks for it.",
                },
                "threshold": {
                    "type": "number",
                    "exclusiveMinimum": 0,
                    "maximum": 1,
                    "default": 0.85,
                    "description": "Part of the model's context window from which on that happens, "
                    "by the tokens that the provider reported.",
                },
            },
        },
        "store": STORE_SCHEMA,
        "serve": {
            "type": "object",
            "description": "A host that stays: `pegboard serve`.",
            "additionalProperties": False,
            "properties": {
                "drain_s": {
                    "type": "number",
                    "minimum": 0,
                    "default": 30,
                    "description": "Seconds that turns have to end when it is told to; what has "
                    "not ended is handed on to the next host.",
                },
                "workspace": {
                    "type": "string",
                    "default": "",
                    "description": "Folder that turns of channels work in; empty = the folder in "
                    "which it is started.",
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
        "log": LOG_SCHEMA,
    },
}
