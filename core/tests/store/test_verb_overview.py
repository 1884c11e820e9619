"""The overview by verbs says what the one that reads the file says."""

from __future__ import annotations

import time
from contextlib import closing

import pytest

from pegboard.contracts.turn import Incoming
from pegboard.store.embedded import open_store
from pegboard.store.overview import overview
from pegboard.store.sqlite import FILE_NAME, open_for_reading
from pegboard.store.verb_overview import overview_from, overview_of

pytestmark = pytest.mark.anyio


async def test_both_overviews_are_equal(tmp_path):
    now = time.time()
    store = await open_store(tmp_path)
    for number in range(3):
        await store.ingest(
            Incoming(
                turn=f"t{number}",
                key=f"tg/{number}",
                channel="tg",
                chat=str(number),
                message={"text": f"text {number}"},
                caller={},
                at=now,
            )
        )
        if number < 2:
            begun = await store.begin(f"t{number}", now=now, max_attempts=3)
            at = now + number
            await store.finish(f"t{number}", begun.turn.fence, state="dead", now=at)
    found = await overview_of(store, now=now)
    await store.aclose()
    assert (found.dead_turns, found.open_turns) == (2, 1)
    assert [item.turn for item in found.dead] == ["t1", "t0"]
    with closing(open_for_reading(tmp_path / FILE_NAME)) as connection:
        assert overview(connection, now=now) == found
    assert overview_from(found.to_dict()) == found
