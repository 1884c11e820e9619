"""Conversations: what is said in them, summed up, begun anew, copied and erased."""

from __future__ import annotations

import pytest

from pegboard.contracts.errors import StoreError
from pegboard.contracts.store import FencedError
from pegboard.contracts.transcript import Conversation, Transcript, TurnMessages

pytestmark = pytest.mark.anyio


async def add(store, make, turn, text, *, key="k", tokens=None, now=3.0, messages=None):
    await store.ingest(make.incoming(turn, key, at=now))
    begun = await store.begin(turn, now=now, max_attempts=3)
    said = [make.said(text), make.said(f"re {text}", "assistant")] if text else []
    await store.finish(
        turn,
        begun.turn.fence,
        state="done",
        now=now,
        messages=said if messages is None else messages,
        tokens=tokens,
    )


def texts(turns):
    return [turn.messages[0]["parts"][0]["text"] for turn in turns]


async def transcript(store, key="k"):
    return texts((await store.transcript(key)).turns)


async def test_a_transcript_is_what_turns_have_said_in_order(store, make):
    await add(store, make, "t1", "one", tokens=10, now=3.0)
    await add(store, make, "t2", "", now=4.0)
    await add(store, make, "t3", "three", tokens=30, now=5.0)
    found = await store.transcript("k")
    assert found.tokens == 30
    assert found.turns == (
        TurnMessages(
            seq=1, messages=(make.said("one"), make.said("re one", "assistant")), turn="t1", at=3.0
        ),
        TurnMessages(
            seq=3,
            messages=(make.said("three"), make.said("re three", "assistant")),
            turn="t3",
            at=5.0,
        ),
    )
    assert tuple(await store.messages("k")) == found.turns
    assert await store.transcript("other") == Transcript()
    assert await store.messages("other") == []


async def test_the_number_of_tokens_stays_known_through_a_turn_without_a_model(store, make):
    await add(store, make, "t1", "one", tokens=10)
    await add(store, make, "t2", "two", tokens=None)
    assert (await store.transcript("k")).tokens == 10


async def test_a_summary_stands_for_what_it_sums_up(store, make):
    for number in (1, 2, 3, 4):
        await add(store, make, f"t{number}", f"turn {number}", tokens=number)
    done = await store.summarize("k", through=2, messages=[make.said("1-2")], tokens=7, now=9.0)
    assert done and await transcript(store) == ["1-2", "turn 3", "turn 4"]
    found = await store.transcript("k")
    assert (found.turns[0].summary, found.turns[0].seq, found.turns[0].turn) == (True, 2, "")
    assert found.tokens == 7
    # a second one for the same turns is too late; a later one stands for the first as well
    assert not await store.summarize("k", through=2, messages=[], tokens=1, now=9.0)
    assert await store.summarize("k", through=3, messages=[make.said("1-3")], tokens=None, now=9.0)
    assert await transcript(store) == ["1-3", "turn 4"]
    assert (await store.transcript("k")).tokens is None
    assert texts(await store.messages("k")) == ["turn 1", "turn 2", "turn 3", "turn 4"]


async def test_a_summary_of_nothing_is_not_kept(store, make):
    assert not await store.summarize("k", through=5, messages=[], tokens=1, now=1.0)
    await store.ingest(make.incoming("t1"))
    assert not await store.summarize("k", through=5, messages=[], tokens=1, now=1.0)


async def test_a_summary_that_comes_after_a_new_beginning_is_not_kept(store, make):
    await add(store, make, "t1", "one")
    await store.new_epoch("k", now=4.0)
    assert not await store.summarize("k", through=1, messages=[], tokens=1, now=5.0)
    await add(store, make, "t2", "two")
    assert not await store.summarize("k", through=1, messages=[], tokens=1, now=5.0)
    assert await transcript(store) == ["two"]
    assert await store.summarize("k", through=2, messages=[make.said("s")], tokens=1, now=5.0)
    assert await transcript(store) == ["s"]


async def test_a_new_beginning_empties_the_transcript_and_keeps_what_was_said(store, make):
    await add(store, make, "t1", "one", tokens=10)
    await store.summarize("k", through=1, messages=[make.said("s")], tokens=5, now=3.0)
    await store.ingest(make.incoming("t2"))
    await store.begin("t2", now=3.0, max_attempts=3)
    await store.new_epoch("k", now=4.0)
    assert await store.transcript("k") == Transcript()
    # what was under way is not in it either
    await store.finish("t2", 1, state="done", now=5.0, messages=[make.said("late")], tokens=99)
    assert await store.transcript("k") == Transcript()
    await add(store, make, "t3", "three", tokens=3)
    assert await transcript(store) == ["three"]
    assert texts(await store.messages("k")) == ["one", "late", "three"]


async def test_conversations_are_listed_with_the_latest_first(store, make):
    await add(store, make, "a1", "x", key="a", now=10.0)
    await add(store, make, "b1", "x", key="b", now=20.0)
    await store.ingest(make.incoming("a2", "a", at=30.0))
    await store.ingest(make.incoming("c1", "c", channel="mail", at=25.0))
    assert [found.key for found in await store.conversations()] == ["a", "c", "b"]
    assert [found.key for found in await store.conversations(limit=2)] == ["a", "c"]
    assert [found.key for found in await store.conversations(channel="chat")] == ["a", "b"]
    assert [found.key for found in await store.conversations(channel="chat", limit=1)] == ["a"]
    assert (await store.conversations(limit=1))[0] == Conversation(
        key="a",
        channel="chat",
        chat="a",
        title="hello",
        turns=2,
        open=1,
        created_at=10.0,
        updated_at=30.0,
    )


async def test_a_copy_goes_its_own_way(store, make):
    await add(store, make, "t1", "old")
    await store.new_epoch("k", now=4.0)
    await add(store, make, "t2", "one")
    await add(store, make, "t3", "two", tokens=20)
    await store.summarize("k", through=2, messages=[make.said("s")], tokens=20, now=9.0)
    copy = Conversation(key="copy", channel="term", chat="c", thread="t", agent="b", created_at=9.0)
    assert await store.fork("k", copy)
    assert await store.transcript("copy") == await store.transcript("k")
    assert await store.messages("copy") == await store.messages("k")
    await add(store, make, "u1", "three", key="copy")
    assert await transcript(store, "copy") == ["s", "two", "three"]
    assert await transcript(store, "k") == ["s", "two"]
    listed = {found.key: found for found in await store.conversations()}
    assert (listed["copy"].channel, listed["copy"].thread, listed["copy"].agent) == (
        "term",
        "t",
        "b",
    )
    assert (listed["copy"].title, listed["copy"].turns, listed["copy"].open) == ("hello", 4, 0)


async def test_a_copy_needs_something_to_copy_and_a_free_key(store, make):
    copy = Conversation(key="copy", channel="chat", chat="c", title="Mine")
    assert not await store.fork("k", copy)
    assert await store.conversations() == []
    await add(store, make, "t1", "one")
    assert await store.fork("k", copy)
    assert {found.title for found in await store.conversations()} == {"hello", "Mine"}
    with pytest.raises(StoreError, match="is a conversation copy already") as raised:
        await store.fork("k", copy)
    assert raised.value.fix == "pegboard sessions show copy"


async def test_what_is_erased_is_gone_from_every_table_and_from_the_file(store, make):
    secret = "zzyzxsecret"
    await add(store, make, "t1", secret)
    await store.summarize("k", through=1, messages=[make.said(secret)], tokens=1, now=3.0)
    await store.ingest(make.incoming("t2", text=secret))
    await store.begin("t2", now=3.0, max_attempts=3)
    await store.intend("t2", 1, [make.tool_call("a", result={"text": secret * 1000})])
    await store.ask(make.question("t2", "b", question=secret))
    await store.reply("t2", 1, [{"text": secret}], now=4.0)
    await add(store, make, "u1", "kept", key="u")
    before = make.dump(store.database.path)
    assert await store.forget("k")
    assert not await store.forget("k")
    with pytest.raises(FencedError, match="it was erased"):
        await store.record("t2", 1, "a", {})
    after = make.dump(store.database.path)
    assert {table for table in before if secret in repr(before[table])} > {"message", "inbox"}
    for table, rows in after.items():
        assert secret not in repr(rows), table
    assert [found.key for found in await store.conversations()] == ["u"]
    assert [len(after[table]) for table in ("turn", "message", "message_fts_docsize")] == [1, 1, 1]
    await store.aclose()
    assert not store.database.path.with_name("pegboard.db-wal").exists()
    assert secret.encode() not in store.database.path.read_bytes()


async def test_a_conversation_that_was_erased_can_begin_again(store, make):
    await add(store, make, "t1", "one")
    await store.forget("k")
    assert (await store.ingest(make.incoming("t2", external_id="m"))).ref.seq == 1


async def test_what_people_and_the_model_said_can_be_searched(store, make):
    tool = {"role": "tool", "results": [{"text": "machine words"}]}
    odd = {"role": "user", "parts": "no list", "text": "half \ud800 a Café"}
    await add(store, make, "t1", "", messages=[make.said("Grüße"), tool, odd, {"role": "user"}])

    def found(connection, words):
        query = "SELECT rowid FROM message_fts WHERE message_fts MATCH ?"
        return len(connection.execute(query, (words,)).fetchall())

    for words, count in (("grusse", 0), ("Grüße", 1), ("cafe", 1), ("half", 1), ("machine", 0)):
        assert await store.database.read(lambda c, w=words: found(c, w)) == count, words
