"""Every hook that a plugin may implement, with pluggy's markers.

Two kinds of hooks exist. *Contribution* hooks say what a plugin brings; they are called when its
manifest is built and when it is activated, nowhere else. *Behaviour* hooks take part in what
happens; each takes exactly one frozen event and may return at most one result, `def` or
`async def`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import pluggy

from pegboard.contracts.hook_names import API_VERSION as API_VERSION
from pegboard.contracts.hook_names import BEHAVIOUR_HOOKS as BEHAVIOUR_HOOKS
from pegboard.contracts.hook_names import CONTRIBUTION_HOOKS as CONTRIBUTION_HOOKS
from pegboard.contracts.hook_names import HOOK_NAMES as HOOK_NAMES
from pegboard.contracts.hook_names import HookKind as HookKind

if TYPE_CHECKING:
    from pegboard.contracts.hook_events import (
        MessageGuardEvent,
        MessageInEvent,
        MessageOutEvent,
        ModelRequestEvent,
        ObservedEvent,
        ToolArgumentsEvent,
        ToolGuardEvent,
        ToolResultEvent,
    )
    from pegboard.contracts.message import InboundMessage, OutboundMessage
    from pegboard.contracts.provider import ChatRequest
    from pegboard.contracts.result import ToolResult
    from pegboard.contracts.verdict import Ask, Deny

PROJECT: Final = "pegboard"

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def pegboard_tools() -> Sequence[Any]:
    """Return the plugin's tools: functions marked with `tool`, or `Tool` objects."""
    raise AssertionError  # a specification is never called


@hookspec
def pegboard_providers() -> Sequence[Any]:
    """Return the plugin's model providers, as contributions."""
    raise AssertionError


@hookspec
def pegboard_channels() -> Sequence[Any]:
    """Return the plugin's channels, as contributions."""
    raise AssertionError


@hookspec
def pegboard_sandboxes() -> Sequence[Any]:
    """Return the plugin's sandbox backends, as contributions."""
    raise AssertionError


@hookspec
def pegboard_skill_sources() -> Sequence[Any]:
    """Return the plugin's skill sources, as contributions."""
    raise AssertionError


@hookspec
def pegboard_backends() -> Sequence[Any]:
    """Return the plugin's backends, places where a host keeps the truth, as contributions."""
    raise AssertionError


@hookspec
def pegboard_contributions() -> Sequence[Any]:
    """Return contributions of further kinds: `command`, `chat_command`, and those of plugins."""
    raise AssertionError


@hookspec
def pegboard_event(event: ObservedEvent) -> None:
    """Observe what happened.

    Runs after the fact and can change nothing. A failing implementation is counted and, after
    repeated failures, switched off until the host starts again.
    """
    raise AssertionError


@hookspec
def pegboard_message_in(event: MessageInEvent) -> InboundMessage | None:
    """Change a message before it becomes a turn; None leaves it. The sender can't be changed."""
    raise AssertionError


@hookspec
def pegboard_model_request(event: ModelRequestEvent) -> ChatRequest | None:
    """Change a request before it goes to a model; None leaves it."""
    raise AssertionError


@hookspec
def pegboard_tool_arguments(event: ToolArgumentsEvent) -> Mapping[str, Any] | None:
    """Change the arguments of a call; None leaves them. What comes out is judged again."""
    raise AssertionError


@hookspec
def pegboard_tool_result(event: ToolResultEvent) -> ToolResult | None:
    """Change the result of a call before limits and fence are applied; None leaves it."""
    raise AssertionError


@hookspec
def pegboard_message_out(event: MessageOutEvent) -> OutboundMessage | None:
    """Change a reply before it is sent; None leaves it."""
    raise AssertionError


@hookspec
def pegboard_tool_guard(event: ToolGuardEvent) -> Ask | Deny | None:
    """Judge a call: None lets it pass, Ask wants a person's word, Deny refuses.

    All guards run and the strictest answer counts. An exception or a timeout denies.
    """
    raise AssertionError


@hookspec
def pegboard_message_guard(event: MessageGuardEvent) -> Ask | Deny | None:
    """Judge a message before it becomes a turn; same rules as for a call."""
    raise AssertionError
