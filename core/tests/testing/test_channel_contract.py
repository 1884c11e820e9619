"""Each law of `ChannelContract` fails for a channel that breaks it."""

from __future__ import annotations

import asyncio
import inspect
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from pegboard import (
    Channel,
    ChannelInfo,
    Delivery,
    InboundMessage,
    Inbox,
    OutboundMessage,
    StreamEvent,
)
from pegboard.contracts.stream import TextStreamed
from pegboard.testing import ChannelContract

pytestmark = pytest.mark.anyio


class Memory:
    """A correct channel: lists in memory."""

    info = ChannelInfo(surface="chat", streaming=True, max_chars=300)

    def __init__(self) -> None:
        self.said: list[str] = []
        self.shown: list[str] = []
        self.drafts: list[str] = []
        self.ids = 0

    def message(self, text: str) -> InboundMessage:
        return InboundMessage(channel="memory", chat="1", sender="2", text=text)

    async def run(self, inbox: Inbox) -> None:
        while True:
            while self.said:
                await inbox.submit(self.message(self.said.pop(0)))
            await anyio.sleep(0.01)

    async def stream(self, chat: str, event: StreamEvent) -> None:
        if isinstance(event, TextStreamed):
            self.drafts.append(event.text)

    async def send(self, message: OutboundMessage) -> Delivery:
        limit = self.info.max_chars or len(message.text)
        pieces = [message.text[at : at + limit] for at in range(0, len(message.text), limit)]
        self.shown += pieces
        ids = [str(self.ids + number) for number in range(len(pieces))]
        self.ids += len(pieces)
        return Delivery(external_ids=tuple(ids))


class Suite(ChannelContract):
    made: type[Memory] = Memory

    def make_channel(self, folder: Path) -> Channel:
        return self.made()

    async def say(self, channel: Channel, text: str) -> None:
        assert isinstance(channel, Memory)
        channel.said.append(text)

    def sent(self, channel: Channel) -> list[str]:
        assert isinstance(channel, Memory)
        return channel.shown


class TestMemory(Suite):
    pass


class Kept(Memory):
    """A correct channel that keeps what it receives, and shows a message once."""

    info = replace(Memory.info, deduplicates=True)

    def __init__(self) -> None:
        super().__init__()
        self.ids_shown: dict[str, Delivery] = {}
        self.received = 0

    async def run(self, inbox: Inbox) -> None:
        while True:
            while self.said:
                self.received += 1
                message = replace(self.message(self.said.pop(0)), external_id=f"m{self.received}")
                first = await inbox.receive(message)
                again = await inbox.receive(message)  # as one does that heard nothing back
                assert (first.ref, again.duplicate) == (again.ref, True)
            await anyio.sleep(0.01)

    async def send(self, message: OutboundMessage) -> Delivery:
        if message.id not in self.ids_shown:
            delivery = await super().send(message)
            if not message.id:
                return delivery
            self.ids_shown[message.id] = delivery
        return self.ids_shown[message.id]

    async def typing(self, chat: str) -> None:
        self.drafts.append(f"{chat} ...")

    def takes(self, chat: str) -> bool:
        return chat == "1"


class TestKept(Suite):
    made = Kept


class OddSurface(Memory):
    info = replace(Memory.info, surface="window")


class NoLength(Memory):
    info = replace(Memory.info, max_chars=0)


class Nameless(Memory):
    def message(self, text: str) -> InboundMessage:
        return replace(super().message(text), sender="")


class Changing(Memory):
    def message(self, text: str) -> InboundMessage:
        return replace(super().message(text), text=text.upper())


class Silent(Memory):
    async def send(self, message: OutboundMessage) -> Delivery:
        return Delivery()


class Backwards(Memory):
    async def run(self, inbox: Inbox) -> None:
        await anyio.sleep(0.05)
        self.said.reverse()
        await super().run(inbox)


class Fragile(Memory):
    async def run(self, inbox: Inbox) -> None:
        while True:
            while self.said:
                outcome = await inbox.submit(self.message(self.said.pop(0)))
                if outcome.error:
                    raise RuntimeError(outcome.error["message"])
            await anyio.sleep(0.01)


class Leaving(Memory):
    async def run(self, inbox: Inbox) -> None:
        LEFT.append(asyncio.create_task(asyncio.sleep(60)))
        await super().run(inbox)


LEFT: list[asyncio.Task[None]] = []


class Once(Memory):
    runs = 0

    async def run(self, inbox: Inbox) -> None:
        self.runs += 1
        if self.runs > 1:
            raise RuntimeError("it ran already")
        await super().run(inbox)


class Ascii(Memory):
    async def send(self, message: OutboundMessage) -> Delivery:
        return await super().send(replace(message, text=ascii(message.text)))


class OneId(Memory):
    async def send(self, message: OutboundMessage) -> Delivery:
        await super().send(message)
        return Delivery(external_ids=("1",))


class Cutting(Memory):
    async def send(self, message: OutboundMessage) -> Delivery:
        return await super().send(replace(message, text=message.text[:300]))


class Whole(Memory):
    async def send(self, message: OutboundMessage) -> Delivery:
        self.shown.append(message.text)
        return Delivery()


class Choosy(Memory):
    async def stream(self, chat: str, event: StreamEvent) -> None:
        if event.type not in ("text", "turn_started", "turn_finished", "step_started"):
            raise ValueError(event.type)


class Forgetful(Kept):
    async def send(self, message: OutboundMessage) -> Delivery:
        return await Memory.send(self, message)


class Deaf(Kept):
    async def send(self, message: OutboundMessage) -> Delivery:
        return await super().send(replace(message, id="the same"))


class Loud(Kept):
    async def typing(self, chat: str) -> None:
        await self.send(OutboundMessage(chat=chat, text="I am writing"))


class Vague(Kept):
    def takes(self, chat: str) -> bool:
        return None  # type: ignore[return-value]


BREAKS: list[tuple[str, type[Memory]]] = [
    ("its_facts_are_complete", OddSurface),
    ("its_facts_are_complete", NoLength),
    ("a_message_is_handed_in_and_answered", Nameless),
    ("a_message_is_handed_in_and_answered", Changing),
    ("a_message_is_handed_in_and_answered", Silent),
    ("messages_keep_their_order", Backwards),
    ("a_failed_turn_does_not_end_it", Fragile),
    ("it_ends_when_it_is_cancelled", Leaving),
    ("it_runs_again", Once),
    ("every_character_is_delivered", Ascii),
    ("every_character_is_delivered", OneId),
    ("a_long_text_is_delivered_whole", Cutting),
    ("a_long_text_is_delivered_whole", Whole),
    ("every_event_can_be_streamed", Choosy),
    ("a_message_sent_again_is_delivered_once_where_it_says_so", Forgetful),
    ("a_message_sent_again_is_delivered_once_where_it_says_so", Deaf),
    ("that_an_answer_is_coming_can_be_shown", Loud),
    ("that_an_answer_is_coming_can_be_shown", Vague),
]


@pytest.mark.parametrize(("law", "broken"), BREAKS)
async def test_a_broken_channel_fails_the_law(
    law: str, broken: type[Memory], tmp_path: Path
) -> None:
    class Broken(Suite):
        made = broken

    with pytest.raises((AssertionError, ValueError, ExceptionGroup)):
        await getattr(Broken(), f"test_{law}")(tmp_path)
    for task in LEFT:
        task.cancel()
    LEFT.clear()


def test_every_law_is_seen_to_fail() -> None:
    laws = {
        name.removeprefix("test_")
        for name, _ in inspect.getmembers(ChannelContract, inspect.isfunction)
        if name.startswith("test_")
    }
    assert laws == {law for law, _ in BREAKS}
