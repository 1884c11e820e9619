from __future__ import annotations

import itertools
import json
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.abc
import pytest

from pegboard.agent.prompt import PromptBase
from pegboard.agent.setup import Watch
from pegboard.contracts.caller import Caller
from pegboard.contracts.channel import ChannelInfo, Delivery, Inbox, TurnOutcome
from pegboard.contracts.clock import SystemClock
from pegboard.contracts.message import InboundMessage, OutboundMessage, ToolCall
from pegboard.contracts.provider import ToolDeclaration
from pegboard.contracts.result import ToolResult
from pegboard.contracts.stream import StreamEvent
from pegboard.contracts.turn import Begun, Receipt
from pegboard.conversations.history import History
from pegboard.conversations.key import ConversationKey
from pegboard.engine.embedded import EmbeddedEngine
from pegboard.providers.route import Hop, Route
from pegboard.store.blobs import FolderBlobs
from pegboard.store.database import Database
from pegboard.store.embedded import EmbeddedStore
from pegboard.testing.clock import FakeClock
from pegboard.testing.model import ScriptedModel
from pegboard.turns.commands import ChatCommands, Command
from pegboard.turns.journal import TurnJournal
from pegboard.turns.open_channels import OpenChannels
from pegboard.turns.own_commands import own_commands
from pegboard.turns.runner import TurnRunner
from pegboard.turns.setup import Turn, TurnParts, TurnServices

OWNER = Caller(trust="operator", admin=True, attended=True, live_reply=True, origin="person")
GUEST = Caller(trust="guest", origin="person")


class ChatChannel:
    """A chat that keeps what was sent. It shows no events."""

    def __init__(self, **info: Any) -> None:
        self.info = ChannelInfo(surface="chat", **info)
        self.sent: list[OutboundMessage] = []
        self.raises: Exception | None = None
        """What the next messages come to."""

    async def run(self, inbox: Inbox) -> None:
        return None

    async def send(self, message: OutboundMessage) -> Delivery:
        if self.raises is not None:
            raise self.raises
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

    async def provider(self) -> str:
        return "main (m1)"

    async def children(self, conversation: str) -> list[tuple[str, str]]:
        return [("research", "Find the paper")] if conversation == "chat/7" else []


@dataclass
class Bench:
    """A turn runner on a real store and engine, over a scripted model and callables as tools.

    Two of them in one folder are two hosts that share a store.
    """

    folder: Path
    group: anyio.abc.TaskGroup
    hooks: Hooks = field(default_factory=Hooks)
    tools: dict[str, Callable[..., Any]] = field(default_factory=dict)
    clock: FakeClock = field(default_factory=lambda: FakeClock(auto=True))
    turns: list[Turn] = field(default_factory=list)
    prompt: PromptBase = field(default_factory=PromptBase)
    data: HostData = field(default_factory=HostData)
    further: Sequence[Command] = ()
    refuse: Exception | None = None
    ask_timeout_s: float = 5.0
    history_limits: dict[str, int] = field(default_factory=dict)
    approver: Any = None
    max_attempts: int = 3
    slots: int = 8
    name: str = ""

    def __post_init__(self) -> None:
        ids = (f"{self.name}turn-{n}" for n in itertools.count(1))
        self._external = itertools.count(1)
        self.store = EmbeddedStore(Database(self.folder))
        self.channels = OpenChannels()
        self.everything = True
        # its own clock stands for the machine's: a fake one would make it look all the time
        self.engine = EmbeddedEngine(
            self.store,
            SystemClock(),
            accepts=lambda ref: self.everything or self.channels.accepts(ref),
        )
        services = TurnServices(
            store=self.store,
            engine=self.engine,
            prepare=self.prepare,
            prepare_call=self.prepare,
            journal=self.journal,
            hooks=self.hooks,
            clock=self.clock,
            history=History(self.store, **self.history_limits),
            ask_timeout_s=self.ask_timeout_s,
            **({"approver": self.approver} if self.approver else {}),
        )
        self.runner = TurnRunner(
            services,
            self.channels,
            new_id=lambda: next(ids),
            commands=ChatCommands([*own_commands(self.data), *self.further]),
            max_attempts=self.max_attempts,
        )
        self._served = False
        self.script()

    def serve(self) -> None:
        if not self._served:
            self._served = True
            self.group.start_soon(self._serve)

    async def _serve(self) -> None:
        try:
            await self.engine.serve(self.runner.handle, slots=self.slots)
        except Exception:  # in the group it would end the test without a word
            traceback.print_exc()

    async def close(self, grace_s: float = 0.0) -> None:
        """End this host as one ends that is told to."""
        self.runner.hand_on()
        await self.engine.close(grace_s)
        await self.store.aclose()

    def script(self, *answers: Any) -> ScriptedModel:
        self.model = ScriptedModel(answers)
        return self.model

    def journal(self, begun: Begun) -> TurnJournal:
        return TurnJournal(
            self.store,
            begun.turn.ref.turn,
            begun.turn.fence,
            begun.calls,
            blobs=FolderBlobs(self.folder / "blobs"),
            clock=self.clock,
        )

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

    def message(self, text: str = "Hi", **facts: Any) -> InboundMessage:
        values = {"channel": "chat", "chat": "1", "sender": "me", **facts}
        values.setdefault("external_id", f"{self.name}m{next(self._external)}")
        return InboundMessage(text=text, **values)

    async def run(
        self, text: str = "Hi", channel: Any = None, caller: Caller = OWNER, **facts: Any
    ) -> TurnOutcome:
        self.serve()
        self.channel = ChatChannel() if channel is None else channel
        caller = replace(caller, slash_commands=self.channel.info.slash_commands)
        emit = facts.pop("emit", None)
        message = self.message(text, **facts)
        with anyio.fail_after(10):
            return await self.runner.run(message, channel=self.channel, caller=caller, emit=emit)

    async def receive(
        self, text: str = "Hi", channel: Any = None, caller: Caller = OWNER, **facts: Any
    ) -> Receipt:
        self.channel = ChatChannel() if channel is None else channel
        caller = replace(caller, slash_commands=self.channel.info.slash_commands)
        with anyio.fail_after(10):
            return await self.runner.receive(self.message(text, **facts), self.channel, caller)

    async def until(self, true: Callable[[], Any]) -> None:
        """Wait until something is true, or becomes so."""
        with anyio.fail_after(10):
            while True:
                found = true()
                if await found if isinstance(found, Awaitable) else found:
                    return
                await anyio.sleep(0.005)

    async def idle(self) -> None:
        """Wait until every turn has ended."""

        async def none_open() -> bool:
            return not await self.store.open_turns()

        await self.until(none_open)

    async def history(self, chat: str = "1", thread: str = "") -> list[tuple[str, str]]:
        key = ConversationKey("chat", chat, thread)
        messages = await History(self.store).messages(key.text)
        return [(message.role, message.text) for message in messages]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def make_bench(tmp_path: Path, anyio_backend: str) -> AsyncIterator[Callable[..., Bench]]:
    made: list[Bench] = []
    async with anyio.create_task_group() as group:

        def make(**facts: Any) -> Bench:
            bench = Bench(facts.pop("folder", tmp_path / str(len(made))), group, **facts)
            made.append(bench)
            return bench

        yield make
        for bench in made:
            await bench.close()
        group.cancel_scope.cancel()


@pytest.fixture
async def bench(make_bench: Callable[..., Bench]) -> Bench:
    return make_bench()


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
