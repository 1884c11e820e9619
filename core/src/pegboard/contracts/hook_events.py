"""What behaviour hooks receive: one frozen event each. No wire format: `stream` is.

A field may be added to an event at any time; none is ever removed within an API version.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from pegboard.contracts.caller import Caller
from pegboard.contracts.message import InboundMessage, OutboundMessage
from pegboard.contracts.provider import ChatRequest, Usage
from pegboard.contracts.result import ToolResult
from pegboard.contracts.tool import RegisteredTool


@dataclass(frozen=True, slots=True, kw_only=True)
class HostStarted:
    """The host is up."""

    type: ClassVar[str] = "host_started"
    plugins: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HostStopping:
    """The host is about to stop."""

    type: ClassVar[str] = "host_stopping"


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginStateChanged:
    """A plugin entered another state."""

    type: ClassVar[str] = "plugin_state_changed"
    plugin: str
    state: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnBegan:
    """A turn began."""

    type: ClassVar[str] = "turn_began"
    turn: str
    conversation: str
    caller: Caller


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnEnded:
    """A turn ended. `status` is `done`, `failed` or `cancelled`."""

    type: ClassVar[str] = "turn_ended"
    turn: str
    conversation: str
    status: str
    steps: int
    usage: Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCalled:
    """A model answered, or failed (`error` is the kind)."""

    type: ClassVar[str] = "model_called"
    provider: str
    model: str
    usage: Usage
    duration_ms: float
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCalled:
    """A tool call ended. `error` is its code, or None."""

    type: ClassVar[str] = "tool_called"
    call: str
    tool: RegisteredTool
    caller: Caller
    duration_ms: float
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationsErased:
    """Something was erased for good; what is kept of it elsewhere must go as well.

    The host itself erases what its storage keeps. This is for the rest, as files of a plugin's own.
    It is told until every plugin was asked once, so it may come twice.

    Args:
        conversations: Keys of conversations.
        turns: Ids of turns, those of such conversations included.
        persons: Normalised sender ids of people of whom all is erased.
        thinned: Keys of conversations that stay, but lost the turns of such a person.
    """

    type: ClassVar[str] = "conversations_erased"
    conversations: tuple[str, ...] = ()
    turns: tuple[str, ...] = ()
    persons: tuple[str, ...] = ()
    thinned: tuple[str, ...] = ()


ObservedEvent = (
    HostStarted
    | HostStopping
    | PluginStateChanged
    | TurnBegan
    | TurnEnded
    | ModelCalled
    | ToolCalled
    | ConversationsErased
)
OBSERVED_TYPES: tuple[str, ...] = tuple(
    event.type
    for event in (HostStarted, HostStopping, PluginStateChanged, TurnBegan, TurnEnded, ModelCalled,
    ToolCalled, ConversationsErased)
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageInEvent:
    """A message is about to become a turn."""

    message: InboundMessage
    caller: Caller


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequestEvent:
    """A request is about to go to a model.

    `conversation` is its key, "" in work that was delegated, and `epoch` how often it was begun
    anew.
    """

    request: ChatRequest
    caller: Caller
    step: int
    conversation: str = ""
    epoch: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolArgumentsEvent:
    """A call's arguments are valid; what a hook returns is validated again."""

    call: str
    tool: RegisteredTool
    arguments: Mapping[str, Any]
    caller: Caller


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResultEvent:
    """A call returned; limits and fence are applied after the hooks."""

    call: str
    tool: RegisteredTool
    result: ToolResult
    caller: Caller


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageOutEvent:
    """A reply is about to be sent."""

    message: OutboundMessage
    caller: Caller


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolGuardEvent:
    """A call is about to run with exactly these arguments."""

    call: str
    tool: RegisteredTool
    arguments: Mapping[str, Any]
    caller: Caller


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageGuardEvent:
    """A message is about to become a turn."""

    message: InboundMessage
    caller: Caller
