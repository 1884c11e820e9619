from __future__ import annotations

import pytest

from pegboard.contracts.errors import StoreError
from pegboard.store.embedded import open_store

pytestmark = pytest.mark.anyio


@pytest.fixture
async def replied(store, make):
    await store.ingest(make.incoming("t1"))
    await store.begin("t1", now=2.0, max_attempts=3)
    await store.reply("t1", 1, [{"text": "one"}, {"text": "two"}], now=3.0)
    return store


async def states(store, turn="t1"):
    return [part.state for part in (await store.begun(turn)).outbox]


async def test_a_reply_is_written_once_and_sent_part_by_part(replied):
    await replied.reply("t1", 1, [{"text": "another"}], now=4.0)
    parts = (await replied.begun("t1")).outbox
    assert [(part.part, part.message, part.key, part.at) for part in parts] == [
        (0, {"text": "one"}, "k", 3.0),
        (1, {"text": "two"}, "k", 3.0),
    ]
    assert await replied.sending("t1", 1, 0, now=4.0)
    assert await states(replied) == ["sending", "pending"]
    await replied.sent("t1", 0, ["x", "y\ud800"], now=50.0)
    part = (await replied.begun("t1")).outbox[0]
    assert (part.state, part.external_ids, part.at) == ("sent", ("x", "y\ud800"), 50.0)
    assert (await replied.conversations())[0].updated_at == 50.0


async def test_what_was_sent_or_is_in_doubt_is_never_sent_again(replied):
    await replied.sending("t1", 1, 0, now=4.0)
    await replied.sent("t1", 0, [], now=4.0)
    await replied.doubt("t1", 0, now=5.0)
    assert not await replied.sending("t1", 1, 0, now=6.0)
    await replied.sending("t1", 1, 1, now=4.0)
    await replied.doubt("t1", 1, now=5.0)
    assert not await replied.sending("t1", 1, 1, now=6.0)
    assert await states(replied) == ["sent", "in_doubt"]


async def test_what_was_not_being_sent_is_not_in_doubt(replied):
    await replied.doubt("t1", 0, now=5.0)
    assert await states(replied) == ["pending", "pending"]
    assert await replied.doubtful() == []


async def test_doubt_ends_when_it_turns_out_that_it_was_sent(replied):
    await replied.sending("t1", 1, 0, now=4.0)
    await replied.doubt("t1", 0, now=5.0)
    await replied.sent("t1", 0, ["x"], now=6.0)
    assert await replied.doubtful() == []


async def test_a_part_that_is_not_there_is_a_mistake(replied):
    with pytest.raises(StoreError, match="has no part 7") as raised:
        await replied.sending("t1", 1, 7, now=4.0)
    assert raised.value.fix == "call Store.reply before Store.sending"
    await replied.sent("t1", 7, [], now=4.0)
    await replied.sent("t9", 0, [], now=4.0)
    assert await states(replied) == ["pending", "pending"]


async def test_after_a_crash_a_part_may_be_sent_again_by_the_next_attempt_only(
    tmp_path, replied, make
):
    await replied.sending("t1", 1, 0, now=4.0)
    replied._workers.leave()
    host = await open_store(tmp_path, worker="next")
    begun = await host.begin("t1", now=5.0, max_attempts=3)
    assert [part.state for part in begun.outbox] == ["sending", "pending"]
    assert not await replied.sending("t1", 1, 1, now=6.0)
    assert await host.sending("t1", 2, 0, now=6.0)
    assert await host.sending("t1", 2, 1, now=6.0)
    # that the old attempt has sent it after all is a fact
    await replied.sent("t1", 1, ["x"], now=7.0)
    assert await states(host) == ["sending", "sent"]
    await host.aclose()


async def test_a_turn_that_ends_sends_no_more_of_its_reply(replied):
    await replied.sending("t1", 1, 0, now=4.0)
    await replied.finish("t1", 1, state="failed", now=5.0)
    assert await states(replied) == ["in_doubt", "stale"]
    assert not await replied.sending("t1", 1, 1, now=6.0)


async def test_what_can_not_be_delivered_was_not_sent(replied):
    await replied.sending("t1", 1, 0, now=4.0)
    await replied.give_up("t1", 0, now=5.0)
    await replied.give_up("t1", 1, now=5.0)
    assert await states(replied) == ["failed", "failed"]
    assert not await replied.sending("t1", 1, 0, now=6.0)
    await replied.finish("t1", 1, state="failed", now=6.0)
    assert await states(replied) == ["failed", "failed"]
    assert await replied.doubtful() == []


async def test_what_was_sent_is_not_given_up(replied):
    await replied.sending("t1", 1, 0, now=4.0)
    await replied.sent("t1", 0, ["9"], now=5.0)
    await replied.give_up("t1", 0, now=6.0)
    assert await states(replied) == ["sent", "pending"]


async def test_a_reply_to_an_erased_conversation_is_stale(replied):
    await replied.forget("k")
    assert not await replied.sending("t1", 1, 0, now=6.0)
    await replied.sent("t1", 0, [], now=6.0)
    await replied.doubt("t1", 0, now=6.0)
    assert await replied.doubtful() == []


async def test_what_is_in_doubt_is_told_once(replied, make):
    await replied.sending("t1", 1, 0, now=4.0)
    await replied.doubt("t1", 0, now=5.0)
    await replied.ingest(make.incoming("u1", "u"))
    await replied.begin("u1", now=2.0, max_attempts=3)
    await replied.reply("u1", 1, [{"text": "other"}], now=3.0)
    await replied.sending("u1", 1, 0, now=4.0)
    await replied.doubt("u1", 0, now=6.0)
    assert [part.turn for part in await replied.doubtful()] == ["t1", "u1"]
    assert [part.turn for part in await replied.doubtful("k")] == ["t1"]
    (part,) = await replied.doubtful("k", settle=True)
    assert (part.turn, part.message, part.state) == ("t1", {"text": "one"}, "in_doubt")
    assert await replied.doubtful("k", settle=True) == []
    assert [part.turn for part in await replied.doubtful()] == ["u1"]
    assert [part.turn for part in await replied.doubtful(settle=True)] == ["u1"]
    assert await replied.doubtful() == []


async def test_an_empty_reply_can_be_written_later(store, make):
    await store.ingest(make.incoming("t1"))
    await store.begin("t1", now=2.0, max_attempts=3)
    await store.reply("t1", 1, [], now=3.0)
    await store.reply("t1", 1, [{"text": "x"}], now=3.0)
    assert await states(store) == ["pending"]
