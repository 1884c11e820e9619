"""The laws of a store about replies and questions: none twice, none stale, none for ever."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

from pegboard.contracts.approval import Approval
from pegboard.contracts.store import Store
from pegboard.contracts.turn import TurnRef
from pegboard.testing.contracts.backend_suite import (
    NOW,
    BackendSuite,
    began,
    began_again,
    incoming,
    new_id,
    took,
)


def approval(ref: TurnRef, call: str = "c1", **more: Any) -> Approval:
    """Return a question about a call of a turn."""
    facts = {
        "turn": ref.turn,
        "call": call,
        "key": ref.key,
        "tool": "shell:run",
        "subject": "s1",
        "question": "Run rm -r build?",
        "rule": "rules.0",
        "token": new_id(),
        "asked_at": NOW,
        "expires_at": NOW + 60,
    }
    return Approval(**{**facts, **more})


async def answered(
    store: Store, asked: Approval, *, agreed: bool = True, now: float = NOW + 1, key: str = ""
) -> Approval | None:
    """Answer a question by its token."""
    return await store.answer(
        key or asked.key, asked.token, agreed=agreed, grain="run", by="desk:ann", now=now
    )


class OutboxLaws(BackendSuite):
    """A reply is written before it is sent, and it is known of each part what became of it."""

    async def test_a_reply_is_kept_once(self, tmp_path: Path) -> None:
        """The next attempt finds it as it was written; writing it again changes nothing."""
        async with self.opened(tmp_path) as (store, _):
            ref = await took(store)
            fence = (await began(store, ref)).turn.fence
            await store.reply(ref.turn, fence, [{"text": "one"}, {"text": "two"}], now=NOW)
            await store.reply(ref.turn, fence, [{"text": "other"}], now=NOW + 1)
        async with self.opened(tmp_path) as (store, _):
            parts = (await began(store, ref)).outbox
        assert [part.message for part in parts] == [{"text": "one"}, {"text": "two"}]
        assert [(part.turn, part.part, part.key) for part in parts] == [
            (ref.turn, 0, "chat"),
            (ref.turn, 1, "chat"),
        ]
        assert {(part.state, part.external_ids) for part in parts} == {("pending", ())}

    async def test_what_was_sent_is_known(self, tmp_path: Path) -> None:
        """With the ids that the channel gave it; also when the attempt is over by then."""
        async with self.opened(tmp_path) as (store, _):
            ref, fence = await self._replied(store)
            assert await store.sending(ref.turn, fence, 0, now=NOW)
            await store.sent(ref.turn, 0, ["m1", "m2"], now=NOW + 1)
            assert await store.sending(ref.turn, fence, 1, now=NOW)
            await store.release(ref.turn, fence)
            await store.sent(ref.turn, 1, ["m3"], now=NOW + 1)
            parts = (await began(store, ref)).outbox
            assert [(part.state, part.external_ids) for part in parts] == [
                ("sent", ("m1", "m2")),
                ("sent", ("m3",)),
            ]

    @pytest.mark.parametrize("why", ["fenced", "stopped", "anew"])
    async def test_a_stale_part_is_not_sent(self, tmp_path: Path, why: str) -> None:
        """Right before it is sent: another attempt has it, `/stop` was said, or `/new`."""
        async with self.opened(tmp_path) as (store, _):
            ref, fence = await self._replied(store)
            assert await store.sending(ref.turn, fence, 0, now=NOW)
            await store.sent(ref.turn, 0, [], now=NOW)
            if why == "fenced":
                await store.release(ref.turn, fence)
                await began(store, ref)
            elif why == "stopped":
                await store.ask_to_stop(ref.key)
            else:
                await store.new_epoch(ref.key, now=NOW)
            assert not await store.sending(ref.turn, fence, 1, now=NOW)

    async def test_what_a_turn_has_not_sent_at_its_end_is_stale(self, tmp_path: Path) -> None:
        """Nobody sends it later; what was sent stays so."""
        async with self.opened(tmp_path) as (store, _):
            ref, fence = await self._replied(store)
            assert await store.sending(ref.turn, fence, 0, now=NOW)
            await store.sent(ref.turn, 0, ["m1"], now=NOW)
            await store.finish(ref.turn, fence, state="done", now=NOW)
            assert not await store.sending(ref.turn, fence, 1, now=NOW)
            seen = await store.begun(ref.turn)
            assert seen is not None
            assert [part.state for part in seen.outbox] == ["sent", "stale"]

    async def test_a_newer_message_does_not_make_a_reply_stale(self, tmp_path: Path) -> None:
        """What came later waits for its own turn."""
        async with self.opened(tmp_path) as (store, _):
            ref, fence = await self._replied(store)
            await took(store)
            assert await store.sending(ref.turn, fence, 0, now=NOW)

    async def test_a_part_that_was_being_sent_is_found(self, tmp_path: Path) -> None:
        """A host that ended while it sent leaves the part as it was, for the next to decide."""
        async with self.opened(tmp_path) as (store, _):
            ref, fence = await self._replied(store)
            await store.sending(ref.turn, fence, 0, now=NOW)
        async with self.opened(tmp_path) as (store, _):
            begun = await began(store, ref)
            assert [part.state for part in begun.outbox] == ["sending", "pending"]
            await store.doubt(ref.turn, 0, now=NOW)
            (doubtful,) = await store.doubtful()
            assert (doubtful.state, doubtful.message) == ("in_doubt", {"text": "one"})
            again = await began_again(store, begun)
            assert [part.state for part in again.outbox] == ["in_doubt", "pending"]

    async def test_a_part_that_can_not_be_delivered_is_not_in_doubt(self, tmp_path: Path) -> None:
        """It was certainly not sent: nobody is told of it as something that they may have read."""
        async with self.opened(tmp_path) as (store, _):
            ref, fence = await self._replied(store)
            await store.sending(ref.turn, fence, 0, now=NOW)
            await store.give_up(ref.turn, 0, now=NOW)
            assert not await store.sending(ref.turn, fence, 0, now=NOW)
            await store.finish(ref.turn, fence, state="failed", now=NOW)
            begun = await store.begun(ref.turn)
            assert begun is not None
            assert [part.state for part in begun.outbox] == ["failed", "stale"]
            assert await store.doubtful() == []

    async def test_a_doubt_is_told_once(self, tmp_path: Path) -> None:
        """Listed until it was told to the person; then it is settled."""
        async with self.opened(tmp_path) as (store, _):
            ref, fence = await self._replied(store)
            other, second = await self._replied(store, "other")
            for turn, owner in ((ref.turn, fence), (other.turn, second)):
                await store.sending(turn, owner, 0, now=NOW)
                await store.doubt(turn, 0, now=NOW)
            assert [part.key for part in await store.doubtful("chat")] == ["chat"]
            assert {part.key for part in await store.doubtful()} == {"chat", "other"}
            assert len(await store.doubtful("chat", settle=True)) == 1
            assert await store.doubtful("chat", settle=True) == []
            assert [part.key for part in await store.doubtful()] == ["other"]

    async def _replied(self, store: Store, key: str = "chat") -> tuple[TurnRef, int]:
        ref = await took(store, key)
        fence = (await began(store, ref)).turn.fence
        await store.reply(ref.turn, fence, [{"text": "one"}, {"text": "two"}], now=NOW)
        return ref, fence


class ApprovalLaws(BackendSuite):
    """A question waits for one answer, for a while, in its own conversation."""

    async def test_an_answer_reaches_the_next_attempt(self, tmp_path: Path) -> None:
        """Agreed or refused, with who said so and how far it goes; also after a restart."""
        async with self.opened(tmp_path) as (store, _):
            ref = await took(store)
            fence = (await began(store, ref)).turn.fence
            yes = await store.ask(approval(ref))
            no = await store.ask(approval(ref, "c2", subject="s2"))
            assert [found.call for found in await store.approvals("chat")] == ["c1", "c2"]
            assert await store.wait(ref.turn, fence, until=NOW + 60)
            agreed = await answered(store, yes)
            assert agreed is not None
            assert (agreed.state, agreed.grain, agreed.by) == ("agreed", "run", "desk:ann")
            assert await answered(store, no, agreed=False) is not None
            assert await store.approvals() == []
        async with self.opened(tmp_path) as (store, _):
            found = (await began(store, ref)).approvals
        assert {call: item.state for call, item in found.items()} == {
            "c1": "agreed",
            "c2": "refused",
        }
        assert found["c1"] == agreed

    async def test_an_answer_counts_once(self, tmp_path: Path) -> None:
        """Of five answers at one time one counts, and none that comes later."""
        async with self.opened(tmp_path) as (store, _), self.opened(tmp_path) as (other, _):
            ref = await took(store)
            await began(store, ref)
            asked = await store.ask(approval(ref))
            answers: list[Approval | None] = []

            async def answer(host: Store, agreed: bool) -> None:
                answers.append(await answered(host, asked, agreed=agreed))

            async with anyio.create_task_group() as group:
                for number in range(5):
                    group.start_soon(answer, (store, other)[number % 2], bool(number % 3))
            assert len([item for item in answers if item is not None]) == 1
            assert await answered(store, asked) is None

    async def test_only_its_own_conversation_answers(self, tmp_path: Path) -> None:
        """Not another one, and not a token that nobody was given."""
        async with self.opened(tmp_path) as (store, _):
            ref = await took(store)
            await took(store, "other")
            await began(store, ref)
            asked = await store.ask(approval(ref))
            assert await answered(store, asked, key="other") is None
            assert await answered(store, approval(ref, token="guess")) is None
            assert [item.state for item in await store.approvals()] == ["pending"]

    async def test_silence_is_no_answer(self, tmp_path: Path) -> None:
        """What has expired can't be answered any more."""
        async with self.opened(tmp_path) as (store, _):
            ref = await took(store)
            begun = await began(store, ref)
            asked = await store.ask(approval(ref))
            assert await answered(store, asked, now=NOW + 60) is None
            found = (await began_again(store, begun)).approvals["c1"]
            assert found.state_at(NOW + 60) == "expired"

    async def test_one_question_stands_for_all_that_ask_the_same(self, tmp_path: Path) -> None:
        """The second call shares the question that is pending, and the answer to it."""
        async with self.opened(tmp_path) as (store, _):
            ref, other = await took(store), await took(store, "other")
            begun, apart = await began(store, ref), await began(store, other)
            first = await store.ask(approval(ref))
            second = await store.ask(approval(ref, "c2"))
            third = await store.ask(approval(other))
            assert second.token == first.token
            assert third.token != first.token, "a question of another conversation is shared"
            assert await answered(store, first) is not None
            found = (await began_again(store, begun)).approvals
            assert [found[call].state for call in ("c1", "c2")] == ["agreed", "agreed"]
            assert (await began_again(store, apart)).approvals["c1"].state == "pending"

    async def test_a_call_is_asked_about_once(self, tmp_path: Path) -> None:
        """An attempt that comes to it again finds the question, and the answer to it."""
        async with self.opened(tmp_path) as (store, _):
            ref = await took(store)
            await began(store, ref)
            first = await store.ask(approval(ref))
            assert await store.ask(approval(ref)) == first
            await answered(store, first, agreed=False)
            assert (await store.ask(approval(ref))).state == "refused"
            assert await store.approvals() == []

    async def test_what_is_asked_again_later_is_asked_anew(self, tmp_path: Path) -> None:
        """An answered question is over: another call of the same subject gets its own."""
        async with self.opened(tmp_path) as (store, _):
            ref = (await store.ingest(incoming())).ref
            await began(store, ref)
            first = await store.ask(approval(ref))
            await answered(store, first)
            second = await store.ask(approval(ref, "c2"))
            assert second.token != first.token
            assert second.state == "pending"
