"""Limits of senders and channels, over a real store."""

from __future__ import annotations

import logging

import anyio
import pytest

from pegboard.contracts.caller import Caller
from pegboard.contracts.errors import StoreError
from pegboard.contracts.message import InboundMessage
from pegboard.contracts.provider import Usage
from pegboard.contracts.spending import Spending
from pegboard.host.ingress import local_caller
from pegboard.host.limits import Limits, spending_of
from pegboard.policy.spend_limits import SpendLimits
from pegboard.providers.route import Hop, ModelAttempt
from pegboard.store.embedded import open_store
from pegboard.testing import FakeClock

pytestmark = pytest.mark.anyio

NOW = 1_000_000.0
GUEST = Caller(trust="guest", origin="person", channel="tg", sender="tg:9")
OWNER = Caller(trust="operator", origin="person", channel="tg", sender="tg:1")


def said(channel="tg"):
    return InboundMessage(channel=channel, chat="c", sender="9", text="hello")


class World:
    def __init__(self, store):
        self.store = store
        self.events = []

    async def audit(self, event):
        self.events.append(event)

    def limits(self, ledger=None, /, **settings):
        return Limits(
            SpendLimits.from_settings(settings),
            ledger or self.store,
            FakeClock(NOW),
            type_of=lambda channel: "telegram" if channel == "tg" else "",
            audit=self.audit,
        )


@pytest.fixture
async def world(tmp_path):
    store = await open_store(tmp_path, worker="one")
    yield World(store)
    await store.aclose()


async def test_a_guest_beyond_the_rate_is_told_once_and_then_there_is_silence(world):
    limits = world.limits(turns_per_minute=2)
    answers = [await limits.refusal(GUEST, said(), NOW + second) for second in range(5)]
    assert answers[:2] == [None, None]
    assert answers[2] == (
        "You have reached the limit of 2 messages a minute; write again in 58 seconds."
    )
    assert answers[3:] == ["", ""]
    # a new window: one place is free, then they are told anew
    assert await limits.refusal(GUEST, said(), NOW + 60) is None
    told = await limits.refusal(GUEST, said(), NOW + 60.5)
    assert told is not None
    assert "write again in 1 second" in told
    assert [(event.kind, event.rule, event.sender) for event in world.events] == [
        ("deny", "limit.turns_per_minute", "tg:9")
    ] * 4


async def test_what_was_refused_is_not_counted(world):
    limits = world.limits(turns_per_minute=1)
    assert await limits.refusal(GUEST, said(), NOW) is None
    for second in range(1, 60):
        assert await limits.refusal(GUEST, said(), NOW + second) is not None
    assert await limits.refusal(GUEST, said(), NOW + 60) is None


async def test_an_operators_message_is_never_refused_but_waits(world):
    limits = world.limits(turns_per_minute=1)
    assert await limits.refusal(OWNER, said(), NOW) is None
    assert await limits.held(OWNER, said(), NOW, turn="t1") is None
    assert await limits.refusal(OWNER, said(), NOW + 1) is None
    held = await limits.held(OWNER, said(), NOW + 1, turn="t2")
    assert held is not None
    assert held.until == NOW + 60
    assert held.sentence == (
        "You have reached the limit of 1 message a minute; "
        "your message is kept and answered in 59 seconds."
    )
    again = await limits.held(OWNER, said(), NOW + 2, turn="t3")
    assert again is not None
    assert again.sentence == ""
    assert await limits.held(OWNER, said(), held.until, turn="t2") is None


async def test_a_turn_that_was_let_through_is_not_held_when_it_is_begun_again(world):
    limits = world.limits(turns_per_minute=1)
    assert await limits.held(OWNER, said(), NOW, turn="t1") is None
    assert await limits.held(OWNER, said(), NOW + 1, turn="t1") is None
    assert await limits.held(OWNER, said(), NOW + 1, turn="t2") is not None


async def test_a_guests_turn_is_not_counted_a_second_time_when_it_begins(world):
    limits = world.limits(turns_per_minute=1)
    assert await limits.refusal(GUEST, said(), NOW) is None
    assert await limits.held(GUEST, said(), NOW, turn="t1") is None


async def test_the_terminal_of_the_person_here_is_limited_only_where_it_is_named(world):
    person = local_caller()
    free = world.limits(turns_per_minute=1, tokens_per_day=1)
    named = world.limits(senders={"local:person": {"turns_per_minute": 1}})
    for number in range(3):
        assert await free.held(person, said("terminal"), NOW, turn=f"t{number}") is None
    assert await named.held(person, said("terminal"), NOW, turn="t1") is None
    assert await named.held(person, said("terminal"), NOW, turn="t2") is not None


async def test_a_channel_as_a_whole_is_limited_too(world):
    limits = world.limits(channels={"tg": {"turns_per_hour": 2}})
    senders = [Caller(trust="guest", channel="tg", sender=f"tg:{n}") for n in range(4)]
    answers = [await limits.refusal(sender, said(), NOW) for sender in senders]
    assert answers[:2] == [None, None]
    # each of them is told once
    assert [answer for answer in answers[2:] if answer] == [
        "This channel has reached the limit of 2 messages an hour; write again in 60 minutes."
    ] * 2
    other = Caller(trust="guest", channel="mail", sender="mail:0")
    assert await limits.refusal(other, said("mail"), NOW) is None


async def test_tokens_are_what_the_store_knows_of_that_sender(world):
    limits = world.limits(tokens_per_day=100)
    for sender, tokens in (("tg:9", 60), ("tg:8", 900)):
        await limits.record(
            Spending(at=NOW, turn="t", sender=sender, channel="tg", input=tokens, output=0)
        )
    assert await limits.refusal(GUEST, said(), NOW + 1) is None
    await limits.record(Spending(at=NOW + 2, sender="tg:9", channel="tg", output=40))
    assert await limits.refusal(GUEST, said(), NOW + 3) is not None
    assert await limits.refusal(GUEST, said(), NOW + 86_400) is None


async def test_a_host_that_starts_anew_knows_the_turns_that_asked_a_model(world):
    first = world.limits(turns_per_minute=2)
    assert await first.refusal(GUEST, said(), NOW) is None
    for at, turn in ((NOW + 1, "t1"), (NOW + 2, "t1"), (NOW + 3, "t2"), (NOW + 3, "")):
        await first.record(Spending(at=at, turn=turn, sender="tg:9", channel="tg"))
    second = world.limits(turns_per_minute=2)
    told = await second.refusal(GUEST, said(), NOW + 11)
    assert told is not None
    assert "in 50 seconds" in told


async def test_two_messages_at_once_do_not_share_the_last_place(world):
    limits = world.limits(turns_per_minute=1, tokens_per_day=10)
    answers = []

    async def send():
        answers.append(await limits.refusal(GUEST, said(), NOW))

    async with anyio.create_task_group() as group:
        for _ in range(5):
            group.start_soon(send)
    assert answers.count(None) == 1


async def test_without_limits_the_store_is_not_asked():
    class Shut:
        async def spent(self, *, since, **of):
            raise AssertionError("asked")

    limits = Limits(SpendLimits.from_settings(), Shut(), FakeClock(), type_of=str)
    assert await limits.refusal(GUEST, said(), NOW) is None
    assert await limits.held(OWNER, said(), NOW, turn="t") is None


async def test_an_answer_stands_though_its_cost_can_not_be_written(world, caplog):
    class Full:
        async def spend(self, spending):
            raise StoreError("the disk is full")

    with caplog.at_level(logging.ERROR, "pegboard.host.limits"):
        await world.limits(Full()).record(Spending(at=NOW))
    assert "the disk is full" in caplog.text


def test_a_request_to_a_provider_is_spending_without_a_price_yet():
    attempt = ModelAttempt(
        hop=Hop(name="groq", provider=None),
        model="m",
        usage=Usage(input=10, output=5, cache_read=4),
        duration_ms=1.0,
        error=None,
    )
    found = spending_of(attempt, at=NOW, turn="t", key="tg/c", channel="tg", caller=OWNER)
    assert found == Spending(
        at=NOW,
        turn="t",
        key="tg/c",
        channel="tg",
        sender="tg:1",
        provider="groq",
        model="m",
        input=10,
        output=5,
        cached=4,
    )
