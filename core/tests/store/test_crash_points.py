"""The host dies at each crash point, and a second one goes on with what it left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pegboard.contracts.errors import UsageError
from pegboard.contracts.turn import Begun
from pegboard.store import crash_points
from pegboard.store.backup import check
from pegboard.store.embedded import open_store
from pegboard.store.sqlite import FILE_NAME

pytestmark = pytest.mark.anyio

COURSE = Path(__file__).with_name("crash_course.py")
MOMENTS = ("before", "during", "after")
VERBS = (
    "ingest",
    "begin",
    "wait",
    "wake",
    "release",
    "finish",
    "ask_to_stop",
    "new_epoch",
    "intend",
    "record",
    "reply",
    "sending",
    "sent",
    "doubt",
    "doubtful",
    "ask",
    "answer",
    "summarize",
    "fork",
    "forget",
    "spend",
)
# the verbs that the course calls more than once, at a later one of these calls
LATER = (
    "ingest:during:4",
    "begin:after:4",
    "intend:during:2",
    "sending:after:2",
    "finish:during:2",
)


@pytest.fixture
def crashed(tmp_path):
    """The folders of hosts that died, by the point at which they did."""
    points = [f"{verb}:{when}:1" for verb in VERBS for when in MOMENTS]
    ran = subprocess.run(
        [sys.executable, COURSE, tmp_path, *points, *LATER],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert ran.returncode == 0, ran.stderr
    ends = dict(line.rsplit(" ", 1) for line in ran.stdout.splitlines())
    assert set(ends.values()) == {str(-signal.SIGKILL)}, ends
    return {point: tmp_path / point for point in ends}


async def test_a_crash_at_any_point_leaves_whole_verbs_and_the_next_host_goes_on(
    crashed, tmp_path, make
):
    # what the course leaves after each verb when nothing happens to it
    store = await open_store(tmp_path / "whole", worker="one")
    states, verbs = [make.dump(store.database.path)], []
    for step in make.steps(store):
        verbs.append(step.__name__)
        await step
        states.append(make.dump(store.database.path))
    await store.aclose()
    assert set(VERBS) == set(verbs)

    for point, folder in crashed.items():
        verb, when, _ = point.split(":")
        returned = (folder / "returned").read_bytes().count(b".")
        assert verbs[returned] == verb, point
        there = make.dump(folder / FILE_NAME)
        assert there == states[returned + (when == "after")], point
        await goes_on(folder)


async def goes_on(folder):
    """Finish what a dead host left, as another host."""
    store = await open_store(folder, worker="two")
    assert [path.name for path in (folder / "hosts").iterdir()] == ["two.lock"]
    for ref in await store.open_turns():
        await store.wake(ref.turn)
        begun = await store.begin(ref.turn, now=1000.0, max_attempts=3)
        if isinstance(begun, Begun):
            await store.finish(ref.turn, begun.turn.fence, state="done", now=1001.0)
        else:
            assert begun.why == "over", (folder, begun)
    assert await store.open_turns() == []
    assert check(store.database.path).problems == ()
    await store.aclose()


async def test_a_migration_that_is_killed_is_done_by_the_next_host(tmp_path):
    points = [f"migrate:{when}:{times}" for when in MOMENTS for times in (1, 2)]
    ran = subprocess.run(
        [sys.executable, COURSE, tmp_path, *points], capture_output=True, text=True, check=True
    )
    assert [line.split()[1] for line in ran.stdout.splitlines()] == ["-9"] * len(points)
    for point in points:
        assert (tmp_path / point / "returned").read_bytes() == b"", point
        store = await open_store(tmp_path / point)
        assert await store.open_turns() == []
        assert check(store.database.path).problems == ()
        await store.aclose()


def test_the_variable_is_read_by_a_host(tmp_path):
    code = f"""
import asyncio, pathlib
from pegboard.contracts.spending import Spending
from pegboard.store.embedded import open_store

async def main():
    store = await open_store(pathlib.Path({str(tmp_path)!r}))
    for number in range(3):
        await store.spend(Spending(at=float(number)))

asyncio.run(main())
"""
    ran = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, crash_points.VARIABLE: "spend:before:3"},
        check=False,
    )
    assert ran.returncode == -signal.SIGKILL


@pytest.mark.parametrize("text", ["record", "record:later", "record:before:x", ":before:1"])
def test_a_point_that_is_written_wrongly_is_refused(text):
    with pytest.raises(UsageError, match="no crash point") as raised:
        crash_points.read({crash_points.VARIABLE: text})
    assert raised.value.fix == "PEGBOARD_CRASH=record:before:2"


def test_a_point_without_a_number_is_the_first_time():
    assert crash_points.read({crash_points.VARIABLE: "sent:after"}) == ("sent", "after", 1)
    assert crash_points.read({}) is None
