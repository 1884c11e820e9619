"""What Pegboard ships: ids, and which package brings a command, a type or a service.

The list decides what `--safe` loads and which tools may set their own policy class, so it is part
of core and no plugin can add itself. An id counts only in the distribution of its own name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pegboard.plugins.discovery.scan import normalized

FIRST_PARTY: Final = frozenset(
    {
        "acp",
        "browser",
        "delegation",
        "files",
        "gateway",
        "git",
        "matrix",
        "mcp",
        "memory",
        "planning",
        "postgres",
        "presets",
        "provider-anthropic",
        "provider-gemini",
        "provider-offline",
        "provider-local",
        "provider-openai",
        "provider-scripted",
        "routing",
        "sandbox-bubblewrap",
        "sandbox-docker",
        "sandbox-local",
        "sandbox-ssh",
        "schedule",
        "sessions",
        "shell",
        "skills",
        "slack",
        "telegram",
        "terminal",
        "web",
        "workspace-access",
    }
)

COMMAND_PACKAGES: Final[Mapping[str, str]] = {
    "ask": "pegboard-terminal",
    "chat": "pegboard-terminal",
    "undo": "pegboard-files",
}
"""Command -> the package that brings it, for the message when it is not installed."""

TYPE_PACKAGES: Final[Mapping[str, Mapping[str, str]]] = {
    "provider": {
        "anthropic": "pegboard-provider-anthropic",
        "gemini": "pegboard-provider-gemini",
        "offline": "pegboard-provider-offline",
        "local": "pegboard-provider-local",
        "openai": "pegboard-provider-openai",
        "openai-compatible": "pegboard-provider-openai",
        "scripted": "pegboard-provider-scripted",
    },
    "channel": {
        "acp": "pegboard-acp",
        "gateway": "pegboard-gateway",
        "matrix": "pegboard-matrix",
        "slack": "pegboard-slack",
        "telegram": "pegboard-telegram",
        "terminal": "pegboard-terminal",
    },
    "sandbox": {
        "bubblewrap": "pegboard-sandbox-bubblewrap",
        "docker": "pegboard-sandbox-docker",
        "landlock": "pegboard-sandbox-bubblewrap",
        "local": "pegboard-sandbox-local",
        "ssh": "pegboard-sandbox-ssh",
    },
    "skill_source": {},
}
"""Kind -> type -> the package that brings it."""

SERVICE_PACKAGES: Final[Mapping[str, str]] = {}
"""Service -> the package that offers it."""

HOST_SERVICES: Final = frozenset({"news", "routing", "sessions"})
"""Services that every host offers itself, to plugins that declare the need."""


def is_first_party(plugin_id: str, dist: str) -> bool:
    """Say whether a plugin is one that Pegboard ships: a known id in its own distribution."""
    return plugin_id in FIRST_PARTY and normalized(dist) == normalized(f"pegboard-{plugin_id}")


def package_of(plugin_id: str) -> str | None:
    """Return the package that brings a first-party plugin, or None for any other id."""
    return f"pegboard-{plugin_id}" if plugin_id in FIRST_PARTY else None
