"""The laws of a channel."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final

import anyio

from pegboard.contracts.channel import Channel, TurnOutcome
from pegboard.contracts.message import InboundMessage, OutboundMessage
from pegboard.contracts.stream import (
    ApprovalAsked,
    Noticed,
    StepStarted,
    StreamEvent,
    TextRestarted,
    TextStreamed,
    ThinkingStreamed,
    ToolFinished,
    ToolProgress,
    ToolStarted,
    TurnFinished,
    TurnStarted,
    UsageReported,
)
from pegboard.testing.contracts.inbox import Answering, RecordingInbox
from pegboard.testing.contracts.suite import LIMIT_S, PROMPT_S, Suite, missing, no_tasks_left

SURFACES: Final = {"terminal", "chat", "voice", "editor", "api"}
EVERY_EVENT: Final[tuple[StreamEvent, ...]] = (
    TurnStarted(turn="t", provider="p", model="m", trust="guest"),
    StepStarted(step=1),
    ThinkingStreamed(text="hm"),
    TextStreamed(text="one "),
    TextRestarted(provider="p"),
    TextStreamed(text="two"),
    ToolStarted(call="c", name="echo", arguments={"text": "x"}),
    ToolProgress(call="c", name="echo", message="half", fraction=0.5),
    ToolFinished(call="c", name="echo", output="x", error=None, duration_ms=1.0),
    ApprovalAsked(call="c", name="echo", question="Run it?"),
    Noticed(code="fallback", text="Another model answers."),
    UsageReported(usage={"input": 1}),
    TurnFinished(turn="t", status="done", text="two", steps=1, usage={}),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _NewerEvent(TextStreamed):
    """An event of a newer host: a type that no channel knows yet."""

    type: ClassVar[str] = "of_a_newer_host"


class ChannelContract(Suite):
    """Laws that the host relies on when it runs a channel.

    Subclass it and define `make_channel`, `say` (what a person does to send a text) and `sent` (the
    texts that reached them).
    """

    def make_channel(self, folder: Path) -> Channel:
        """Return a fresh channel; `folder` is empty and of its own."""
        missing(self, "make_channel", "a Channel")

    async def say(self, channel: Channel, text: str) -> None:
        """Send one message to the channel, as a person would."""
        missing(self, "say", "nothing, after a person's message was put in")

    def sent(self, channel: Channel) -> list[str]:
        """Return the texts that the channel delivered, in order."""
        missing(self, "sent", "the texts that reached the person")

    async def test_its_facts_are_complete(self, tmp_path: Path) -> None:
        """It is a Channel, on a known surface, with a possible longest message."""
        channel = self.make_channel(tmp_path)
        assert isinstance(channel, Channel)
        assert channel.info.surface in SURFACES
        assert channel.info.max_chars is None or channel.info.max_chars > 0

    async def test_a_message_is_handed_in_and_answered(self, tmp_path: Path) -> None:
        """What a person says becomes one message with a sender, and the answer reaches them."""
        async with self._running(tmp_path) as (channel, inbox):
            await self.say(channel, "hello")
            (message,) = await inbox.wait(1)
            assert message.text == "hello"
            assert message.channel, "a message without the name of its channel"
            assert message.chat, "a message without a chat"
            assert message.sender, "a message without a sender"
            assert all(isinstance(value, str) for value in message.metadata.values())
            assert "heard hello" in "".join(self.sent(channel))

    async def test_messages_keep_their_order(self, tmp_path: Path) -> None:
        """Several messages of one person arrive as they were sent."""
        async with self._running(tmp_path) as (channel, inbox):
            for text in ("one", "two", "three"):
                await self.say(channel, text)
            received = await inbox.wait(3)
            assert [message.text for message in received] == ["one", "two", "three"]

    async def test_a_failed_turn_does_not_end_it(self, tmp_path: Path) -> None:
        """After a turn that failed, the next message is handed in as any other."""

        def failing(message: InboundMessage) -> TurnOutcome:
            error = {"code": "run_failed", "message": "The model failed.", "fix": "Try again."}
            return TurnOutcome(text="", status="failed", error=error)

        async with self._running(tmp_path, failing) as (channel, inbox):
            await self.say(channel, "one")
            await inbox.wait(1)
            await self.say(channel, "two")
            assert len(await inbox.wait(2)) == 2

    async def test_it_ends_when_it_is_cancelled(self, tmp_path: Path) -> None:
        """Cancelling `run` ends it at once, and nothing of it goes on."""
        with no_tasks_left():
            async with self._running(tmp_path):
                await anyio.wait_all_tasks_blocked()

    async def test_it_runs_again(self, tmp_path: Path) -> None:
        """A channel that was stopped can be started again."""
        channel = self.make_channel(tmp_path)
        async with self._run(channel):
            await anyio.wait_all_tasks_blocked()
        async with self._run(channel) as inbox:
            await self.say(channel, "again")
            (message,) = await inbox.wait(1)
            assert message.text == "again"

    async def test_every_character_is_delivered(self, tmp_path: Path) -> None:
        """Text beyond ASCII arrives as it is, and what was sent has an id of its own."""
        text = "Grüße, 修理, 🧩 <b>&amp;"
        channel = self.make_channel(tmp_path)
        first = await channel.send(OutboundMessage(chat="chat", text=text))
        second = await channel.send(OutboundMessage(chat="chat", text="more"))
        assert text in "".join(self.sent(channel))
        ids = [*first.external_ids, *second.external_ids]
        assert all(isinstance(item, str) and item for item in ids)
        assert len(ids) == len(set(ids)), f"ids repeat: {ids}"

    async def test_a_long_text_is_delivered_whole(self, tmp_path: Path) -> None:
        """Text beyond `max_chars` arrives in pieces that are none too long."""
        channel = self.make_channel(tmp_path)
        limit = channel.info.max_chars
        words = " ".join(f"word{number}" for number in range((limit or 4_000) // 4))
        await channel.send(OutboundMessage(chat="chat", text=words))
        pieces = self.sent(channel)
        assert "".join("".join(pieces).split()) == "".join(words.split()), "text was lost"
        assert limit is None or max(len(piece) for piece in pieces) <= limit

    async def test_every_event_can_be_streamed(self, tmp_path: Path) -> None:
        """A streaming channel takes every event, and one of a newer host."""
        channel = self.make_channel(tmp_path)
        stream = getattr(channel, "stream", None)
        if not channel.info.streaming:
            return
        assert stream is not None, "info.streaming without a method `stream`"
        for event in (*EVERY_EVENT, _NewerEvent(text="")):
            await stream("chat", event)

    async def test_a_message_sent_again_is_delivered_once_where_it_says_so(
        self, tmp_path: Path
    ) -> None:
        """A channel that deduplicates shows a message once that is sent twice with one id."""
        channel = self.make_channel(tmp_path)
        if not channel.info.deduplicates:
            return
        for _ in range(2):
            await channel.send(OutboundMessage(chat="chat", text="only once", id="turn:0"))
        await channel.send(OutboundMessage(chat="chat", text="another", id="turn:1"))
        shown = "".join(self.sent(channel))
        assert shown.count("only once") == 1, "it was delivered twice"
        assert "another" in shown, "another message was taken for the same"

    async def test_that_an_answer_is_coming_can_be_shown(self, tmp_path: Path) -> None:
        """`typing`, if there is one, shows it and sends no message; `takes` answers yes or no."""
        channel = self.make_channel(tmp_path)
        typing = getattr(channel, "typing", None)
        if typing is not None:
            with anyio.fail_after(LIMIT_S):
                await typing("chat")
            assert self.sent(channel) == [], "a message was sent"
        takes = getattr(channel, "takes", None)
        if takes is not None:
            assert isinstance(takes("chat"), bool), "`takes` must answer True or False"

    @asynccontextmanager
    async def _running(
        self, folder: Path, answer: Answering | None = None
    ) -> AsyncIterator[tuple[Channel, RecordingInbox]]:
        channel = self.make_channel(folder)
        async with self._run(channel, answer) as inbox:
            yield channel, inbox

    @asynccontextmanager
    async def _run(
        self, channel: Channel, answer: Answering | None = None
    ) -> AsyncIterator[RecordingInbox]:
        inbox = RecordingInbox(channel, answer)
        with anyio.fail_after(LIMIT_S):
            async with anyio.create_task_group() as group:
                group.start_soon(channel.run, inbox)
                yield inbox
                stopped = anyio.current_time()
                group.cancel_scope.cancel()
            assert anyio.current_time() - stopped < PROMPT_S, "it went on after it was cancelled"
