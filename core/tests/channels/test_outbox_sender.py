from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from pegboard.channels import outbox_sender
from pegboard.channels.outbox_sender import OutboxSender, Sending, external_ids, pieces
from pegboard.contracts.blob import BlobRef
from pegboard.contracts.channel import ChannelInfo, Delivery, DeliveryError, Inbox
from pegboard.contracts.message import Attachment, OutboundMessage
from pegboard.contracts.result import File
from pegboard.contracts.turn import Begun, Incoming, OutboxPart
from pegboard.contracts.wire import OUTBOUND
from pegboard.store.embedded import EmbeddedStore, open_store
from pegboard.testing.clock import FakeClock

pytestmark = pytest.mark.anyio
KEY = "chat/1"


class Line:
    """A channel whose messages come to what a test says, then to nothing bad."""

    def __init__(self, *outcomes: Any, **info: Any) -> None:
        self.info = ChannelInfo(surface="chat", **info)
        self.outcomes = list(outcomes)
        self.tried: list[OutboundMessage] = []
        self.sent: list[str] = []
        self.during: Callable[[], Any] | None = None

    async def run(self, inbox: Inbox) -> None:
        """Receive nothing."""

    async def send(self, message: OutboundMessage) -> Delivery:
        self.tried.append(message)
        if self.during is not None:
            await self.during()
        outcome = self.outcomes.pop(0) if self.outcomes else None
        if isinstance(outcome, BaseException):
            raise outcome
        self.sent.append(message.text)
        return Delivery(external_ids=(f"x{len(self.sent)}",))


class World:
    """A store with a turn whose reply is written, and a sender."""

    def __init__(self, store: EmbeddedStore) -> None:
        self.store = store
        self.clock = FakeClock(auto=True)
        self.sender = OutboxSender(store, self.clock)

    async def reply(self, *texts: str) -> None:
        """Begin a turn and write its reply."""
        incoming = Incoming(turn="t", key=KEY, channel="c", chat="1", message={}, caller={}, at=1.0)
        await self.store.ingest(incoming)
        begun = await self.begin()
        parts = [OutboundMessage(chat="1", text=text, id=f"t:{n}") for n, text in enumerate(texts)]
        forms = [OUTBOUND.write(part) for part in parts]
        await self.store.reply("t", begun.turn.fence, forms, now=1.0)

    async def begin(self) -> Begun:
        begun = await self.store.begin("t", now=1.0, max_attempts=9)
        assert isinstance(begun, Begun)
        self.fence = begun.turn.fence
        return begun

    async def parts(self) -> tuple[OutboxPart, ...]:
        begun = await self.store.begun("t")
        assert begun is not None
        return begun.outbox

    async def states(self) -> list[str]:
        return [part.state for part in await self.parts()]

    async def send(self, line: Line, **facts: Any) -> Sending:
        with anyio.fail_after(5):
            return await self.sender.send(self.fence, await self.parts(), line, **facts)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def world(tmp_path: Path, anyio_backend: str) -> AsyncIterator[World]:
    store = await open_store(tmp_path)
    yield World(store)
    await store.aclose()


async def test_parts_are_sent_in_order_and_marked_before_and_after(world: World) -> None:
    await world.reply("one", "two")
    line, seen = Line(), []

    async def look() -> None:
        seen.append(await world.states())

    line.during = look
    assert await world.send(line) == Sending("sent")
    assert line.sent == ["one", "two"]
    assert seen == [["sending", "pending"], ["sent", "sending"]]
    assert [part.external_ids for part in await world.parts()] == [("x1",), ("x2",)]
    assert [message.id for message in line.tried] == ["t:0", "t:1"]


async def test_what_was_sent_is_not_sent_again(world: World) -> None:
    await world.reply("one", "two")
    await world.send(Line())
    line = Line()
    assert await world.send(line) == Sending("sent")
    assert line.tried == []


async def test_a_channel_that_can_not_now_is_asked_again(world: World) -> None:
    await world.reply("one")
    busy = DeliveryError("Too many messages.", kind="retry", retry_after=3)
    line = Line(busy, busy)
    assert await world.send(line) == Sending("sent")
    assert (len(line.tried), line.sent) == (3, ["one"])
    assert world.clock.slept == [3, 3]


async def test_a_channel_that_can_not_for_long_puts_the_reply_off(world: World) -> None:
    await world.reply("one", "two")
    line = Line(*[DeliveryError("No network.", kind="retry")] * 9)
    unsent: set[int] = set()
    sending = await world.send(line, unsent=unsent)
    assert (sending.ending, sending.reason, unsent) == ("put_off", "No network.", {0})
    assert len(line.tried) == 1 + len(outbox_sender.RETRIES_S)
    # it is marked as being sent, and known not to have been: so it is sent, and once
    line = Line()
    assert (await world.send(line, unsent=unsent)).ending == "sent"
    assert (line.sent, unsent) == (["one", "two"], set())


async def test_a_channel_that_asks_for_more_time_than_one_may_wait_gets_it_later(
    world: World,
) -> None:
    await world.reply("one")
    line = Line(DeliveryError("Too many messages.", kind="retry", retry_after=600))
    sending = await world.send(line)
    assert (sending.ending, sending.after_s, len(line.tried)) == ("put_off", 600, 1)


async def test_what_can_never_be_delivered_is_tried_once(world: World) -> None:
    await world.reply("one", "two")
    line = Line(DeliveryError("The chat is gone.", kind="gone"))
    assert await world.send(line) == Sending("failed", "The chat is gone.")
    assert len(line.tried) == 1


async def test_what_can_never_be_delivered_is_not_tried_by_another_attempt(world: World) -> None:
    await world.reply("one", "two")
    gone = DeliveryError("The chat is closed.", kind="gone")
    assert (await world.send(Line(gone))).ending == "failed"
    assert await world.states() == ["failed", "pending"]
    await world.store.release("t", world.fence)
    await world.begin()
    line = Line(deduplicates=True)
    assert (await world.send(line)).ending == "failed"
    assert (line.tried, await world.states()) == ([], ["failed", "pending"])
    assert await world.store.doubtful() == []


@pytest.mark.parametrize("error", [DeliveryError("Cut off."), ConnectionError("Cut off.")])
async def test_what_nobody_knows_of_is_in_doubt_and_the_rest_follows(
    world: World, error: Exception
) -> None:
    await world.reply("one", "two")
    line = Line(error)
    sending = await world.send(line)
    assert sending.ending == "in_doubt"
    assert "Cut off." in sending.reason
    assert (line.sent, await world.states()) == (["two"], ["in_doubt", "sent"])
    assert [part.part for part in await world.store.doubtful(KEY)] == [0]


async def test_where_twice_does_no_harm_what_nobody_knows_of_is_sent_again(world: World) -> None:
    await world.reply("one")
    line = Line(ConnectionError("Cut off."), deduplicates=True)
    assert (await world.send(line)).ending == "sent"
    assert [message.id for message in line.tried] == ["t:0", "t:0"]


async def test_a_part_during_which_the_host_ended_is_in_doubt(world: World) -> None:
    await world.reply("one", "two")
    await world.store.sending("t", world.fence, 0, now=1.0)
    line = Line()
    assert (await world.send(line)).ending == "in_doubt"
    assert (line.sent, await world.states()) == (["two"], ["in_doubt", "sent"])


async def test_a_part_during_which_the_host_ended_is_sent_where_twice_does_no_harm(
    world: World,
) -> None:
    await world.reply("one", "two")
    await world.store.sending("t", world.fence, 0, now=1.0)
    line = Line(deduplicates=True)
    assert (await world.send(line)).ending == "sent"
    assert line.sent == ["one", "two"]


async def test_what_was_stopped_between_two_parts_is_not_sent_on(world: World) -> None:
    await world.reply("one", "two")
    line = Line()

    async def stop() -> None:
        await world.store.ask_to_stop(KEY)

    line.during = stop
    assert (await world.send(line)).ending == "stale"
    assert (line.sent, await world.states()) == (["one"], ["sent", "stale"])


async def test_another_attempt_has_the_word(world: World) -> None:
    await world.reply("one")
    old = world.fence
    await world.store.release("t", old)
    await world.begin()
    line = Line()
    sending = await world.sender.send(old, await world.parts(), line)
    assert (sending.ending, line.tried) == ("stale", [])


async def test_stopping_while_a_channel_is_waited_for_ends_it_at_once(world: World) -> None:
    await world.reply("one")
    line = Line()
    line.during = anyio.sleep_forever
    with anyio.move_on_after(0.05) as scope:
        await world.send(line)
    assert scope.cancelled_caught
    assert await world.states() == ["sending"]


async def test_a_channel_that_never_answers_leaves_it_in_doubt(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox_sender, "SEND_S", 0.02)
    await world.reply("one")
    line = Line()
    line.during = anyio.sleep_forever
    assert (await world.send(line)).ending == "in_doubt"


async def test_what_was_sent_is_written_though_one_is_stopped_then(world: World) -> None:
    await world.reply("one")
    line = Line()
    with anyio.CancelScope() as scope:

        async def stop() -> None:
            scope.cancel()

        line.during = stop
        await world.send(line)
    assert await world.states() == ["sent"]


def test_a_long_reply_becomes_messages_with_ids_of_their_own() -> None:
    attachment = Attachment(part=File(BlobRef("b", "text/plain", 1)))
    message = OutboundMessage(
        chat="1", text="word " * 50, attachments=(attachment,), in_reply_to="m"
    )
    parts = pieces(message, 60, "turn")
    assert len(parts) > 3
    assert [part.id for part in parts] == [f"turn:{n}" for n in range(len(parts))]
    assert [bool(part.attachments) for part in parts] == [False] * (len(parts) - 1) + [True]
    assert {part.in_reply_to for part in parts} == {"m"}
    assert len(pieces(OutboundMessage(chat="1", text=""), None, "turn")) == 1


@pytest.mark.parametrize("answer", [None, "ok", Delivery(), Delivery(external_ids=[1])])  # type: ignore[arg-type]
def test_whatever_a_channel_returns_the_message_was_sent(answer: Any) -> None:
    assert all(isinstance(item, str) for item in external_ids(answer))
