from __future__ import annotations

import itertools
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import anyio
import pytest

from pegboard.agent.prompt import PromptBase
from pegboard.agent.setup import Watch
from pegboard.contracts.caller import Caller
from pegboard.contracts.channel import ChannelInfo, Delivery, Inbox, TurnOutcome
from pegboard.contracts.message import InboundMessage, OutboundMessage, ToolCall
from pegboard.contracts.provider import ToolDeclaration
from pegboard.contracts.result import ToolResult
from pegboard.contracts.stream import StreamEvent
from pegboard.conversations.key import ConversationKey
from pegboard.providers.route import Hop, Route
from pegboard.testing.clock import FakeClock
from pegboard.testing.model import ScriptedModel
from pegboard.turns.commands import ChatCommands
from pegboard.turns.runner import TurnRunner
from pegboard.turns.setup import Turn, TurnParts

OWNER = Caller(trust="operator", admin=True, attended=True, live_reply=True, origin="person")
GUEST = Caller(trust="guest", origin="person")


class ChatChannel:
    """A chat that keeps what was sent. It shows no events."""

    def __init__(self, **info: Any) -> None:
        self.info = ChannelInfo(surface="chat", **info)
        self.sent: list[OutboundMessage] = []
        self.broken = False

    async def run(self, inbox: Inbox) -> None:
        return None

    async def send(self, message: OutboundMessage) -> Delivery:
        if self.broken:
            raise ConnectionError("the line is dead")
        self.sent.append(message)
        return Delivery(external_ids=(str(len(self.sent)),))

    @property
    def texts(self) -> list[str]:
        return [message.text for message in self.sent]


class LiveChannel(ChatChannel):
    """A channel that shows events and can put a question."""

    def __init__(self, *, says: bool = True, **info: Any) -> None:
        super().__init__(streaming=True, **info)
        self.events: list[StreamEvent] = []
        self.questions: list[str] = []
        self.says = says

    async def stream(self, chat: str, event: StreamEvent) -> None:
        self.events.append(event)

    async def ask(self, chat: str, question: str) -> bool:
        self.questions.append(question)
        return self.says

    def types(self) -> list[str]:
        return [event.type for event in self.events]


class Hooks:
    """Hooks as functions by name, run as the host would."""

    def __init__(self, **hooks: Callable[[Any], Any]) -> None:
        self.observed: list[Any] = []
        self._hooks = hooks

    async def observe(self, event: Any) -> None:
        self.observed.append(event)

    async def transform(self, hook: str, event: Any) -> Any:
        found = self._hooks.get(hook)
        changed = found(event) if found else None
        if changed is None:
            return event
        name = "request" if hook == "pegboard_model_request" else "message"
        return replace(event, **{name: changed})

    async def guard(self, hook: str, event: Any) -> Any:
        found = self._hooks.get(hook)
        return found(event) if found else None


class HostData:
    """What chat commands tell about a small host."""

    async def tools(self, caller: Caller) -> list[tuple[str, str]]:
        found = [("file_read", "Read a file.")]
        return found + ([("shell", "Run a command.")] if caller.trust == "operator" else [])

    async def plugins(self) -> list[tuple[str, str, str]]:
        return [("files", "active", ""), ("web", "missing-need", "no network")]

    async def rescan(self) -> str:
        return "- added: git"

    async def why(self, name: str, caller: Caller) -> str:
        return f"{name} is allowed for {caller.trust}: trust.class"


@dataclass
class Bench:
    """A turn runner over a scripted model and real callables as tools."""

    hooks: Hooks = field(default_factory=Hooks)
    tools: dict[str, Callable[..., Any]] = field(default_factory=dict)
    clock: FakeClock = field(default_factory=lambda: FakeClock(auto=True))
    turns: list[Turn] = field(default_factory=list)
    prompt: PromptBase = field(default_factory=PromptBase)
    refuse: Exception | None = None
    ask_timeout_s: float = 5.0

    def __post_init__(self) -> None:
        ids = (f"turn-{n}" for n in itertools.count(1))
        self.runner = TurnRunner(
            prepare=self.prepare,
            hooks=self.hooks,
            clock=self.clock,
            new_id=lambda: next(ids),
            commands=ChatCommands(HostData()),
            ask_timeout_s=self.ask_timeout_s,
        )
        self.script()

    def script(self, *answers: Any) -> ScriptedModel:
        self.model = ScriptedModel(answers)
        return self.model

    async def prepare(self, turn: Turn) -> TurnParts:
        self.turns.append(turn)
        if self.refuse is not None:
            raise self.refuse

        async def declare(added: frozenset[str]) -> list[ToolDeclaration]:
            return [ToolDeclaration(name, "", {}) for name in self.tools]

        async def dispatch_step(
            calls: Sequence[ToolCall], *, approved: bool, watch: Watch
        ) -> list[ToolResult]:
            return [await watch(call, partial(self._call, turn, call)) for call in calls]

        route = Route([Hop(name="main", provider=self.model, model="m1")], clock=self.clock)
        return TurnParts(
            route=route,
            prompt=self.prompt,
            dispatch_step=dispatch_step,
            declare=declare,
            max_steps=5,
        )

    async def _call(self, turn: Turn, call: ToolCall) -> ToolResult:
        value = self.tools[call.name](turn, **json.loads(call.arguments))
        value = await value if isinstance(value, Awaitable) else value
        return value if isinstance(value, ToolResult) else ToolResult(value)

    async def run(
        self, text: str = "Hi", channel: Any = None, caller: Caller = OWNER, **facts: Any
    ) -> TurnOutcome:
        self.channel = ChatChannel() if channel is None else channel
        emit = facts.pop("emit", None)
        values = {"channel": "chat", "chat": "1", "sender": "me", "external_id": "m1", **facts}
        message = InboundMessage(text=text, **values)
        with anyio.fail_after(10):
            return await self.runner.run(message, channel=self.channel, caller=caller, emit=emit)

    def history(self, chat: str = "1") -> list[tuple[str, str]]:
        messages = self.runner.history.messages(ConversationKey("chat", chat))
        return [(message.role, message.text) for message in messages]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def make_bench() -> type[Bench]:
    return Bench


@pytest.fixture
def bench() -> Bench:
    return Bench()


@pytest.fixture
def make_hooks() -> type[Hooks]:
    return Hooks


@pytest.fixture
def chat_channel() -> type[ChatChannel]:
    return ChatChannel


@pytest.fixture
def live_channel() -> type[LiveChannel]:
    return LiveChannel


@pytest.fixture
def guest() -> Caller:
    return GUEST


@pytest.fixture
def owner() -> Caller:
    return OWNER
