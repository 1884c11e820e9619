"""Limits where messages come in: a guest is turned away, an operator's turn waits."""

from __future__ import annotations

import json
from contextlib import closing

import anyio
import pytest

from pegboard import ChannelInfo, Delivery, InboundMessage, Plugin, RunSpec, ToolContext
from pegboard.contracts.spending import Spending
from pegboard.store.audit_log import records
from pegboard.store.sqlite import FILE_NAME, open_for_reading
from pegboard.testing import Call, FakeClock, ScriptedModel

pytestmark = pytest.mark.anyio


class Chat:
    """A channel that hands in what a test says, and keeps what it is told to send."""

    def __init__(self):
        self.info = ChannelInfo(surface="chat", slash_commands=True)
        self.sent = []
        self.inbox = None
        self.open = anyio.Event()

    async def run(self, inbox):
        self.inbox = inbox
        self.open.set()
        await anyio.sleep_forever()

    async def send(self, message):
        self.sent.append(message)
        return Delivery()

    @property
    def texts(self):
        return [message.text for message in self.sent]


def said(sender, number, text="hello"):
    return InboundMessage(
        channel="work", chat=f"chat {sender}", sender=sender, text=text, external_id=str(number)
    )


CONFIG = {
    "channels.work.type": "chatter",
    "channels.work.guests": True,
    "policy.senders": {"1": "operator"},
}


class Running:
    def __init__(self, world, chat, clock):
        self.world, self.chat, self.clock = world, chat, clock

    async def receive(self, *messages):
        return [await self.chat.inbox.receive(message) for message in messages]

    async def answered(self, number):
        """Wait until so many messages were sent, with the clock standing still."""
        with anyio.fail_after(10):
            while len(self.chat.sent) < number:
                await anyio.sleep(0.01)
        return self.chat.texts


@pytest.fixture
def run(host):
    async def run(test, model, *, inline=None, **limits):
        chat, clock = Chat(), FakeClock()
        plugin = Plugin(summary="Chats")
        plugin.contribute("channel", "chatter", lambda context, settings: chat)
        made = {"chatting": plugin, **(inline or {})}
        async with (
            host(
                inline=made, model=model, config={**CONFIG, "limits": limits}, clock=clock
            ) as world,
            anyio.create_task_group() as group,
        ):
            group.start_soon(world.host.run_channel, "work")
            await chat.open.wait()
            await test(Running(world, chat, clock))
            group.cancel_scope.cancel()
        return world

    return run


async def test_a_guest_beyond_the_limit_gets_no_turn_and_is_told_once(run):
    model = ScriptedModel(["hi"], repeat=True)

    async def test(it):
        receipts = await it.receive(*(said("9", number) for number in range(4)))
        assert [receipt.ref.seq for receipt in receipts] == [1, 0, 0, 0]
        assert sorted(await it.answered(2)) == [
            "You have reached the limit of 1 message a minute; write again in 60 seconds.",
            "hi",
        ]
        await it.clock.advance(60)
        await it.receive(said("9", 5))
        assert (await it.answered(3))[2] == "hi"

    world = await run(test, model, turns_per_minute=1)
    with closing(open_for_reading(world.home / "state" / FILE_NAME)) as connection:
        events = [json.loads(record.event) for record in records(connection)]
    (first, *_) = [event for event in events if event["rule"] == "limit.turns_per_minute"]
    assert (first["kind"], first["sender"], first["outcome"]) == ("deny", "work:9", "deny")
    assert len(model.requests) == 2


async def test_an_operators_message_waits_and_is_answered_later(run):
    model = ScriptedModel(["first", "second"])

    async def test(it):
        await it.receive(said("1", 1), said("1", 2))
        assert await it.answered(2) == [
            "first",
            "You have reached the limit of 1 message a minute; "
            "your message is kept and answered in 60 seconds.",
        ]
        assert len(model.requests) == 1
        await it.clock.advance(61)
        assert (await it.answered(3))[2] == "second"

    await run(test, model, turns_per_minute=1)


async def test_a_chat_command_needs_no_room(run):
    async def test(it):
        await it.receive(said("1", 1), said("1", 2, "/help"))
        assert any("/help" in text for text in await it.answered(2))

    await run(test, ScriptedModel(["hi"], repeat=True), turns_per_minute=1)


boss = Plugin(summary="Asks and delegates")


@boss.tool(effects={"read"})
async def think(ctx: ToolContext) -> str:
    """Ask the model, then have another run do so."""
    await ctx.model.complete("think")
    return (await ctx.runs.start(RunSpec(prompt="work"))).text


async def test_every_request_of_a_turn_is_counted_for_its_sender(run):
    model = ScriptedModel([Call("think"), "thought", "child", "done"])

    async def test(it):
        await it.receive(said("1", 1))
        await it.answered(1)
        spent = await it.world.host._parts.store.spent(since=0, sender="work:1")
        assert len(spent) == 4
        assert {(row.channel, row.provider, row.cost) for row in spent} == {
            ("work", "scripted-model", None)
        }
        assert len({row.turn for row in spent}) == 1
        assert len({row.key for row in spent}) == 1

    await run(test, model, inline={"boss": boss})


async def test_tokens_of_the_day_close_the_door(run):
    model = ScriptedModel(["hi"], repeat=True)

    async def test(it):
        ledger = it.world.host._parts.store
        at = it.clock.now()
        await ledger.spend(Spending(at=at, turn="t", sender="work:9", channel="work", input=99))
        await it.receive(said("9", 1))
        await it.answered(1)
        await ledger.spend(Spending(at=at, turn="t", sender="work:9", channel="work", output=9))
        await it.receive(said("9", 2))
        assert "the limit of 100 tokens a day; write again in 24 h." in (await it.answered(2))[1]

    await run(test, model, tokens_per_day=100)
