"""What comes at one time is written at one time."""

from __future__ import annotations

import asyncio
from contextlib import closing

import anyio
import pytest

from pegboard.contracts.errors import StoreError
from pegboard.store.database import Database
from pegboard.store.migration import Migration
from pegboard.store.sqlite import open_for_reading
from pegboard.store.writer import Request

pytestmark = pytest.mark.anyio

TABLE = (Migration(1, "a table", ("CREATE TABLE note(n INTEGER PRIMARY KEY)",)),)


@pytest.fixture
async def database(tmp_path):
    made = Database(tmp_path, migrations=TABLE)
    await made.open()
    yield made
    await made.aclose()


def adding(number):
    return lambda connection: connection.execute("INSERT INTO note VALUES (?)", (number,)).lastrowid


def failing(connection):
    connection.execute("INSERT INTO note VALUES (1000)")
    raise LookupError("on purpose")


async def numbers(database):
    return await database.read(
        lambda connection: [row[0] for row in connection.execute("SELECT n FROM note ORDER BY n")]
    )


async def gathered(database, *works):
    return await asyncio.gather(*map(database.write, works), return_exceptions=True)


async def test_what_comes_in_one_round_of_the_loop_shares_one_sync(database):
    before = database._writer.groups
    assert await gathered(database, *map(adding, range(1, 101))) == list(range(1, 101))
    assert database._writer.groups == before + 1
    # and so does what follows from it: all are told in one round, and come back in one
    before = database._writer.groups

    async def many(first):
        for number in range(first, first + 5):
            await database.write(adding(number))

    async with anyio.create_task_group() as group:
        for first in range(1000, 2000, 10):
            group.start_soon(many, first)
    assert database._writer.groups <= before + 7


async def test_one_that_fails_is_undone_alone(database):
    before = database._writer.groups
    found = await gathered(database, adding(1), failing, adding(2), adding(1), adding(3))
    assert found[::2] == [1, 2, 3]
    assert isinstance(found[1], LookupError)
    assert isinstance(found[3], StoreError)
    assert await numbers(database) == [1, 2, 3]
    assert database._writer.groups == before + 1


async def test_what_was_handed_in_before_the_end_is_written(database):
    async with anyio.create_task_group() as group:
        for number in range(10):
            group.start_soon(database.write, adding(number))
        await asyncio.sleep(0)
        await database.aclose()
    with closing(open_for_reading(database.path)) as connection:
        assert connection.execute("SELECT count(*) FROM note").fetchone() == (10,)


def test_what_one_loop_left_behind_does_not_hold_up_the_next(tmp_path):
    database = Database(tmp_path, migrations=TABLE)

    ended = asyncio.new_event_loop()
    database._put(ended, Request(adding(1), lambda result, error: None, ended))

    async def go_on():
        with anyio.fail_after(5):
            await database.write(adding(2))
            await database.aclose()

    anyio.run(go_on)
    ended.close()
