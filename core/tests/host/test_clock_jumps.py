"""The machine's clock is set forward or back by an hour in the midst of a turn."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from pegboard import Plugin, ToolContext
from pegboard.contracts.channel import ChannelInfo, Delivery, DeliveryError, Inbox
from pegboard.contracts.message import InboundMessage, OutboundMessage
from pegboard.testing import Call, HostFactory, ScriptedModel
from pegboard.testing.host import HostUnderTest

pytestmark = pytest.mark.anyio
HOUR = 3600.0
SPEED = 150.0
"""Seconds of the clock in a second of the test."""
CONFIG = {
    "policy.senders": {"chat:owner": "admin"},
    "policy.rules": [{"action": "ask", "tool": "send"}],
}


class SetClock:
    """A clock that runs fast, and whose time of day somebody sets; a `Clock`."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._set = 0.0

    def jump(self, seconds: float) -> None:
        """Set it forward, or back."""
        self._set += seconds

    def now(self) -> float:
        """Return the time of day."""
        return 1_767_225_600.0 + self._set + self.monotonic()

    def monotonic(self) -> float:
        """Return seconds that nobody sets."""
        return (time.monotonic() - self._began) * SPEED

    async def sleep(self, seconds: float) -> None:
        """Sleep."""
        await anyio.sleep(max(0.0, seconds) / SPEED)


class World:
    """A chat, a plugin with two tools and a model, each of which may set the clock at a moment.

    Args:
        moment: When the clock is set.
        jump: By how many seconds.
    """

    def __init__(self, moment: str, jump: float) -> None:
        self.info = ChannelInfo(surface="chat", slash_commands=True, max_chars=20)
        self.clock = SetClock()
        self.sent: list[str] = []
        self.ran: list[str] = []
        self.typed = 0
        self.refusals = 0
        self._moment, self._jump = moment, jump
        self._inbox: Inbox | None = None

    def at(self, moment: str) -> None:
        """Set the clock if this is the moment, once."""
        if moment == self._moment:
            self._moment = ""
            self.clock.jump(self._jump)

    async def run(self, inbox: Inbox) -> None:
        self._inbox = inbox
        await anyio.sleep_forever()

    async def typing(self, chat: str) -> None:
        self.typed += 1
        self.at("typing")

    async def send(self, message: OutboundMessage) -> Delivery:
        if self.refusals:
            self.refusals -= 1
            self.at("refused")
            raise DeliveryError("No network.", kind="retry", retry_after=40.0)
        self.sent.append(message.text)
        self.at("sending")
        return Delivery(external_ids=(str(len(self.sent)),))

    async def write(self, text: str) -> None:
        """Hand a message in."""
        await self.until(lambda: self._inbox)
        assert self._inbox is not None
        message = InboundMessage(
            channel="chat", chat="1", sender="owner", text=text, external_id=text
        )
        await self._inbox.receive(message)
        self.at("received")

    async def until(self, true: Callable[[], Any]) -> None:
        with anyio.fail_after(18):
            while not true():
                await anyio.sleep(0.002)

    def plugin(self) -> Plugin:
        plugin = Plugin(summary="Looks and sends")

        @plugin.tool(effects={"read"}, outside=False)
        async def look(ctx: ToolContext) -> str:
            """Look."""
            self.ran.append("look")
            self.at("tool")
            await anyio.sleep(12.0 / SPEED)  # so that typing is signalled more than once
            return "7"

        @plugin.tool(effects={"net_write"}, outside=False)
        async def send(ctx: ToolContext) -> str:
            """Send."""
            self.ran.append("send")
            return "sent"

        return plugin

    def model(self, *answers: Any) -> ScriptedModel:
        def asked(answer: Any) -> Callable[[Any], Any]:
            def give(request: Any) -> Any:
                self.at("model")
                return answer

            return give

        return ScriptedModel([asked(answer) for answer in answers])


@asynccontextmanager
async def running(host: HostFactory, world: World, *answers: Any) -> AsyncIterator[HostUnderTest]:
    async with (
        host(
            inline={"desk": world.plugin()},
            model=world.model(*answers),
            config=CONFIG,
            clock=world.clock,
        ) as opened,
        anyio.create_task_group() as group,
    ):
        group.start_soon(opened.host.run_channel, world)
        yield opened
        group.cancel_scope.cancel()


async def states(opened: HostUnderTest) -> list[tuple[str, int]]:
    """Return how each turn ended, and its place."""
    store = opened.host.parts.store
    said = await store.messages("chat/1")
    found = [await store.turn(turn.turn) for turn in said]
    assert await store.open_turns() == []
    assert await store.doubtful() == []
    return [(record.state, record.ref.seq) for record in found if record]


async def waiting(opened: HostUnderTest) -> None:
    """Wait until a turn waits for a person."""
    with anyio.fail_after(18):
        while not opened.host.parts.engine.stats().later:
            await anyio.sleep(0.002)


@pytest.mark.parametrize("jump", [HOUR, -HOUR])
@pytest.mark.parametrize("moment", ["received", "model", "tool", "typing", "sending"])
async def test_a_turn_is_answered_once_and_so_is_the_next(
    host: HostFactory, moment: str, jump: float
) -> None:
    world = World(moment, jump)
    answers = (Call("look"), "one two three four five six", "Two.")
    async with running(host, world, *answers) as opened:
        await world.write("first")
        await world.write("second")
        await world.until(lambda: world.sent[-1:] == ["Two."])
        await world.until(lambda: not opened.host.turns.active)
        assert await states(opened) == [("done", 1), ("done", 2)]
    assert " ".join(world.sent) == "one two three four five six Two."
    assert world.ran == ["look"]
    assert world.typed >= 2


@pytest.mark.parametrize("jump", [HOUR, -HOUR])
async def test_a_reply_that_is_put_off_is_sent_when_the_network_is_back(
    host: HostFactory, jump: float
) -> None:
    """An hour that nobody lived through is no hour of trying, and none of waiting."""
    world = World("refused", jump)
    world.refusals = 3
    async with running(host, world, "Here.", "Two.") as opened:
        await world.write("first")
        await world.write("second")
        await world.until(lambda: world.sent[-1:] == ["Two."])
        await world.until(lambda: not opened.host.turns.active)
        assert await states(opened) == [("done", 1), ("done", 2)]
    assert world.sent == ["Here.", "Two."]


@pytest.mark.parametrize("jump", [HOUR, -HOUR])
async def test_a_question_that_nobody_answers_expires_all_the_same(
    host: HostFactory, jump: float
) -> None:
    world = World("question", jump)
    async with running(host, world, Call("send"), "Not done.", "Two.") as opened:
        await world.write("first")
        await waiting(opened)
        world.at("question")
        await world.write("second")
        await world.until(lambda: world.sent[-1:] == ["Two."])
        await world.until(lambda: not opened.host.turns.active)
        assert await states(opened) == [("done", 1), ("done", 2)]
    assert world.sent[-2:] == ["Not done.", "Two."]
    assert world.ran == []


async def test_a_question_is_answered_after_the_clock_was_set_back(host: HostFactory) -> None:
    world = World("question", -HOUR)
    async with running(host, world, Call("send"), "Done.") as opened:
        await world.write("first")
        await waiting(opened)
        token = "".join(world.sent).split("/confirm ")[1].split("`")[0].strip()
        world.at("question")
        await world.write(f"/confirm {token}")
        await world.until(lambda: world.sent[-1:] == ["Done."])
        await world.until(lambda: not opened.host.turns.active)
        assert await states(opened) == [("done", 1)]
    assert world.ran == ["send"]
