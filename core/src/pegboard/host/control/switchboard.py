"""Leads what happens in the chats of the terminal to the clients that show them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

import anyio

from pegboard.contracts.channel import ChannelInfo, Delivery, Inbox
from pegboard.contracts.errors import PegboardError, UsageError
from pegboard.contracts.message import OutboundMessage
from pegboard.contracts.stream import StreamEvent
from pegboard.contracts.wire import OUTBOUND
from pegboard.conversations.key import ConversationKey
from pegboard.host.control.connection import Call, Connection
from pegboard.host.event_log import Entry
from pegboard.host.session_admin import TERMINAL

NOBODY: Final = ChannelInfo(
    surface="terminal",
    local=True,
    attended=False,
    live_reply=False,
    slash_commands=True,
    streaming=True,
    retract=True,  # who opens the chat is a terminal
)
"""What can be done where no client shows a chat: its replies are kept in the conversation."""
_MOST_KEYS: Final = 4_096


class NobodyThere(PegboardError):
    """No client that could answer shows the chat."""

    code = "nobody_there"


@dataclass(slots=True, eq=False)
class Client:
    """A client that shows a chat.

    Args:
        call: The request by which it does.
        chat: The chat.
        attended: True when a person is there to answer a question.
    """

    call: Call
    chat: str
    attended: bool
    gone: anyio.Event = field(default_factory=anyio.Event)


@dataclass(slots=True, eq=False)
class _Question:
    connection: Connection
    agreed: bool | None = None
    answered: anyio.Event = field(default_factory=anyio.Event)


class Switchboard:
    """Knows which clients show which chats."""

    def __init__(self) -> None:
        self._clients: dict[str, list[Client]] = {}
        self._questions: dict[int, _Question] = {}
        self._numbers = itertools.count(1)
        self._chats: dict[str, str] = {}

    @contextmanager
    def showing(self, call: Call, chat: str, *, attended: bool) -> Iterator[Client]:
        """Let a client show a chat for the time of the block."""
        client = Client(call, chat, attended)
        self._clients.setdefault(chat, []).append(client)
        try:
            yield client
        finally:
            client.gone.set()
            shown = self._clients[chat]
            shown.remove(client)
            if not shown:
                del self._clients[chat]

    def show(self, entry: Entry) -> None:
        """Send an event to those who show its chat."""
        clients = self._clients.get(self._chat(entry.key))
        for client in clients or ():
            client.call.put(entry_form(entry), droppable=True)

    def send(self, message: OutboundMessage) -> None:
        """Send a reply to those who show its chat."""
        for client in self._clients.get(message.chat, ()):
            client.call.put({"send": OUTBOUND.write(message)})

    async def ask(self, chat: str, question: str) -> bool:
        """Put a yes/no question to a person who is at a chat; to another one when they leave.

        Raises:
            NobodyThere: When there is none.
        """
        while True:
            there = [client for client in self._clients.get(chat, ()) if client.attended]
            if not there:
                raise NobodyThere("Nobody is there to answer.")
            answer = await self._put(there[-1], question)
            if answer is not None:
                return answer

    def answer(self, connection: Connection, number: int, *, agreed: bool) -> None:
        """Take the answer of a client.

        Raises:
            UsageError: When it was not asked that.
        """
        question = self._questions.get(number)
        if question is None or question.connection is not connection:
            raise UsageError(f"There is no open question {number}.")
        question.agreed = agreed
        question.answered.set()

    async def _put(self, client: Client, text: str) -> bool | None:
        """Return the answer of one client; None when it left without any."""
        number = next(self._numbers)
        question = self._questions[number] = _Question(client.call.connection)
        client.call.put({"ask": number, "question": text})
        try:
            async with anyio.create_task_group() as group:

                async def left() -> None:
                    await client.gone.wait()
                    question.answered.set()

                group.start_soon(left)
                await question.answered.wait()
                group.cancel_scope.cancel()
            return question.agreed
        finally:
            del self._questions[number]
            if question.agreed is None:  # too late, or somebody stopped the turn
                client.call.put({"asked": number})

    def _chat(self, key: str) -> str:
        """Return the chat of a conversation of the terminal, or ""."""
        chat = self._chats.get(key)
        if chat is None:
            try:
                read = ConversationKey.read(key)
            except ValueError:
                return ""
            chat = read.chat if read.channel == TERMINAL else ""
            if len(self._chats) >= _MOST_KEYS:
                self._chats.clear()
            self._chats[key] = chat
        return chat


class ClientChannel:
    """The chats of the terminal as a channel of the host; implements `Channel`.

    Events reach clients from the event log, which numbers them.

    Args:
        switchboard: Where the clients are.
        info: What the client can do that a turn is from.
    """

    def __init__(self, switchboard: Switchboard, info: ChannelInfo = NOBODY) -> None:
        self.info = info
        self._switchboard = switchboard

    async def run(self, inbox: Inbox) -> None:
        """Wait: messages come through the socket."""
        await anyio.sleep_forever()

    async def stream(self, chat: str, event: StreamEvent) -> None:
        """Show nothing: the event log does."""

    async def send(self, message: OutboundMessage) -> Delivery:
        """Send a reply to whoever shows the chat; it is kept in the conversation in any case."""
        self._switchboard.send(message)
        return Delivery()

    async def ask(self, chat: str, question: str) -> bool:
        """Put a question to a person who is at the chat.

        Raises:
            NobodyThere: When there is none.
        """
        return await self._switchboard.ask(chat, question)


def entry_form(entry: Entry) -> dict[str, object]:
    """Return an event as it is sent."""
    return {
        "event": entry.event.to_dict(),
        "seq": entry.seq,
        "number": entry.number,
        "at": entry.at,
        "conversation": entry.key,
        "turn": entry.turn,
    }
