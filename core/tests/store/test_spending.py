from __future__ import annotations

import pytest

from pegboard.contracts.errors import StoreError
from pegboard.contracts.spending import Spending

pytestmark = pytest.mark.anyio


async def test_what_was_spent_is_found_by_time_and_by_who_spent_it(store):
    one = Spending(
        at=10.0,
        turn="t1",
        key="k",
        channel="chat",
        sender="chat:\ud800",
        agent="b",
        plugin="p",
        provider="openai",
        model="m",
        input=5,
        output=6,
        cached=2,
        cost=0.25,
    )
    two = Spending(at=20.0, sender="x")
    for spending in (two, one):
        await store.spend(spending)
    assert await store.spent(since=0.0) == [one, two]
    assert await store.spent(since=10.0) == [one, two]
    assert await store.spent(since=10.1) == [two]
    for of in ({"key": "k"}, {"turn": "t1"}, {"channel": "chat"}, {"sender": "chat:\ud800"}):
        assert await store.spent(since=0.0, **of) == [one]
    assert await store.spent(since=0.0, key="k", sender="x") == []


async def test_it_is_narrowed_only_by_what_is_kept(store):
    with pytest.raises(StoreError, match="can't be narrowed by colour") as raised:
        await store.spent(since=0.0, colour="red", key="k")
    assert raised.value.fix == "use key, channel, sender, turn"


async def test_what_was_spent_stays_when_its_conversation_is_erased(store, make):
    await store.ingest(make.incoming("t1"))
    await store.spend(Spending(at=1.0, key="k", turn="t1", cost=1.0))
    await store.forget("k")
    assert len(await store.spent(since=0.0, key="k")) == 1
