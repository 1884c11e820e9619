"""Text and JSON that break naive stores come back as they were."""

from __future__ import annotations

import random
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard.contracts.errors import StoreError
from pegboard.contracts.transcript import Conversation
from pegboard.store import encoding
from pegboard.store.encoding import as_was, dumped, kept, loaded, searchable

ODD = (
    "",
    "half \ud800 a character",
    "\udfff",
    "nul \0 inside",
    "\0",
    "quotes ' \" ` \\ '; DROP TABLE turn; --",
    "\x1a already marked",
    '\x1a"kept"',
    "\ufffe\uffff\u2028\U0010ffff",
    "%_*?[a-z]",
    "e\u0301 is not \u00e9",
    "\x7f\x80\x1b[31m",
    "x" * 100_000,
)
text = st.text(st.characters(), max_size=20) | st.sampled_from(ODD[:-1])
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    # half characters and NUL in keys as well
    | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=10,
)


@given(text, text)
def test_text_comes_back_and_different_texts_stay_different(one, two):
    assert as_was(kept(one)) == one
    assert (kept(one) == kept(two)) == (one == two)
    kept(one).encode()
    assert "\0" not in kept(one)


@given(values)
def test_json_comes_back(value):
    assert dumped(value, "value").isascii()
    assert loaded(dumped(value, "value")) == value


def test_a_mapping_that_is_no_dict_is_an_object():
    from types import MappingProxyType

    assert loaded(dumped({"a": MappingProxyType({"b": 1})}, "value")) == {"a": {"b": 1}}


@pytest.mark.parametrize("value", [float("inf"), {1j}, {"a": b""}, {(1, 2): 3}])
def test_what_is_no_json_is_refused(value):
    with pytest.raises(StoreError, match=r"The thing can't be kept, it is no JSON: "):
        dumped(value, "thing")


def test_what_is_nested_too_deeply_is_refused():
    value = []
    for _ in range(200_000):
        value = [value]
    with pytest.raises(StoreError, match="it is nested too deeply"):
        dumped(value, "thing")


def test_what_is_searched_is_whole_characters():
    assert searchable("a\ud800b\0c") == "ab c"
    assert encoding.searchable("é") == "é"


@pytest.mark.anyio
@pytest.mark.parametrize("odd", ODD, ids=range(len(ODD)))
async def test_odd_text_everywhere_comes_back(store, make, odd):
    key, turn = f"key {odd}", f"turn {odd}"
    deep = {"text": odd, odd: [odd, {"x": odd}], "n": 0.1, "big": 2**80, "none": None}
    for name, id in (("t0", ""), (turn, odd), ("again", odd)):
        receipt = await store.ingest(
            make.incoming(
                name,
                key,
                channel=f"channel {odd}",
                chat=f"chat {odd}",
                thread=odd,
                agent=odd,
                external_id=id,
                message=deep,
                caller=deep,
            )
        )
        assert receipt.ref.key == key
    await store.begin("t0", now=1.0, max_attempts=1)
    await store.finish("t0", 1, state="done", now=2.0)
    if odd:
        assert receipt.duplicate and receipt.ref.turn == turn
    assert next(ref.turn for ref in await store.open_turns()) == turn
    record = (await store.begin(turn, now=1.0, max_attempts=1)).turn
    assert (record.message, record.caller, record.agent) == (deep, deep, odd)
    call = make.tool_call(odd, name=odd, digest=odd, idempotency_key=odd)
    await store.intend(turn, 1, [call])
    await store.record(turn, 1, odd, deep)
    asked = make.question(
        turn, odd, key=key, tool=odd, subject=odd, question=odd, rule=odd, token=f"token {odd}"
    )
    assert await store.ask(asked) == asked
    assert (await store.approvals(key)) == [asked]
    answered = await store.answer(key, f"token {odd}", agreed=True, grain="once", by=odd, now=20.0)
    await store.reply(turn, 1, [deep], now=1.0)
    await store.sending(turn, 1, 0, now=1.0)
    await store.sent(turn, 0, [odd], now=1.0)
    begun = await store.begun(turn)
    assert begun.calls[odd].result == deep and begun.calls[odd].name == odd
    assert begun.approvals == {odd: answered} and answered.by == odd
    assert (begun.outbox[0].message, begun.outbox[0].external_ids) == (deep, (odd,))
    said = [make.said(odd), make.said(odd, "assistant")]
    await store.finish(turn, 1, state="failed", now=2.0, messages=said, error=deep)
    assert (await store.turn(turn)).error == deep
    assert (await store.transcript(key)).turns[0].messages == tuple(said)
    await store.summarize(key, through=2, messages=said, tokens=1, now=3.0)
    assert await store.fork(key, Conversation(key="copy", channel="c", chat="c", title=odd))
    (found,) = await store.conversations(channel=f"channel {odd}")
    assert (found.key, found.chat, found.thread) == (key, f"chat {odd}", odd)
    assert found.title == " ".join(odd[:320].split())[:80]
    assert await store.forget(key)


@pytest.mark.anyio
async def test_a_result_of_50_mb_is_kept(store, make):
    await store.ingest(make.incoming("t1"))
    await store.begin("t1", now=1.0, max_attempts=3)
    rng = random.Random(1)
    block = "".join(chr(rng.randrange(1, 0xD800)) for _ in range(1000)) + "\ud800\0"
    result = {"text": block * 1000 + "x" * 49_000_000}
    assert len(result["text"]) > 50_000_000
    await store.intend("t1", 1, [make.tool_call("a")])
    await store.record("t1", 1, "a", result)
    assert (await store.begun("t1")).calls["a"].result == result
    # and others are still served
    assert (await store.ingest(make.incoming("u1", "u"))).ref.seq == 1
    sizes = "SELECT length(result) FROM call"
    (size,) = await store.database.read(partial(lambda sql, c: c.execute(sql).fetchone(), sizes))
    assert size > 50_000_000
