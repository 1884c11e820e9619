"""The latest events: numbered, bounded, and honest about what was missed."""

from __future__ import annotations

import anyio
import pytest

from pegboard.contracts.stream import Noticed, StepStarted, TextStreamed, ToolFinished
from pegboard.host.event_log import EventLog

pytestmark = pytest.mark.anyio


def log(**bounds) -> EventLog:
    return EventLog(lambda: 5.0, **bounds)


def fill(events: EventLog, key: str, count: int) -> None:
    for step in range(count):
        events.add(key, f"turn of {key}", StepStarted(step=step + 1))


def read_all(reader) -> tuple[list[int | None], list]:
    lost, seen = [], []
    while True:
        missed, entries = reader.read()
        if missed != 0:
            lost.append(missed)
        if not entries:
            return lost, seen
        seen.extend(entries)


def test_events_are_numbered_in_all_and_in_their_conversation() -> None:
    events = log()
    fill(events, "a", 2)
    fill(events, "b", 1)
    fill(events, "a", 1)
    lost, seen = read_all(events.reader(after=0))
    assert lost == []
    assert [(entry.seq, entry.key, entry.number) for entry in seen] == [
        (1, "a", 1),
        (2, "a", 2),
        (3, "b", 1),
        (4, "a", 3),
    ]
    assert [entry.seq for entry in read_all(events.reader("a", 1))[1]] == [2, 4]


def test_without_a_place_a_reader_begins_with_what_comes() -> None:
    events = log()
    fill(events, "a", 3)
    reader, of_one = events.reader(), events.reader("a")
    assert read_all(reader) == ([], [])
    fill(events, "a", 1)
    assert [entry.number for entry in read_all(reader)[1]] == [4]
    assert [entry.number for entry in read_all(of_one)[1]] == [4]


def test_who_comes_too_late_learns_how_many_were_missed() -> None:
    events = log(most=10, most_of_one=4)
    fill(events, "a", 25)
    lost, seen = read_all(events.reader(after=3))
    assert (lost, [entry.seq for entry in seen]) == ([12], list(range(16, 26)))
    lost, seen = read_all(events.reader("a", 0))
    assert (lost, [entry.number for entry in seen]) == ([21], [22, 23, 24, 25])


def test_a_reader_that_falls_behind_while_it_reads_is_told() -> None:
    events = log(most=5)
    reader = events.reader(after=0)
    fill(events, "a", 3)
    assert reader.read()[0] == 0
    fill(events, "a", 9)
    missed, entries = reader.read()
    assert missed == 4
    assert [entry.seq for entry in entries] == [8, 9, 10, 11, 12]


def test_of_a_place_that_is_of_another_host_nobody_knows_what_was_missed() -> None:
    events = log()
    fill(events, "a", 2)
    lost, seen = read_all(events.reader(after=900))
    assert (lost, [entry.seq for entry in seen]) == ([None], [1, 2])
    assert read_all(events.reader("nobody", 5)) == ([None], [])


def test_silent_conversations_make_room() -> None:
    events = log(most_of_each=10)
    fill(events, "old", 6)
    fill(events, "new", 6)
    lost, seen = read_all(events.reader("old", 2))
    assert (lost, seen) == ([4], [])
    assert len(read_all(events.reader("new", 0))[1]) == 6
    fill(events, "old", 1)
    lost, seen = read_all(events.reader("old", 2))
    assert (lost, [entry.number for entry in seen]) == ([4], [7])


def test_large_events_are_bounded_by_their_size() -> None:
    events = log(most_bytes=10_000)
    for _ in range(30):
        events.add("a", "t", TextStreamed(text="x" * 3_000))
    assert len(read_all(events.reader("a", 0))[1]) <= 3
    assert len(read_all(events.reader(after=0))[1]) <= 3
    huge = ToolFinished(call="1", name="n", output="x" * 50_000, error=None, duration_ms=1)
    events.add("a", "t", huge)
    assert read_all(events.reader("a", 0)) == ([31], [])
    events.add("a", "t", Noticed(code="x", text="small again"))
    assert [entry.number for entry in read_all(events.reader("a", 31))[1]] == [32]


def test_listeners_are_told_at_once_and_in_order() -> None:
    events, seen = log(), []
    events.listen(lambda entry: seen.append((entry.seq, entry.at)))
    fill(events, "a", 2)
    assert seen == [(1, 5.0), (2, 5.0)]


async def test_a_reader_waits_for_what_comes() -> None:
    events = log()
    reader = events.reader("a")
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:

            async def later() -> None:
                fill(events, "b", 1)
                await anyio.sleep(0.01)
                fill(events, "a", 1)

            group.start_soon(later)
            entries = []
            while not entries:
                await reader.wait()
                _, entries = reader.read()
    assert [entry.number for entry in entries] == [1]
