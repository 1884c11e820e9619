"""An inbox for tests of channels: it keeps what is handed in and answers as the host does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import anyio

from pegboard.contracts.caller import Caller
from pegboard.contracts.channel import Channel, TurnOutcome
from pegboard.contracts.message import InboundMessage, OutboundMessage
from pegboard.contracts.stream import StepStarted, TextStreamed, TurnFinished, TurnStarted
from pegboard.contracts.turn import Receipt, TurnRef

Answering = Callable[[InboundMessage], TurnOutcome]


class RecordingInbox:
    """An `Inbox` that streams and sends an answer to each message, and keeps both.

    Args:
        channel: The channel under test; its `stream` and `send` are called on the way.
        answer: Makes the outcome of a message; by default it says back what came in.

    Attributes:
        messages: What was handed in, in order.
        outcomes: What was answered, in order.
    """

    def __init__(self, channel: Channel, answer: Answering | None = None) -> None:
        self.messages: list[InboundMessage] = []
        self.outcomes: list[TurnOutcome] = []
        self._channel = channel
        self._answer = answer or (
            lambda message: TurnOutcome(text=f"heard {message.text}", steps=1)
        )
        self._changed = anyio.Event()

    async def receive(self, message: InboundMessage) -> Receipt:
        """Keep a message and answer it; one that came in before is answered already."""
        key = f"{message.channel}/{message.chat}"
        for place, earlier in enumerate(self.messages, 1):
            if message.external_id and _same(message, earlier):
                return Receipt(
                    ref=TurnRef(turn=f"turn-{place}", key=key, seq=place), duplicate=True
                )
        await self.submit(message)
        place = len(self.messages)
        return Receipt(ref=TurnRef(turn=f"turn-{place}", key=key, seq=place))

    async def submit(self, message: InboundMessage) -> TurnOutcome:
        """Answer a message."""
        self.messages.append(message)
        outcome = self._answer(message)
        stream = getattr(self._channel, "stream", None)
        if self._channel.info.streaming and stream is not None:
            for event in _turn(outcome):
                await stream(message.chat, event)
        if outcome.text:
            await self._channel.send(
                OutboundMessage(chat=message.chat, text=outcome.text, thread=message.thread)
            )
        self.outcomes.append(outcome)
        self._changed.set()
        return outcome

    def caller(self, message: InboundMessage) -> Caller:
        """Return the narrowest caller: a test of a channel grants nothing."""
        return Caller(channel=message.channel, sender=message.sender)

    async def wait(self, count: int) -> Sequence[InboundMessage]:
        """Return the messages as soon as `count` of them were answered."""
        while len(self.outcomes) < count:
            await self._changed.wait()
            self._changed = anyio.Event()
        return self.messages


def _same(one: InboundMessage, other: InboundMessage) -> bool:
    return (one.channel, one.chat, one.external_id) == (
        other.channel,
        other.chat,
        other.external_id,
    )


def _turn(outcome: TurnOutcome) -> list[Any]:
    usage = outcome.usage.to_dict()
    return [
        TurnStarted(turn="turn-1", provider="scripted", model="scripted", trust="guest"),
        StepStarted(step=1),
        TextStreamed(text=outcome.text),
        TurnFinished(
            turn="turn-1",
            status=outcome.status,
            text=outcome.text,
            steps=outcome.steps,
            usage=usage,
            error=outcome.error,
        ),
    ]
