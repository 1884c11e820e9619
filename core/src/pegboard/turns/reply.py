"""The person at the other end of a channel, while a turn runs."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from typing import Final

import anyio

from pegboard.channels.chunking import split
from pegboard.channels.outbox_sender import external_ids
from pegboard.contracts.channel import Channel, Delivery, Emit
from pegboard.contracts.message import InboundMessage, OutboundMessage
from pegboard.contracts.stream import Noticed, StreamEvent
from pegboard.plugins.building.isolation import one_line

ASK_TIMEOUT_S: Final = 60.0
Noted = Callable[[int, Delivery], Awaitable[None]]
"""Writes down that a message was sent: `noted(its number, what the channel said)`."""
_log = logging.getLogger(__name__)


class ChannelReply:
    """Sends to the chat that a message came from, and asks there; implements `Reply`.

    Args:
        channel: The channel.
        message: The message that is answered.
        present: True when a person is there to answer a question.
        ask_timeout_s: Seconds to wait for an answer; silence is a no.
        sent: Messages that earlier attempts of the turn have sent.
        noted: Writes down that another one was, or None.

    Attributes:
        sent: Messages sent so far beside the reply; notices of the host are none.
    """

    def __init__(
        self,
        channel: Channel,
        message: InboundMessage,
        *,
        present: bool = False,
        ask_timeout_s: float = ASK_TIMEOUT_S,
        sent: int = 0,
        noted: Noted | None = None,
    ) -> None:
        self.sent = sent
        self._noted = noted
        self._channel = channel
        self._message = message
        self._present = present
        self._ask_timeout_s = ask_timeout_s

    def message(self, text: str) -> OutboundMessage:
        """Return a reply that says `text`."""
        message = self._message
        return OutboundMessage(
            chat=message.chat, thread=message.thread, text=text, in_reply_to=message.external_id
        )

    async def send(self, message: OutboundMessage) -> None:
        """Send to this chat, whatever chat the message names."""
        went: list[Delivery] = []
        try:
            await self._send_pieces(message, went)
        finally:
            if went:  # also a part of it has reached the person
                self.sent += 1
                if self._noted is not None:
                    with anyio.CancelScope(shield=True):  # it is a fact now
                        await self._noted(self.sent, _joined(went))

    async def deliver(self, message: OutboundMessage) -> Delivery:
        """Send what is no answer of the agent, in pieces where the channel needs it.

        Attachments go with the last piece.
        """
        went: list[Delivery] = []
        await self._send_pieces(message, went)
        return _joined(went)

    async def _send_pieces(self, message: OutboundMessage, went: list[Delivery]) -> None:
        own = replace(message, chat=self._message.chat, thread=self._message.thread)
        pieces = split(own.text, self._channel.info.max_chars)
        for number, piece in enumerate(pieces, 1):
            attachments = own.attachments if number == len(pieces) else ()
            part = replace(own, text=piece, attachments=attachments)
            went.append(await self._channel.send(part))

    @property
    def shows_events(self) -> bool:
        """True when the channel shows events, so that it learns of a failure from them."""
        return self._channel.info.streaming and callable(getattr(self._channel, "stream", None))

    @property
    def retracts(self) -> bool:
        """True when text of a running turn is not shown, or can be taken back."""
        return self._channel.info.retract or not callable(getattr(self._channel, "stream", None))

    @property
    def can_ask(self) -> bool:
        """True when somebody is there and the channel can put a question."""
        return self._present and callable(getattr(self._channel, "ask", None))

    async def ask(self, question: str) -> bool:
        """Put a yes/no question and return the answer; False when nobody answers."""
        if not self.can_ask:
            return False
        put: Callable[[str, str], Awaitable[bool]] = self._channel.ask  # type: ignore[attr-defined]
        with anyio.move_on_after(self._ask_timeout_s):
            return bool(await put(self._message.chat, question))
        return False


def _joined(went: Iterable[Delivery]) -> Delivery:
    return Delivery(external_ids=tuple(id for one in went for id in external_ids(one)))


def masked(emit: Emit, redact: Callable[[str], str]) -> Emit:
    """Return what passes events on with no secret in a notice: it may quote what a plugin said."""

    async def show(event: StreamEvent) -> None:
        if isinstance(event, Noticed):
            event = replace(event, text=redact(event.text))
        await emit(event)

    return show


def emitter(
    channel: Channel,
    chat: str,
    sinks: Iterable[Emit] = (),
    watch: Callable[[StreamEvent], None] | None = None,
) -> Emit:
    """Return what takes the events of a turn: the channel's `stream`, if it has one, and `sinks`.

    A sink that fails is dropped for the rest of the turn: showing a turn must not break it.

    Args:
        channel: The channel.
        chat: The chat that is answered.
        sinks: Who else is told; read anew for every event, since more may come.
        watch: Told first, or None.
    """
    stream: Callable[[str, StreamEvent], Awaitable[None]] | None = getattr(channel, "stream", None)
    failed: set[Emit] = set()

    async def note(event: StreamEvent) -> None:
        if watch is not None:
            watch(event)

    async def show(event: StreamEvent) -> None:
        if stream is not None:
            await stream(chat, event)

    async def emit(event: StreamEvent) -> None:
        for sink in (note, show, *sinks):
            if sink in failed:
                continue
            try:
                await sink(event)
            except Exception as error:
                _log.warning("a channel failed to show an event: %s", one_line(error))
                _log.info("a channel is shown no further events", exc_info=error)
                failed.add(sink)

    return emit
