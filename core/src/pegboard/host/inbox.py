"""The door through which a channel hands in messages."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import replace
from typing import Protocol

from pegboard.contracts.caller import Caller
from pegboard.contracts.channel import Channel, TurnOutcome
from pegboard.contracts.message import InboundMessage
from pegboard.contracts.turn import Receipt
from pegboard.host.ingress import Ingress


class Doors(Protocol):
    """What a host does with a message."""

    def submit(
        self, message: InboundMessage, channel: Channel, *, caller: Caller | None = None
    ) -> Awaitable[TurnOutcome]:
        """Run its turn; a sender who gets no turn is answered with the status `ignored`."""
        ...

    def receive(
        self, message: InboundMessage, channel: Channel, *, caller: Caller | None = None
    ) -> Awaitable[Receipt]:
        """Keep it; a sender who gets no turn gets the receipt of none."""
        ...


class ChannelInbox:
    """The inbox of one channel instance; implements `Inbox`.

    Args:
        doors: Keeps messages and runs turns.
        ingress: Says who a sender is.
        channel: The channel.
        name: Its instance name; messages carry it whatever they claim.
        caller: The identity of every sender, or None to stamp each from the channel.
    """

    def __init__(
        self,
        doors: Doors,
        ingress: Ingress,
        channel: Channel,
        name: str,
        caller: Caller | None = None,
    ) -> None:
        self._doors = doors
        self._ingress = ingress
        self._channel = channel
        self._name = name
        self._caller = caller

    async def receive(self, message: InboundMessage) -> Receipt:
        """Keep `message`: its turn is run now, or after the host was started again."""
        return await self._doors.receive(self._own(message), self._channel, caller=self._caller)

    async def submit(self, message: InboundMessage) -> TurnOutcome:
        """Run the turn that answers `message`."""
        return await self._doors.submit(self._own(message), self._channel, caller=self._caller)

    def caller(self, message: InboundMessage) -> Caller:
        """Return the identity of the sender of `message`."""
        return self._caller or self._ingress.caller(self._channel.info, self._own(message))

    def _own(self, message: InboundMessage) -> InboundMessage:
        return message if message.channel == self._name else replace(message, channel=self._name)
