"""Server-sent events: the same, whatever the cuts."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard.providers.sse import SseError, SseEvent, SseParser

STREAM = (
    "\ufeff: a comment\r\n"
    'event: message_start\r\ndata: {"a": 1}\r\n\r\n'
    "data: first\ndata: second\n\n"
    "data:no space\r\rid: 7\rdata\r\r"
    "retry: 3000\nunknown: x\n\n"
    "data: grüße 🧩\n\n"
).encode()
EVENTS = [
    SseEvent('{"a": 1}', "message_start"),
    SseEvent("first\nsecond"),
    SseEvent("no space"),
    SseEvent("", "", "7"),
    SseEvent("grüße 🧩", "", "7"),
]


def parsed(pieces: list[bytes]) -> list[SseEvent]:
    parser = SseParser()
    events = [event for piece in pieces for event in parser.feed(piece)]
    last = parser.end()
    return [*events, last] if last else events


def test_a_stream_cut_at_every_offset_is_the_same_stream() -> None:
    for cut in range(len(STREAM) + 1):
        assert parsed([STREAM[:cut], STREAM[cut:]]) == EVENTS, cut


def test_a_stream_of_single_bytes_is_the_same_stream() -> None:
    assert parsed([STREAM[n : n + 1] for n in range(len(STREAM))]) == EVENTS


@given(st.binary(max_size=300), st.lists(st.integers(0, 300), max_size=6))
def test_any_bytes_in_any_pieces_give_the_same_events(data: bytes, cuts: list[int]) -> None:
    places = sorted({min(cut, len(data)) for cut in cuts} | {0, len(data)})
    pieces = [data[a:b] for a, b in itertools.pairwise(places)]
    assert parsed(pieces) == parsed([data])


def test_an_event_without_its_last_empty_line_is_taken_at_the_end() -> None:
    assert parsed([b"data: whole\r\n\r\ndata: last\n"]) == [SseEvent("whole"), SseEvent("last")]
    assert parsed([b"data: last\r"]) == [SseEvent("last")]


@pytest.mark.parametrize("piece", [1, 5, 100])
def test_a_whole_object_without_the_end_of_its_line_is_the_last_event(piece: int) -> None:
    data = b'event: x\ndata: {"a": {"b": 1}}'
    pieces = [data[n : n + piece] for n in range(0, len(data), piece)]
    assert parsed(pieces) == [SseEvent('{"a": {"b": 1}}', "x")]
    for cut in range(16, len(data)):
        assert parsed([data[:cut]]) == []


@pytest.mark.parametrize(
    "last", [b"data: 12", b"data: [DONE]", b'data: "a}', b': {"a": 1}', b"id: {}"]
)
def test_another_line_without_its_end_may_have_been_longer(last: bytes) -> None:
    assert parsed([b"data: whole\n\n" + last]) == [SseEvent("whole")]


def test_a_line_that_was_cut_off_is_no_event() -> None:
    assert parsed([b'data: whole\n\ndata: {"cut']) == [SseEvent("whole")]


def test_an_event_of_two_megabytes_is_taken() -> None:
    text = "x" * 2_000_000
    data = f"data: {text}\n\n".encode()
    pieces = [data[n : n + 65_536] for n in range(0, len(data), 65_536)]
    assert parsed(pieces) == [SseEvent(text)]


def test_pings_for_hours_are_no_large_event() -> None:
    parser = SseParser(max_event=1_000)
    for _ in range(1_000):
        assert parser.feed(b": ping\n\n") == []
    assert parser.feed(b"data: x\n\n") == [SseEvent("x")]


def test_a_type_without_data_is_no_event_and_is_forgotten() -> None:
    assert parsed([b"event: a\n\ndata: x\n\n"]) == [SseEvent("x")]


@pytest.mark.parametrize("line", [b"data: xxxxxxxxxx\n", b"xxxxxxxxxxxxxxxx"])
def test_an_event_without_end_is_an_error_and_not_a_full_memory(line: bytes) -> None:
    parser = SseParser(max_event=1_000)
    with pytest.raises(SseError, match="1000 bytes"):
        for _ in range(200):
            list(parser.feed(line))
