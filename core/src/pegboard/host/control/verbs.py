"""What can be asked for through the control socket, and how it is answered."""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar, get_args

import anyio

from pegboard.contracts.approval import GRAINS
from pegboard.contracts.caller import Caller
from pegboard.contracts.channel import ChannelInfo, Delivery, Inbox, TurnOutcome
from pegboard.contracts.errors import UsageError
from pegboard.contracts.message import InboundMessage, OutboundMessage
from pegboard.contracts.turn import Source
from pegboard.contracts.wire import INBOUND, WireError
from pegboard.conversations.key import ConversationKey
from pegboard.host.access import ToolFacts
from pegboard.host.control.connection import Call, Verb
from pegboard.host.control.forms import caller_of, outcome_form, result_form
from pegboard.host.control.switchboard import ClientChannel, Switchboard, entry_form
from pegboard.host.event_log import EventLog
from pegboard.host.host import Host
from pegboard.host.ingress import local_caller
from pegboard.host.own_host import OwnHost
from pegboard.host.session_admin import TERMINAL
from pegboard.host.stages import Stages
from pegboard.host.turn_options import TurnOptions
from pegboard.plugins.decision.broken import broken_lines
from pegboard.store.retention import Retention

T = TypeVar("T")
VERBS: Final = (
    "status",
    "health",
    "broken",
    "open",
    "submit",
    "answer",
    "enqueue",
    "stop",
    "confirm",
    "deny",
    "events",
    "commands",
    "tools",
    "tool",
    "call_tool",
    "rescan",
    "reload",
    "conversation",
    "fork",
    "delete",
    "delete_person",
    "prune",
    "shutdown",
)
"""What can be asked for, beside `cancel`; docs/explanation/resident-host.md says what each does."""
_SOURCES: Final[tuple[Source, ...]] = get_args(Source)
_EFFORTS: Final = ("", "low", "medium", "high")


class Running(Protocol):
    """What the verbs need of the resident host beside its rooms."""

    def admit(self) -> None:
        """Let work begin.

        Raises:
            PegboardError: When the host is about to end.
        """
        ...

    async def run_turn(self, call: Call, work: Callable[[], Awaitable[TurnOutcome]]) -> TurnOutcome:
        """Run a turn that goes on when its client goes away.

        Raises:
            PegboardError: As the host answers, or when it is about to end.
        """
        ...

    async def status(self) -> Mapping[str, Any]:
        """Return what `pegboard status` tells of the host."""
        ...

    async def health(self) -> Mapping[str, Any]:
        """Return whether the host works, and whether it takes messages."""
        ...

    async def rescan(self) -> Mapping[str, Any]:
        """Take over packages that came or went."""
        ...

    async def reload(self, rule: str = "", subject: str = "") -> Mapping[str, Any]:
        """Take over changed settings."""
        ...

    def shut_down(self, reason: str) -> None:
        """Begin to end."""
        ...


class Verbs:
    """The verbs of one resident host.

    Whoever gets here is the person at this machine, or a program of theirs.

    Args:
        host: The host.
        running: What runs it.
        switchboard: Knows which clients show which chats.
        log: The latest events.
    """

    def __init__(
        self, host: Host, running: Running, switchboard: Switchboard, log: EventLog
    ) -> None:
        self._host = host
        self._own = OwnHost(host)
        self._running = running
        self._switchboard = switchboard
        self._log = log
        self._numbers = itertools.count(1)

    def table(self) -> dict[str, Verb]:
        """Return the verbs by name."""
        return {verb: getattr(self, f"_{verb}") for verb in VERBS}

    async def _status(self, call: Call) -> Mapping[str, Any]:
        return await self._running.status()

    async def _health(self, call: Call) -> Mapping[str, Any]:
        return await self._running.health()

    async def _broken(self, call: Call) -> Mapping[str, Any]:
        """Return what is broken in the host without anybody having chosen that."""
        host = self._host
        problems = (*host.boot.problems, *host.registry.problems)
        return {"lines": [list(line) for line in broken_lines(host.records, problems)]}

    async def _open(self, call: Call) -> Mapping[str, Any]:
        """Send what happens in a chat of the terminal, until the client goes or cancels."""
        call.endless = True
        with self._switchboard.showing(call, call.text("chat"), attended=call.flag("attended")):
            await anyio.sleep_forever()
        return {}

    async def _submit(self, call: Call) -> Mapping[str, Any]:
        """Run the turn that answers a message of the terminal.

        What happens on the way goes to those who `open`ed its chat, or with this request when
        `follow` is true.
        """
        message = self._message(call)
        attended = call.flag("attended")
        info = ChannelInfo(
            surface="terminal",
            local=True,
            attended=attended,
            live_reply=call.flag("live_reply", attended),
            slash_commands=call.flag("slash_commands"),
            streaming=True,
            retract=call.flag("retract"),
        )
        caller = None if call.value("caller") is None else self._caller(call)
        turn_options = self._turn_options(call)
        channel = ClientChannel(self._switchboard, info)

        async def work() -> TurnOutcome:
            return await self._host.submit(
                message, channel, caller=caller, turn_options=turn_options
            )

        if not call.flag("follow"):
            return outcome_form(await self._running.run_turn(call, work))
        with self._switchboard.showing(call, message.chat, attended=attended):
            return outcome_form(await self._running.run_turn(call, work))

    async def _answer(self, call: Call) -> Mapping[str, Any]:
        number = call.number("ask") or 0
        self._switchboard.answer(call.connection, number, agreed=call.flag("agreed"))
        return {}

    async def _enqueue(self, call: Call) -> Mapping[str, Any]:
        """Keep a message that no person waits for; the reply goes to its conversation."""
        self._running.admit()
        source = call.text("source", "job")
        key = self._key(call)
        message = InboundMessage(
            channel=key.channel,
            chat=key.chat,
            thread=key.thread,
            sender="local",
            text=call.text("text"),
            external_id=call.text("external_id", ""),
        )
        caller = _at(local_caller(attended=False), key)
        receipt = await self._host.turns.receive(
            self._turn_options(call).marked(message),
            None,
            caller,
            source=_one_of(source, _SOURCES, "source"),
            background=call.flag("background", True),
        )
        return {
            "turn": receipt.ref.turn,
            "conversation": receipt.ref.key,
            "duplicate": receipt.duplicate,
        }

    async def _stop(self, call: Call) -> Mapping[str, Any]:
        return {"stopped": bool(await self._host.turns.stop(self._key(call)))}

    async def _confirm(self, call: Call) -> Mapping[str, Any]:
        grain = _one_of(call.text("grain", "once"), GRAINS, "grain")
        return await self._say(call, f"/confirm {call.text('token')} {grain}")

    async def _deny(self, call: Call) -> Mapping[str, Any]:
        return await self._say(call, f"/deny {call.text('token')}")

    async def _say(self, call: Call, text: str) -> Mapping[str, Any]:
        """Carry out a chat command in a conversation, and return what it says."""
        key = self._key(call)
        caller = _at(local_caller(attended=False, slash_commands=True), key)
        message = InboundMessage(
            channel=key.channel, chat=key.chat, thread=key.thread, sender="local", text=text
        )
        outcome = await self._host.turns.run(message, channel=_Silent(), caller=caller)
        return {"text": outcome.text, "status": outcome.status}

    async def _events(self, call: Call) -> Mapping[str, Any]:
        """Send events as they come, from a place on; the last frame tells where it ended."""
        conversation = call.text("conversation", "") or None
        reader = self._log.reader(conversation, call.number("after"))
        call.endless = follow = call.flag("follow", True)
        while True:
            missed, entries = reader.read()
            if missed is None or missed:
                call.put({"lost": missed})
            for entry in entries:
                call.put(entry_form(entry))
            if entries:
                await call.connection.calm()  # here a slow reader falls behind, and nobody waits
            elif follow:
                await reader.wait()
            else:
                return {"after": reader.after}

    async def _commands(self, call: Call) -> Mapping[str, Any]:
        return {"names": list(await self._own.command_names(self._caller(call)))}

    async def _tools(self, call: Call) -> Mapping[str, Any]:
        return {"names": list(await self._own.tool_names())}

    async def _tool(self, call: Call) -> Mapping[str, Any]:
        name = call.text("name")
        found: ToolFacts | None
        if call.flag("optional"):
            found = await self._own.find_tool(name, why_not=call.flag("why_not"))
        else:
            found = await self._own.tool(name)
        if found is None:
            return {"canonical": None, "parameters": {}}
        return {"canonical": found.canonical, "parameters": found.parameters}

    async def _call_tool(self, call: Call) -> Mapping[str, Any]:
        self._running.admit()
        stages = Stages()
        result = await self._host.call_tool(
            call.text("name"),
            call.value("arguments"),
            self._caller(call),
            trace=stages,
            agreed=call.texts("agreed") or (),
            folder=self._turn_options(call).folder,
        )
        answer = {"result": result_form(result)}
        return {**answer, "trace": stages.seen} if call.flag("trace") else answer

    async def _rescan(self, call: Call) -> Mapping[str, Any]:
        return await self._running.rescan()

    async def _reload(self, call: Call) -> Mapping[str, Any]:
        return await self._running.reload(call.text("rule", ""), call.text("subject", ""))

    async def _conversation(self, call: Call) -> Mapping[str, Any]:
        channel = call.text("channel", "") or None
        found = await self._host.sessions.named(call.text("name", ""), channel=channel)
        return {"conversation": asdict(found)}

    async def _fork(self, call: Call) -> Mapping[str, Any]:
        source = await self._host.sessions.named(call.text("conversation"))
        return {"conversation": asdict(await self._host.sessions.fork(source))}

    async def _delete(self, call: Call) -> Mapping[str, Any]:
        swept = await self._host.sessions.delete(call.text("conversation"))
        return {"blobs": None if swept is None else asdict(swept)}

    async def _delete_person(self, call: Call) -> Mapping[str, Any]:
        erased = await self._host.sessions.delete_person(call.text("sender"))
        rows = {**asdict(erased.rows), "blobs": sorted(erased.rows.blobs)}
        return {"rows": rows, "blobs": asdict(erased.blobs)}

    async def _prune(self, call: Call) -> Mapping[str, Any]:
        given = call.value("retention")
        if given is None:
            retention = Retention.of(self._host.config.section("store"))
        else:
            retention = _retention(given)
        done = await self._host.sessions.prune(retention)
        return {"turns": done.turns, "blobs": asdict(done.blobs)}

    async def _shutdown(self, call: Call) -> Mapping[str, Any]:
        self._running.shut_down("a command asked for it")
        return {}

    def _message(self, call: Call) -> InboundMessage:
        """Return what is to be answered; it always is a message of the terminal."""
        form = call.value("message")
        if form is None:
            chat = call.text("chat", "") or f"socket-{next(self._numbers)}-{self._log.seq}"
            return InboundMessage(
                channel=TERMINAL, chat=chat, sender="local", text=call.text("text")
            )
        try:
            message = INBOUND.read(form)
        except WireError as error:
            raise UsageError(f"message: {error.message}") from error
        if message.channel != TERMINAL:
            raise UsageError(f"A message of the channel {message.channel} can't come in here.")
        return message

    def _caller(self, call: Call) -> Caller:
        """Return whom a client acts for, with the tools that it names."""
        caller = caller_of(call.value("caller"))
        self._host.parts.agents.get(caller.agent)
        if caller.tools is None:
            return caller
        return replace(
            caller, tools=frozenset(self._host.tool(name).canonical for name in caller.tools)
        )

    def _turn_options(self, call: Call) -> TurnOptions:
        folder = call.text("folder", "")
        if folder and not Path(folder).is_absolute():
            raise UsageError("folder has to be an absolute path.")
        return TurnOptions(
            folder=Path(folder) if folder else None,
            provider=call.text("provider", ""),
            model=call.text("model", ""),
            effort=_one_of(call.text("effort", ""), _EFFORTS, "effort"),
        )

    def _key(self, call: Call) -> ConversationKey:
        text = call.text("conversation")
        try:
            return ConversationKey.read(text)
        except ValueError as error:
            raise UsageError(f"{error}.", fix="pegboard sessions list --json") from error


class _Silent:
    """A channel for chat commands whose words go back to who asked; implements `Channel`."""

    info = ChannelInfo(surface="api", local=True, live_reply=False, slash_commands=True)

    async def run(self, inbox: Inbox) -> None:
        """Wait: nothing comes in here."""
        await anyio.sleep_forever()

    async def send(self, message: OutboundMessage) -> Delivery:
        """Send nothing."""
        return Delivery()


def _at(caller: Caller, key: ConversationKey) -> Caller:
    return replace(caller, agent=key.agent)


def _retention(given: Any) -> Retention:
    """Return what a client says of how long things are kept.

    Raises:
        UsageError: When that is nothing of the kind.
    """
    names = {field.name for field in fields(Retention)}
    if not isinstance(given, Mapping) or set(given) - names:
        raise UsageError(f"retention has: {', '.join(sorted(names))}.")
    values = [value for value in given.values() if value is not None]
    if any(type(value) not in (int, float) or value < 0 for value in values):
        raise UsageError("retention holds numbers from 0 on.")
    return Retention(**given)


def _one_of(value: str, known: tuple[T, ...], name: str) -> T:
    for item in known:
        if item == value:
            return item
    raise UsageError(f"{name} has to be one of: {', '.join(map(str, known))}.")
