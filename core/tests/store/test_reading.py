"""The store for those who only look."""

from __future__ import annotations

import sqlite3

import pytest

from pegboard.contracts.errors import StoreError
from pegboard.contracts.turn import Incoming
from pegboard.store.database import Database
from pegboard.store.embedded import open_store
from pegboard.store.reading import reading
from pegboard.store.sqlite import FILE_NAME

pytestmark = pytest.mark.anyio


def incoming():
    return Incoming(
        turn="t1", key="k", channel="desk", chat="1", message={"text": "a"}, caller={}, at=1.0
    )


async def test_it_is_read_while_a_host_owns_it(tmp_path):
    owner = await open_store(tmp_path, exclusive=True)
    try:
        await owner.ingest(incoming())
        async with reading(tmp_path) as store:
            assert (await store.turn("t1")).message == {"text": "a"}
            assert (await store.begun("t1")).calls == {}
            assert [c.key for c in await store.conversations()] == ["k"]
            with pytest.raises(StoreError, match="for reading only"):
                await store.ingest(incoming())
    finally:
        await owner.aclose()


async def test_where_there_is_none_it_says_so_and_makes_none(tmp_path):
    with pytest.raises(StoreError, match="no store"):
        async with reading(tmp_path):
            raise AssertionError
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("version", "why"), [(99, "newer"), (1, "older")])
async def test_another_version_is_refused(tmp_path, version, why):
    database = Database(tmp_path)
    await database.open()
    await database.aclose()
    connection = sqlite3.connect(tmp_path / FILE_NAME)
    connection.execute(f"PRAGMA user_version={version}")
    connection.close()
    with pytest.raises(StoreError, match=why):
        async with reading(tmp_path):
            raise AssertionError
