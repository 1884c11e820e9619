"""One event of each type that hooks receive, and the same as a newer host would send it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, make_dataclass
from typing import Any, Final

from pegboard.contracts import hook_events as events
from pegboard.contracts.caller import Caller
from pegboard.contracts.message import InboundMessage, Message, OutboundMessage
from pegboard.contracts.provider import ChatRequest, Usage
from pegboard.contracts.result import ToolResult
from pegboard.contracts.tool import RegisteredTool, ToolSpec

TOOL: Final = RegisteredTool(ToolSpec(name="sample", effects=frozenset({"read"})), "sample")
CALLER: Final = Caller(trust="operator", origin="person", surface="terminal")
MESSAGE_IN: Final = InboundMessage(channel="test", chat="chat", sender="person", text="hello")
MESSAGE_OUT: Final = OutboundMessage(chat="chat", text="hello")
REQUEST: Final = ChatRequest(messages=(Message.of("user", "hello"),))

OBSERVED: Final[tuple[Any, ...]] = (
    events.HostStarted(plugins=("sample",)),
    events.HostStopping(),
    events.PluginStateChanged(plugin="sample", state="failed", reason="broken"),
    events.TurnBegan(turn="turn", conversation="conversation", caller=CALLER),
    events.TurnEnded(
        turn="turn", conversation="conversation", status="done", steps=1, usage=Usage()
    ),
    events.ModelCalled(provider="sample", model="sample", usage=Usage(), duration_ms=1.0),
    events.ToolCalled(call="call", tool=TOOL, caller=CALLER, duration_ms=1.0),
    events.ConversationsErased(conversations=("conversation",), turns=("turn",)),
)
SAMPLES: Final[dict[str, Any]] = {
    "pegboard_message_in": events.MessageInEvent(message=MESSAGE_IN, caller=CALLER),
    "pegboard_model_request": events.ModelRequestEvent(request=REQUEST, caller=CALLER, step=1),
    "pegboard_tool_arguments": events.ToolArgumentsEvent(
        call="call", tool=TOOL, arguments={"path": "notes.txt"}, caller=CALLER
    ),
    "pegboard_tool_result": events.ToolResultEvent(
        call="call", tool=TOOL, result=ToolResult("hello"), caller=CALLER
    ),
    "pegboard_message_out": events.MessageOutEvent(message=MESSAGE_OUT, caller=CALLER),
    "pegboard_tool_guard": events.ToolGuardEvent(
        call="call", tool=TOOL, arguments={"path": "notes.txt"}, caller=CALLER
    ),
    "pegboard_message_guard": events.MessageGuardEvent(message=MESSAGE_IN, caller=CALLER),
}


def newer_events(hook: str, wanted: Iterable[str]) -> list[Any]:
    """Return events for a hook with a field more than this version knows.

    Args:
        hook: Name of the hook.
        wanted: For `pegboard_event`: the event types that are wanted; empty = all.
    """
    if hook != "pegboard_event":
        return [_newer(SAMPLES[hook])]
    types = frozenset(wanted)
    return [_newer(event) for event in OBSERVED if not types or event.type in types]


def _newer(event: Any) -> Any:
    kind = make_dataclass(
        f"Newer{type(event).__name__}",
        [("of_a_newer_host", int, 1)],
        bases=(type(event),),
        frozen=True,
        kw_only=True,
    )
    return kind(**{field.name: getattr(event, field.name) for field in fields(event)})
