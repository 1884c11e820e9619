from __future__ import annotations

import random

import pytest

from pegboard.sandboxes import Capture


def captured(data: bytes, head: int, tail: int, sizes: list[int] | None = None):
    capture = Capture(head, tail)
    for size in sizes or [len(data)]:
        capture.feed(data[:size])
        data = data[size:]
    capture.feed(data)
    return capture


def test_a_short_stream_is_kept_whole() -> None:
    result = captured(b"0123456789", 6, 4).captured()
    assert (result.head, result.tail, result.omitted) == (b"0123456789", b"", 0)
    assert result.text() == "0123456789"


def test_a_long_stream_keeps_both_ends_and_says_how_much_is_gone() -> None:
    result = captured(b"0123456789abc", 4, 3).captured()
    assert (result.head, result.tail, result.omitted) == (b"0123", b"abc", 6)
    assert "[... 6 bytes omitted ...]" in result.text()


@pytest.mark.parametrize("seed", range(20))
def test_pieces_of_any_size_come_to_the_same(seed: int) -> None:
    rng = random.Random(seed)
    data = rng.randbytes(rng.randrange(0, 400))
    head, tail = rng.randrange(0, 60), rng.randrange(0, 60)
    whole = captured(data, head, tail)
    pieces = captured(data, head, tail, [rng.randrange(1, 9) for _ in range(30)])
    assert whole.captured() == pieces.captured()
    assert whole.total == len(data)
    result = whole.captured()
    assert len(result.head) + len(result.tail) + result.omitted == len(data)


@pytest.mark.parametrize("head", range(1, 12))
@pytest.mark.parametrize("tail", range(1, 12))
def test_no_character_is_cut_in_two(head: int, tail: int) -> None:
    data = "日本é🧩x語修".encode() * 3
    result = captured(data, head, tail).captured()
    result.head.decode()
    result.tail.decode()
    assert "\ufffd" not in result.text()
    assert len(result.head) + len(result.tail) + result.omitted == len(data)


def test_a_stream_that_is_no_text_is_kept_too() -> None:
    result = captured(b"\x80" * 50, 8, 8).captured()
    assert result.omitted >= 34
    assert result.text()


def test_memory_stays_small_however_long_the_stream() -> None:
    capture = Capture(1000, 1000)
    chunk = b"x" * 65_536
    for _ in range(2000):
        capture.feed(chunk)
    assert capture.total == 2000 * 65_536
    assert len(capture._head) + len(capture._tail) < 10_000
