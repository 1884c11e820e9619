"""A stream of any length, in a file of bounded size: checked against the whole stream in memory."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard.contracts.errors import SandboxError
from pegboard.sandboxes.spool import Spool


@given(
    chunks=st.lists(st.binary(max_size=40), max_size=12),
    head=st.integers(0, 20),
    tail=st.integers(1, 30),
    offset=st.integers(-200, 600),
    limit=st.integers(0, 100),
)
def test_what_is_read_is_what_was_written(
    chunks: list[bytes], head: int, tail: int, offset: int, limit: int
) -> None:
    spool, whole = Spool(head, tail), b"".join(chunks)
    for chunk in chunks:
        spool.write(chunk)
    seen = spool.read(offset, limit=limit)
    asked = max(0, len(whole) + offset) if offset < 0 else min(offset, len(whole))
    assert seen.total == len(whole)
    assert seen.start == asked + seen.lost
    assert seen.data == whole[seen.start : seen.start + len(seen.data)]
    assert len(seen.data) <= limit
    kept = asked < head or asked >= len(whole) - tail
    assert seen.lost == 0 if kept else seen.start == len(whole) - tail


@given(st.lists(st.binary(max_size=60), max_size=10), st.integers(1, 50))
def test_reading_on_ends_and_passes_over_nothing_that_is_kept(
    chunks: list[bytes], limit: int
) -> None:
    spool, whole = Spool(10, 20), b"".join(chunks)
    for chunk in chunks:
        spool.write(chunk)
    at, seen, lost = 0, 0, 0
    while at < len(whole):
        piece = spool.read(at, limit=limit)
        assert piece.end > at
        at, seen, lost = piece.end, seen + len(piece.data), lost + piece.lost
    assert seen + lost == len(whole)
    assert seen == min(len(whole), 30)


def test_a_full_disk_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> int:
        raise OSError(28, "No space left on device")

    spool = Spool()
    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(SandboxError, match="can't be kept: No space left on device"):
        spool.write(b"x")
