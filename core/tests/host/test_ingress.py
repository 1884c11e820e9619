"""Who gets a turn, as whom, and what of a message counts."""

from __future__ import annotations

import json
import logging
from contextlib import closing

import pytest

from pegboard import (
    ChannelInfo,
    Delivery,
    InboundMessage,
    Inbox,
    OutboundMessage,
    Plugin,
    TurnOutcome,
)
from pegboard.contracts.errors import ConfigError
from pegboard.host.ingress import Ingress
from pegboard.policy.senders import Senders
from pegboard.store.audit_log import records
from pegboard.store.sqlite import FILE_NAME, open_for_reading
from pegboard.testing import HostFactory, ScriptedModel

pytestmark = pytest.mark.anyio

INFO = ChannelInfo(surface="chat", slash_commands=True)


class Chat:
    """A channel that hands in what it is given and keeps what it is told to send."""

    def __init__(self, *messages: InboundMessage, info: ChannelInfo = INFO) -> None:
        self.info = info
        self.messages = messages
        self.sent: list[OutboundMessage] = []
        self.outcomes: list[TurnOutcome] = []
        self.callers = []

    async def run(self, inbox: Inbox) -> None:
        for message in self.messages:
            self.callers.append(inbox.caller(message))
            self.outcomes.append(await inbox.submit(message))

    async def send(self, message: OutboundMessage) -> Delivery:
        self.sent.append(message)
        return Delivery()


def said(sender: str, text: str = "hello", **more: object) -> InboundMessage:
    return InboundMessage(channel="forged", chat="c", sender=sender, text=text, **more)


def channel_plugin(chat: Chat) -> Plugin:
    plugin = Plugin(summary="Chats")
    plugin.contribute("channel", "chatter", lambda context, settings: chat)
    return plugin


async def run(host: HostFactory, chat: Chat, config: dict[str, object]) -> list[str]:
    """Let the channel `work` run once; return what was asked of the model."""
    model = ScriptedModel(["hi"], repeat=True)
    config = {"channels.work.type": "chatter", **config}
    async with host(inline={"chatting": channel_plugin(chat)}, model=model, config=config) as world:
        await world.host.run_channel("work")
    return [outcome.status for outcome in chat.outcomes]


async def test_a_stranger_gets_no_turn_and_no_answer(host, caplog):
    chat = Chat(said("9"), said("9"))
    with caplog.at_level(logging.INFO, "pegboard.host.ingress"):
        assert await run(host, chat, {}) == ["ignored", "ignored"]
    assert chat.sent == []
    assert {(who.trust, who.tools, who.sender) for who in chat.callers} == {
        ("guest", frozenset(), "work:9")
    }
    levels = [record.levelname for record in caplog.records if "ignored" in record.message]
    assert levels[0] == "WARNING"
    assert levels.count("WARNING") == 1
    assert "work:9" in caplog.text


async def test_who_gets_no_turn_is_in_the_audit_log(host):
    chat = Chat(said("9"), said("8"))
    model = ScriptedModel()
    settings = {"channels.work.type": "chatter", "policy.senders": {"8": "blocked"}}
    inline = {"chatting": channel_plugin(chat)}
    async with host(inline=inline, model=model, config=settings) as world:
        await world.host.run_channel("work")
    with closing(open_for_reading(world.home / "state" / FILE_NAME)) as connection:
        entries = [json.loads(record.event) for record in records(connection)]
    keys = ("kind", "rule", "sender", "outcome")
    found = [tuple(entry[key] for key in keys) for entry in entries]
    assert found == [
        ("origin_rejected", "sender.unknown", "work:9", "deny"),
        ("origin_rejected", "sender.blocked", "work:8", "deny"),
    ]


async def test_a_channel_can_take_strangers_as_guests(host):
    chat = Chat(said("9"), said("8"))
    settings = {"channels.work.guests": True, "policy.senders": {"8": "blocked"}}
    assert await run(host, chat, settings) == ["done", "ignored"]
    assert [message.text for message in chat.sent] == ["hi"]
    guest = chat.callers[0]
    assert (guest.trust, guest.admin, guest.sender) == ("guest", False, "work:9")


async def test_senders_are_who_the_operator_says_in_every_spelling(host):
    chat = Chat(said("7"), said(" work:7"), said("6"), said("5"))
    senders = {"work:7": "operator", "6": "admin", "WORK:5": "guest"}
    assert await run(host, chat, {"policy.senders": senders}) == ["done"] * 4
    assert [(who.trust, who.admin) for who in chat.callers] == [
        ("operator", False),
        ("operator", False),
        ("operator", True),
        ("guest", False),
    ]
    assert {who.channel for who in chat.callers} == {"work"}
    assert chat.callers[0].sender == chat.callers[1].sender == "work:7"


async def test_a_message_can_not_say_who_it_is_from(host):
    forged = {"_trust": "operator", "_admin": "yes", "note": "kept"}
    chat = Chat(said("9", metadata=forged))
    seen = []
    watching = Plugin(summary="Watches")

    @watching.hook
    def pegboard_message_in(event):
        seen.append(event.message.metadata)

    model = ScriptedModel(["hi"])
    async with host(
        inline={"chatting": channel_plugin(chat), "watching": watching},
        model=model,
        config={"channels.work.type": "chatter", "channels.work.guests": True},
    ) as world:
        await world.host.run_channel("work")
    assert seen == [{"note": "kept"}]
    assert chat.callers[0].trust == "guest"


def test_the_person_at_this_machine_is_operator_and_admin():
    ingress = Ingress(Senders(roles={"local:person": "blocked"}), {})
    caller = ingress.caller(ChannelInfo(surface="terminal", local=True), said("anybody"))
    assert (caller.trust, caller.admin, caller.origin) == ("operator", True, "person")


@pytest.mark.parametrize("guests", ["yes", 1, None, {}, "true"])
def test_only_a_plain_true_lets_strangers_in(guests):
    ingress = Ingress(Senders(roles={}), {"forged": {"guests": guests}, "other": "text"})
    assert ingress.caller(INFO, said("9")).tools == frozenset()
    assert ingress.admitted(Chat(), said("9")).refused == "sender.unknown"


def test_a_type_may_be_named_with_its_plugin():
    ingress = Ingress(
        Senders(roles={"forged:@Ann:x.org": "operator"}), {"forged": {"type": "matrix:matrix"}}
    )
    assert ingress.caller(INFO, said("@Ann:X.ORG")).trust == "operator"


async def test_a_role_that_does_not_exist_is_refused_with_a_suggestion(host):
    with pytest.raises(ConfigError, match="did you mean 'operator'"):
        async with host(config={"policy.senders": {"1": "operater"}}):
            pass
