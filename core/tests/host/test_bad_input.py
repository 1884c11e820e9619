"""What a whole host makes of bad input: redelivery, hostile results, a full disk."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from pegboard import Plugin
from pegboard.contracts.channel import ChannelInfo, Delivery, Inbox
from pegboard.contracts.errors import StoreError
from pegboard.contracts.message import InboundMessage, OutboundMessage
from pegboard.testing import Call, HostFactory, ScriptedModel
from pegboard.testing.host import HostUnderTest

pytestmark = pytest.mark.anyio
LARGE = 50_000_000
RESULTS = {"odd": "half \udcff, nul \x00, end", "large": "x" * LARGE}


class Mail:
    """A channel whose messages a test hands in."""

    def __init__(self) -> None:
        self.info = ChannelInfo(surface="chat", local=True)
        self.sent: list[str] = []
        self.inbox: Inbox | None = None

    async def run(self, inbox: Inbox) -> None:
        self.inbox = inbox
        await anyio.sleep_forever()

    async def send(self, message: OutboundMessage) -> Delivery:
        self.sent.append(message.text)
        return Delivery(external_ids=(str(len(self.sent)),))

    async def receive(self, text: str) -> Any:
        with anyio.fail_after(10):
            while self.inbox is None:
                await anyio.sleep(0.001)
        return await self.inbox.receive(
            InboundMessage(channel="mail", chat="1", sender="me", text=text, external_id=text)
        )


def plugin(ran: list[str]) -> Plugin:
    made = Plugin(summary="Returns what it is told")

    @made.tool(effects={"read"}, outside=False)
    async def give(what: str) -> str:
        """Give something."""
        ran.append(what)
        return RESULTS.get(what, what)

    return made


async def idle(world: HostUnderTest, mail: Mail, count: int) -> None:
    """Wait until so many replies were sent and every turn has ended."""
    store = world.host.parts.store
    with anyio.fail_after(60):
        while len(mail.sent) < count or await store.open_turns():
            await anyio.sleep(0.005)


async def test_a_message_that_comes_five_times_at_once_is_answered_once(host: HostFactory) -> None:
    mail, ran, receipts = Mail(), [], []
    model = ScriptedModel([Call("give", what="7"), "Seven."])

    async def deliver() -> None:
        receipts.append(await mail.receive("first"))

    async with (
        host(inline={"desk": plugin(ran)}, model=model) as world,
        anyio.create_task_group() as group,
    ):
        group.start_soon(world.host.run_channel, mail)
        async with anyio.create_task_group() as deliveries:
            for _ in range(5):
                deliveries.start_soon(deliver)
        await idle(world, mail, 1)
        await deliver()  # and once more when it is over
        await idle(world, mail, 1)
        group.cancel_scope.cancel()
    assert len({receipt.ref.turn for receipt in receipts}) == 1
    assert [receipt.duplicate for receipt in receipts].count(False) == 1
    assert (mail.sent, ran) == (["Seven."], ["7"])


@pytest.mark.parametrize("what", RESULTS)
async def test_a_turn_survives_whatever_a_tool_returns(host: HostFactory, what: str) -> None:
    mail, ran = Mail(), []
    model = ScriptedModel([Call("give", what=what), "Done.", "And on."])
    async with (
        host(inline={"desk": plugin(ran)}, model=model) as world,
        anyio.create_task_group() as group,
    ):
        group.start_soon(world.host.run_channel, mail)
        await mail.receive("first")
        await idle(world, mail, 1)
        await mail.receive("second")  # the history can be read again
        await idle(world, mail, 2)
        group.cancel_scope.cancel()
    assert mail.sent == ["Done.", "And on."]
    told = model.requests[1].messages[-1].results[0].text
    told.encode()  # no half character goes to a model
    assert 10 < len(told) < 200_000
    again = [m for m in model.requests[2].messages if m.role == "tool"][-1].results[0].text
    assert again == told


async def test_on_a_full_disk_nothing_is_acknowledged_and_later_it_works_again(
    host: HostFactory,
) -> None:
    mail = Mail()
    model = ScriptedModel(["One.", "Two."])
    async with (
        host(inline={"desk": plugin([])}, model=model) as world,
        anyio.create_task_group() as group,
    ):
        group.start_soon(world.host.run_channel, mail)
        await mail.receive("first")
        await idle(world, mail, 1)
        database = world.host.parts.database

        async def pages(most: int) -> None:
            await database.write(lambda c: c.execute(f"PRAGMA max_page_count={most}").fetchall())

        await pages(1)  # no more than it has now
        with pytest.raises(StoreError, match="disk is full"):
            await mail.receive("x" * 100_000)
        assert await world.host.parts.store.open_turns() == []
        await pages(1 << 30)
        await mail.receive("second")
        await idle(world, mail, 2)
        group.cancel_scope.cancel()
    assert mail.sent == ["One.", "Two."]
    assert [m.text for m in model.requests[1].messages if m.role == "user"] == ["first", "second"]
