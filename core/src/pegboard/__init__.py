"""An agent host in which every ability is a pip package.

The public names are below and are imported when first used, so that `import pegboard` costs next to
nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from pegboard._version import __version__

if TYPE_CHECKING:
    from pegboard.contracts.argument import Arg
    from pegboard.contracts.blob import BlobRef, Blobs
    from pegboard.contracts.caller import Caller, ToolFilter
    from pegboard.contracts.capability import Capability
    from pegboard.contracts.channel import (
        Channel,
        ChannelInfo,
        Delivery,
        DeliveryError,
        Inbox,
        TurnOutcome,
    )
    from pegboard.contracts.clock import Clock, SystemClock
    from pegboard.contracts.context import (
        CallInfo,
        Delegate,
        Family,
        PluginContext,
        RunResult,
        RunSpec,
        ToolContext,
    )
    from pegboard.contracts.effects import Access, Effect, EffectsBy, PolicyClass
    from pegboard.contracts.errors import PegboardError, PluginError, SandboxError, ToolFailure
    from pegboard.contracts.hook_events import (
        ConversationsErased,
        HostStarted,
        HostStopping,
        MessageGuardEvent,
        MessageInEvent,
        MessageOutEvent,
        ModelCalled,
        ModelRequestEvent,
        ObservedEvent,
        PluginStateChanged,
        ToolArgumentsEvent,
        ToolCalled,
        ToolGuardEvent,
        ToolResultEvent,
        TurnBegan,
        TurnEnded,
    )
    from pegboard.contracts.hookspecs import API_VERSION, hookimpl
    from pegboard.contracts.message import (
        Attachment,
        CallResult,
        InboundMessage,
        Message,
        OutboundMessage,
        ToolCall,
    )
    from pegboard.contracts.news import News, NewsItem
    from pegboard.contracts.process import (
        Output,
        Process,
        StartsProcesses,
        TerminalSize,
        start_process,
    )
    from pegboard.contracts.provider import (
        ChatRequest,
        Done,
        ModelAnswer,
        ModelCaps,
        ModelInfo,
        Notice,
        Provider,
        ProviderError,
        ProviderEvent,
        ProviderInfo,
        ProviderState,
        Restart,
        Start,
        Stop,
        TextDelta,
        ThinkingDelta,
        ToolCallDelta,
        ToolCallStart,
        ToolDeclaration,
        Usage,
    )
    from pegboard.contracts.result import (
        AddTools,
        ChangeConfig,
        File,
        Handoff,
        Image,
        Suspend,
        Terminate,
        Text,
        ToolError,
        ToolResult,
    )
    from pegboard.contracts.routing import ModelChoice, RouteInfo, Routing
    from pegboard.contracts.sandbox import (
        Captured,
        Command,
        Completed,
        FileStat,
        Grant,
        ReadsMany,
        Sandbox,
        SandboxBackend,
        SandboxInfo,
        SandboxReport,
        SandboxSpec,
    )
    from pegboard.contracts.session import (
        SaidMessage,
        SessionHit,
        SessionInfo,
        Sessions,
        SessionTurn,
    )
    from pegboard.contracts.skill import SkillInfo, SkillSource
    from pegboard.contracts.storage import (
        ConstraintError,
        Document,
        EraseSql,
        Owner,
        Statements,
        Storage,
        Tables,
    )
    from pegboard.contracts.stream import StreamEvent
    from pegboard.contracts.tool import (
        Intent,
        Needs,
        OutputLimits,
        RegisteredTool,
        Tool,
        ToolHelp,
        ToolSpec,
    )
    from pegboard.contracts.turn import Receipt, TurnRef
    from pegboard.contracts.verdict import Ask, Deny, Outcome, Verdict
    from pegboard.host import CommandHost, Host, HostOptions, open_host
    from pegboard.plugins.declaration import Plugin, tool
    from pegboard.plugins.declared import Contribution, PluginInfo
    from pegboard.policy.catastrophe import Catastrophe, catastrophe
    from pegboard.tools.intents import match_intent

_MODULES: Final = {
    "contracts.argument": "Arg",
    "contracts.blob": "BlobRef Blobs",
    "contracts.caller": "Caller ToolFilter",
    "contracts.capability": "Capability",
    "contracts.channel": "Channel ChannelInfo Delivery DeliveryError Inbox TurnOutcome",
    "contracts.clock": "Clock SystemClock",
    "contracts.context": "CallInfo Delegate Family PluginContext RunResult RunSpec ToolContext",
    "contracts.effects": "Access Effect EffectsBy PolicyClass",
    "contracts.errors": "PegboardError PluginError SandboxError ToolFailure",
    "contracts.hook_events": (
        "ConversationsErased HostStarted HostStopping MessageGuardEvent MessageInEvent "
        "MessageOutEvent ModelCalled ModelRequestEvent ObservedEvent PluginStateChanged "
        "ToolArgumentsEvent ToolCalled ToolGuardEvent ToolResultEvent TurnBegan TurnEnded"
    ),
    "contracts.hookspecs": "API_VERSION hookimpl",
    "contracts.message": "Attachment CallResult InboundMessage Message OutboundMessage ToolCall",
    "contracts.news": "News NewsItem",
    "contracts.process": "Output Process StartsProcesses TerminalSize start_process",
    "contracts.provider": (
        "ChatRequest Done ModelAnswer ModelCaps ModelInfo Notice Provider ProviderError "
        "ProviderEvent ProviderInfo ProviderState Restart Start Stop TextDelta "
        "ThinkingDelta "
        "ToolCallDelta ToolCallStart ToolDeclaration Usage"
    ),
    "contracts.result": (
        "AddTools ChangeConfig File Handoff Image Suspend Terminate Text ToolError ToolResult"
    ),
    "contracts.routing": "ModelChoice RouteInfo Routing",
    "contracts.sandbox": (
        "Captured Command Completed FileStat Grant ReadsMany Sandbox SandboxBackend SandboxInfo "
        "SandboxReport SandboxSpec"
    ),
    "contracts.session": "SaidMessage SessionHit SessionInfo SessionTurn Sessions",
    "contracts.skill": "SkillInfo SkillSource",
    "contracts.storage": "ConstraintError Document EraseSql Owner Statements Storage Tables",
    "contracts.stream": "StreamEvent",
    "contracts.tool": "Intent Needs OutputLimits RegisteredTool Tool ToolHelp ToolSpec",
    "contracts.turn": "Receipt TurnRef",
    "contracts.verdict": "Ask Deny Outcome Verdict",
    "host": "CommandHost Host HostOptions open_host",
    "plugins.declaration": "Plugin tool",
    "plugins.declared": "Contribution PluginInfo",
    "policy.catastrophe": "Catastrophe catastrophe",
    "tools.intents": "match_intent",
}
_WHERE: Final = {name: module for module, names in _MODULES.items() for name in names.split()}

__all__ = [
    "API_VERSION",
    "Access",
    "AddTools",
    "Arg",
    "Ask",
    "Attachment",
    "BlobRef",
    "Blobs",
    "CallInfo",
    "CallResult",
    "Caller",
    "Capability",
    "Captured",
    "Catastrophe",
    "ChangeConfig",
    "Channel",
    "ChannelInfo",
    "ChatRequest",
    "Clock",
    "Command",
    "CommandHost",
    "Completed",
    "ConstraintError",
    "Contribution",
    "ConversationsErased",
    "Delegate",
    "Delivery",
    "DeliveryError",
    "Deny",
    "Document",
    "Done",
    "Effect",
    "EffectsBy",
    "EraseSql",
    "Family",
    "File",
    "FileStat",
    "Grant",
    "Handoff",
    "Host",
    "HostOptions",
    "HostStarted",
    "HostStopping",
    "Image",
    "InboundMessage",
    "Inbox",
    "Intent",
    "Message",
    "MessageGuardEvent",
    "MessageInEvent",
    "MessageOutEvent",
    "ModelAnswer",
    "ModelCalled",
    "ModelCaps",
    "ModelChoice",
    "ModelInfo",
    "ModelRequestEvent",
    "Needs",
    "News",
    "NewsItem",
    "Notice",
    "ObservedEvent",
    "OutboundMessage",
    "Outcome",
    "Output",
    "OutputLimits",
    "Owner",
    "PegboardError",
    "Plugin",
    "PluginContext",
    "PluginError",
    "PluginInfo",
    "PluginStateChanged",
    "PolicyClass",
    "Process",
    "Provider",
    "ProviderError",
    "ProviderEvent",
    "ProviderInfo",
    "ProviderState",
    "ReadsMany",
    "Receipt",
    "RegisteredTool",
    "Restart",
    "RouteInfo",
    "Routing",
    "RunResult",
    "RunSpec",
    "SaidMessage",
    "Sandbox",
    "SandboxBackend",
    "SandboxError",
    "SandboxInfo",
    "SandboxReport",
    "SandboxSpec",
    "SessionHit",
    "SessionInfo",
    "SessionTurn",
    "Sessions",
    "SkillInfo",
    "SkillSource",
    "Start",
    "StartsProcesses",
    "Statements",
    "Stop",
    "Storage",
    "StreamEvent",
    "Suspend",
    "SystemClock",
    "Tables",
    "TerminalSize",
    "Terminate",
    "Text",
    "TextDelta",
    "ThinkingDelta",
    "Tool",
    "ToolArgumentsEvent",
    "ToolCall",
    "ToolCallDelta",
    "ToolCallStart",
    "ToolCalled",
    "ToolContext",
    "ToolDeclaration",
    "ToolError",
    "ToolFailure",
    "ToolFilter",
    "ToolGuardEvent",
    "ToolHelp",
    "ToolResult",
    "ToolResultEvent",
    "ToolSpec",
    "TurnBegan",
    "TurnEnded",
    "TurnOutcome",
    "TurnRef",
    "Usage",
    "Verdict",
    "__version__",
    "catastrophe",
    "hookimpl",
    "match_intent",
    "open_host",
    "start_process",
    "tool",
]


def __getattr__(name: str) -> Any:
    module = _WHERE.get(name)
    if module is None:
        raise AttributeError(f"module 'pegboard' has no attribute {name!r}")
    value = getattr(import_module(f"pegboard.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
