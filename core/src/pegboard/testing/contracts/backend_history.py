"""The laws of a store about what was said, what it cost, and what is forgotten."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pegboard.contracts.spending import Spending
from pegboard.contracts.store import Store
from pegboard.contracts.transcript import Conversation
from pegboard.contracts.turn import CallRecord, Json, TurnRef
from pegboard.testing.contracts.backend_replies import approval
from pegboard.testing.contracts.backend_suite import (
    NOW,
    ODD,
    BackendSuite,
    began,
    finished,
    incoming,
    took,
)


def said(text: str) -> Json:
    """Return a message of the history."""
    return {"role": "user", "text": text}


async def told(store: Store, *texts: str, key: str = "chat") -> list[TurnRef]:
    """Run a turn for each text, which adds that text to the history."""
    refs = []
    for text in texts:
        refs.append(await took(store, key, text))
        await finished(store, refs[-1], said(text))
    return refs


async def heard(store: Store, key: str = "chat") -> list[list[str]]:
    """Return the texts of the transcript, a list for each of its turns."""
    turns = (await store.transcript(key)).turns
    return [[message["text"] for message in turn.messages] for turn in turns]


class TranscriptLaws(BackendSuite):
    """The history of a conversation grows by whole turns."""

    async def test_a_turns_messages_come_with_its_end(self, tmp_path: Path) -> None:
        """In order, with the tokens of the last request; nothing before the turn has ended."""
        async with self.opened(tmp_path) as (store, _):
            first = await took(store)
            fence = (await began(store, first)).turn.fence
            assert await heard(store) == []
            assert (await store.transcript("chat")).tokens is None
            messages = [said("hello"), {"role": "assistant", "text": ODD, "n": 1}]
            await store.finish(
                first.turn, fence, state="done", now=NOW + 1, messages=messages, tokens=42
            )
            second = await took(store)
            await finished(store, second, said("more"))
        async with self.opened(tmp_path) as (store, _):
            transcript = await store.transcript("chat")
            everything = await store.messages("chat")
        assert [turn.messages for turn in transcript.turns] == [
            tuple(messages),
            (said("more"),),
        ]
        assert [(turn.seq, turn.turn, turn.summary) for turn in transcript.turns] == [
            (1, first.turn, False),
            (2, second.turn, False),
        ]
        assert list(everything) == list(transcript.turns)

    async def test_the_tokens_are_those_of_the_last_request(self, tmp_path: Path) -> None:
        """A turn that reports none leaves what was known."""
        async with self.opened(tmp_path) as (store, _):
            for tokens, known in ((10, 10), (20, 20), (None, 20)):
                ref = await took(store)
                fence = (await began(store, ref)).turn.fence
                await store.finish(ref.turn, fence, state="done", now=NOW, tokens=tokens)
                assert (await store.transcript("chat")).tokens == known

    async def test_a_turn_that_said_nothing_adds_nothing(self, tmp_path: Path) -> None:
        """A cancelled or failed turn may end without messages."""
        async with self.opened(tmp_path) as (store, _):
            ref = await took(store)
            fence = (await began(store, ref)).turn.fence
            await store.finish(ref.turn, fence, state="cancelled", now=NOW)
            await told(store, "one")
            assert await heard(store) == [["one"]]

    async def test_conversations_do_not_mix(self, tmp_path: Path) -> None:
        """Each has its own history; one that does not exist has none."""
        async with self.opened(tmp_path) as (store, _):
            await told(store, "one", key="a")
            await told(store, "two", key="b")
            assert (await heard(store, "a"), await heard(store, "b")) == ([["one"]], [["two"]])
            assert (await heard(store, "c"), await store.messages("c")) == ([], [])

    async def test_a_summary_stands_for_what_was_before(self, tmp_path: Path) -> None:
        """The model is given it instead; all that was said stays readable."""
        async with self.opened(tmp_path) as (store, _):
            await told(store, "one", "two", "three")
            summary = [said("one and two")]
            assert await store.summarize("chat", through=2, messages=summary, tokens=5, now=NOW)
            transcript = await store.transcript("chat")
            assert await heard(store) == [["one and two"], ["three"]]
            assert [(turn.summary, turn.seq) for turn in transcript.turns] == [
                (True, 2),
                (False, 3),
            ]
            assert transcript.tokens == 5
            await told(store, "four")
            again = [said("one to three")]
            assert await store.summarize("chat", through=3, messages=again, tokens=None, now=NOW)
            assert await heard(store) == [["one to three"], ["four"]]
            assert [turn.messages[0]["text"] for turn in await store.messages("chat")] == [
                "one",
                "two",
                "three",
                "four",
            ]

    async def test_a_summary_that_comes_too_late_is_dropped(self, tmp_path: Path) -> None:
        """After `/new` its turns are not in the transcript any more."""
        async with self.opened(tmp_path) as (store, _):
            await told(store, "one", "two")
            await store.new_epoch("chat", now=NOW)
            late = [said("late")]
            assert not await store.summarize("chat", through=2, messages=late, tokens=1, now=NOW)
            assert await heard(store) == []
            assert not await store.summarize("none", through=1, messages=late, tokens=1, now=NOW)

    async def test_a_new_epoch_begins_with_an_empty_history(self, tmp_path: Path) -> None:
        """The model is given nothing from before; people can still read it."""
        async with self.opened(tmp_path) as (store, _):
            await told(store, "old")
            await store.new_epoch("chat", now=NOW)
            assert await heard(store) == []
            assert (await store.transcript("chat")).tokens is None
            await told(store, "new")
            assert await heard(store) == [["new"]]
            everything = [turn.messages[0]["text"] for turn in await store.messages("chat")]
            assert everything == ["old", "new"]


class ConversationLaws(BackendSuite):
    """Conversations are listed, copied and forgotten."""

    async def test_conversations_are_listed(self, tmp_path: Path) -> None:
        """The one that last changed comes first, with what a list shows of it."""
        async with self.opened(tmp_path) as (store, _):
            await store.ingest(incoming("a", "Plan a trip", at=NOW + 1, thread="t", agent="guide"))
            await store.ingest(incoming("b", "hello", at=NOW + 2, channel="mail"))
            await store.ingest(incoming("a", "And then?", at=NOW + 3))
            found = await store.conversations()
            assert [item.key for item in found] == ["a", "b"]
            first = found[0]
            assert (first.channel, first.chat, first.thread, first.agent) == (
                "desk",
                "a",
                "t",
                "guide",
            )
            assert first.title.startswith("Plan a trip")
            assert (first.turns, first.open, first.epoch) == (2, 2, 0)
            assert (first.created_at, first.updated_at) == (NOW + 1, NOW + 3)
            assert [item.key for item in await store.conversations(channel="mail")] == ["b"]
            assert [item.key for item in await store.conversations(limit=1)] == ["a"]

    async def test_a_copy_has_the_same_history(self, tmp_path: Path) -> None:
        """From there on both go their own ways."""
        async with self.opened(tmp_path) as (store, _):
            await told(store, "one", "two")
            copy = Conversation(key="copy", channel="desk", chat="copy", title="A copy")
            assert await store.fork("chat", copy)
            assert await heard(store, "copy") == [["one"], ["two"]]
            await told(store, "three", key="copy")
            assert await heard(store, "copy") == [["one"], ["two"], ["three"]]
            assert await heard(store) == [["one"], ["two"]]
            assert not await store.fork("none", replace(copy, key="other"))

    async def test_what_is_forgotten_is_gone(self, tmp_path: Path) -> None:
        """Messages, turns, calls, replies and questions of it; nothing of any other."""
        async with self.opened(tmp_path) as (store, _):
            await told(store, "kept", key="other")
            (done,) = await told(store, "secret")
            ref = await took(store, external_id="m9")
            fence = (await began(store, ref)).turn.fence
            await store.intend(ref.turn, fence, [CallRecord(id="c", kind="tool", name="t")])
            await store.reply(ref.turn, fence, [{"text": "secret"}], now=NOW)
            await store.sending(ref.turn, fence, 0, now=NOW)
            await store.doubt(ref.turn, 0, now=NOW)
            await store.ask(approval(ref))
            assert await store.forget("chat")
            assert [await store.turn(item.turn) for item in (done, ref)] == [None, None]
            assert (await heard(store), await store.messages("chat")) == ([], [])
            assert (await store.doubtful(), await store.approvals()) == ([], [])
            assert [item.key for item in await store.conversations()] == ["other"]
            assert await store.open_turns() == []
            assert await heard(store, "other") == [["kept"]]
            assert not await store.forget("chat")
            fresh = await store.ingest(incoming(external_id="m9"))
            assert (fresh.duplicate, fresh.ref.seq) == (False, 1)


class SpendingLaws(BackendSuite):
    """What model calls cost is kept."""

    async def test_what_was_spent_is_found(self, tmp_path: Path) -> None:
        """Since a time, narrowed by whom and where."""
        whole = Spending(
            at=NOW,
            turn="t1",
            key="chat",
            channel="desk",
            sender="desk:ann",
            agent="helper",
            plugin="web",
            provider="p",
            model="m",
            input=100,
            output=20,
            cached=80,
            cost=0.25,
        )
        later = replace(
            whole, at=NOW + 60, turn="t2", key="b", channel="mail", sender="", cost=None
        )
        async with self.opened(tmp_path) as (store, _):
            await store.spend(whole)
            await store.spend(later)
        async with self.opened(tmp_path) as (store, _):
            assert list(await store.spent(since=NOW)) == [whole, later]
            assert list(await store.spent(since=NOW + 1)) == [later]
            for narrow in ({"key": "chat"}, {"channel": "desk"}, {"sender": "desk:ann"}):
                assert list(await store.spent(since=0, **narrow)) == [whole]
            assert list(await store.spent(since=0, turn="t2", channel="mail")) == [later]
            assert list(await store.spent(since=0, turn="t1", channel="mail")) == []
