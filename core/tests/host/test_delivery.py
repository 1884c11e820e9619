"""Which turns a host delivers, and what becomes of the others."""

from __future__ import annotations

from functools import partial

import anyio
import pytest

from pegboard import ChannelInfo, Delivery, InboundMessage, Plugin, ToolContext
from pegboard.contracts.errors import StoreError
from pegboard.contracts.turn import Incoming
from pegboard.contracts.wire import CALLER, INBOUND
from pegboard.store.sqlite import FILE_NAME
from pegboard.testing import Call, HostFactory, ScriptedModel

pytestmark = pytest.mark.anyio


class Mail:
    """A channel that hands in what it is given, and keeps what it sends."""

    def __init__(self, *texts: str, takes: str | None = None) -> None:
        self.info = ChannelInfo(surface="chat", local=True, slash_commands=True)
        self.texts = texts
        self.receipts = []
        self.sent: list[str] = []
        self.done = anyio.Event()
        if takes is not None:
            self.takes = lambda chat: chat == takes

    async def run(self, inbox) -> None:
        for number, text in enumerate(self.texts):
            message = InboundMessage(
                channel="x", chat="1", sender="me", text=text, external_id=str(number)
            )
            self.receipts.append(await inbox.receive(message))
        await self.done.wait()

    async def send(self, message) -> Delivery:
        self.sent.append(message.text)
        return Delivery()


def plugin(mail: Mail) -> dict[str, Plugin]:
    made = Plugin(summary="Mail")
    made.contribute("channel", "mail", lambda context, settings: mail)
    return {"mailing": made}


CONFIG = {"channels.mail.type": "mail"}


async def until(true) -> None:
    with anyio.fail_after(5):
        while not true():
            await anyio.sleep(0.005)


async def test_a_channel_receives_and_the_reply_is_sent_to_it(host: HostFactory) -> None:
    mail, model = Mail("one", "two"), ScriptedModel(["re one", "re two"])
    async with (
        host(inline=plugin(mail), model=model, config=CONFIG) as world,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(world.host.run_channel, "mail")
        await until(lambda: len(mail.sent) == 2)
        mail.done.set()
    assert mail.sent == ["re one", "re two"]
    assert [receipt.ref.seq for receipt in mail.receipts] == [1, 2]
    assert {receipt.ref.key for receipt in mail.receipts} == {"mail/1"}


async def test_a_stranger_and_a_command_get_a_receipt_of_no_turn(host: HostFactory) -> None:
    mail = Mail("/whoami", "hello")
    mail.info = ChannelInfo(surface="chat", slash_commands=True)
    config = {**CONFIG, "policy.senders": {"me": "operator"}}
    async with host(inline=plugin(mail), model=ScriptedModel(), config=config) as world:
        stranger = InboundMessage(channel="mail", chat="1", sender="9", text="hello")
        receipt = await world.host.receive(stranger, mail)
        assert (receipt.ref.turn, receipt.ref.seq) == ("", 0)
        command = InboundMessage(channel="mail", chat="1", sender="me", text="/whoami")
        receipt = await world.host.receive(command, mail)
        assert receipt.ref.seq == 0
    assert "- trust: owner" in mail.sent[0]
    assert "- sender: mail:me" in mail.sent[0]


async def test_a_host_without_a_channel_leaves_the_store_alone(host: HostFactory) -> None:
    async with host() as world:
        await world.call("tool_search", query="x")
    assert not (world.home / "state" / FILE_NAME).exists()


async def left_behind(host: HostFactory, *keys: str) -> None:
    """Leave turns in the store that no host has begun."""
    async with host() as world:
        store, caller = world.host.turns.services.store, world.host.local_caller()
        for number, key in enumerate(keys):
            channel, chat = key.split("/")[:2]
            message = InboundMessage(channel=channel, chat=chat, sender="me", text=f"left {key}")
            await store.ingest(
                Incoming(
                    turn=f"left-{number}",
                    key=key,
                    channel=channel,
                    chat=chat,
                    message=INBOUND.write(message),
                    caller=CALLER.write(caller),
                    at=1.0,
                )
            )


async def test_only_turns_of_open_channels_are_delivered(host: HostFactory) -> None:
    await left_behind(host, "mail/1", "mail/2", "other/1")
    mail = Mail(takes="1")
    model = ScriptedModel([lambda request: f"re {request.messages[-1].text}"], repeat=True)
    async with host(inline=plugin(mail), model=model, config=CONFIG) as world:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(world.host.run_channel, "mail")
            await until(lambda: mail.sent)
            await anyio.sleep(0.02)
            mail.done.set()
        store = world.host.turns.services.store
        assert [ref.key for ref in await store.open_turns()] == ["mail/2", "other/1"]
    assert mail.sent == ["re left mail/1"]


async def test_earlier_turns_of_a_conversation_come_before_a_new_one(host: HostFactory) -> None:
    await left_behind(host, "test/a", "test/b")
    model = ScriptedModel([lambda request: f"re {request.messages[-1].text}"], repeat=True)
    async with host(model=model) as world:
        assert (await world.ask("first", chat="c")).text == "re first"
        with anyio.fail_after(5):
            assert (await world.ask("new", chat="b")).text == "re new"
    assert [message.text for message in world.desk.sent] == ["re first", "re left test/b", "re new"]


async def test_messages_that_are_submitted_at_once_keep_their_order(host: HostFactory) -> None:
    model = ScriptedModel([lambda request: f"re {request.messages[-1].text}"], repeat=True)
    async with host(model=model) as world:
        async with anyio.create_task_group() as tasks:
            for number in range(8):
                tasks.start_soon(world.ask, str(number))
        assert [message.text for message in world.desk.sent] == [f"re {n}" for n in range(8)]


async def test_a_turn_that_runs_when_the_host_stops_has_its_time(host: HostFactory) -> None:
    slow = Plugin(summary="Slow")
    there = anyio.Event()

    @slow.tool(effects={"read"})
    async def nap(ctx: ToolContext) -> str:
        """Wait a little."""
        there.set()
        await anyio.sleep(0.1)
        return "rested"

    mail, model = Mail("go"), ScriptedModel([Call("nap"), "done"])
    inline = {**plugin(mail), "slow": slow}
    async with (
        host(inline=inline, model=model, config=CONFIG) as world,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(world.host.run_channel, "mail")
        await there.wait()
        await world.host.drain(5.0)
        mail.done.set()
    assert mail.sent == ["done"]


async def test_a_turn_without_time_is_handed_on_to_the_next_host(host: HostFactory) -> None:
    slow = Plugin(summary="Slow")
    there = anyio.Event()
    naps: list[float] = [60.0, 0.0]

    @slow.tool(effects={"read"})
    async def nap(ctx: ToolContext) -> str:
        """Wait for long, the first time."""
        there.set()
        await anyio.sleep(naps.pop(0))
        return "rested"

    first, second = Mail("go"), Mail()
    models = {first: ScriptedModel([Call("nap"), "never"]), second: ScriptedModel(["done"])}
    for mail, model in models.items():
        inline = {**plugin(mail), "slow": slow}
        async with (
            host(inline=inline, model=model, config=CONFIG) as world,
            anyio.create_task_group() as tasks,
        ):
            tasks.start_soon(world.host.run_channel, "mail")
            if mail is first:
                await there.wait()
                await world.host.drain(0.0)
            else:
                await until(lambda: second.sent)
            mail.done.set()
    assert (first.sent, second.sent) == ([], ["done"])
    assert naps == []


async def test_who_waits_while_the_host_stops_is_let_go(host: HostFactory) -> None:
    there, outcomes = anyio.Event(), []
    slow = Plugin(summary="Slow")

    @slow.tool(effects={"read"})
    async def nap(ctx: ToolContext) -> str:
        """Wait for ever."""
        there.set()
        await anyio.sleep_forever()
        return "never"

    model = ScriptedModel([Call("nap"), "never"])
    async with host(inline={"slow": slow}, model=model) as world:

        async def ask() -> None:
            outcomes.append(await world.ask("go"))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            await there.wait()
            await world.host.drain(0.0)
    assert outcomes[0].error["code"] == "host_stopped"


async def test_a_store_that_can_not_be_opened_is_an_error_for_who_submits(
    host: HostFactory,
) -> None:
    async with host(model=ScriptedModel(["hi"])) as world:
        state = world.home / "state"
        state.mkdir(parents=True, exist_ok=True)
        (state / FILE_NAME).write_bytes(b"no database at all, long enough to be one" * 9)
        with pytest.raises(StoreError, match="damaged or no store"):
            await world.ask("hello")


async def test_a_background_request_does_not_hold_up_the_conversation(host: HostFactory) -> None:
    gate, slow = anyio.Event(), Plugin(summary="Slow")

    @slow.tool(effects={"read"})
    async def nap(ctx: ToolContext) -> str:
        """Wait for the gate."""
        await gate.wait()
        return "rested"

    def think(request):
        if request.messages[-1].text == "sleep":
            return Call("nap")
        return "slept" if request.messages[-1].role == "tool" else "quick"

    mail, model = Mail(), ScriptedModel([think], repeat=True)
    inline = {**plugin(mail), "slow": slow}
    async with host(inline=inline, model=model, config=CONFIG) as world:
        say = partial(said, world.host, mail)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(world.host.run_channel, "mail")
            await say("/background sleep")
            assert "/tasks" in mail.sent.pop()
            await say("hello")
            assert mail.sent.pop() == "quick"
            await say("/tasks")
            assert mail.sent.pop().endswith("running: sleep")
            gate.set()
            await until(lambda: mail.sent)
            assert mail.sent.pop() == "slept"
            await until(lambda: not world.host.turns.active)
            await say("/tasks")
            assert mail.sent.pop() == "Nothing is being done in the background."
            mail.done.set()


async def said(host, mail: Mail, text: str) -> None:
    await host.submit(InboundMessage(channel="mail", chat="1", sender="me", text=text), mail)
