"""The hook API's number and the names of all hooks, readable without pluggy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

API_VERSION: Final = "1.0"
"""Version of this hook API: minor = hooks or event fields added, major = something removed."""

HookKind = Literal["contribution", "observe", "transform", "guard"]

CONTRIBUTION_HOOKS: Final[Mapping[str, str]] = {
    "pegboard_tools": "tool",
    "pegboard_providers": "provider",
    "pegboard_channels": "channel",
    "pegboard_sandboxes": "sandbox",
    "pegboard_skill_sources": "skill_source",
    "pegboard_backends": "backend",
    "pegboard_contributions": "",
}
"""Contribution hook to the kind of what it returns; "" = each contribution names its own."""

BEHAVIOUR_HOOKS: Final[Mapping[str, HookKind]] = {
    "pegboard_event": "observe",
    "pegboard_message_in": "transform",
    "pegboard_model_request": "transform",
    "pegboard_tool_arguments": "transform",
    "pegboard_tool_result": "transform",
    "pegboard_message_out": "transform",
    "pegboard_tool_guard": "guard",
    "pegboard_message_guard": "guard",
}
HOOK_NAMES: Final[tuple[str, ...]] = (*CONTRIBUTION_HOOKS, *BEHAVIOUR_HOOKS)
