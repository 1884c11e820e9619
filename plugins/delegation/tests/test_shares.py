"""What is cut, and by how much."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pegboard_delegation.shares import beginning, fair_shares, size_of


@pytest.mark.parametrize(
    ("sizes", "budget", "kept"),
    [
        ([], 10, []),
        ([3, 4], 10, [3, 4]),
        ([3, 40], 10, [3, 7]),
        ([40, 3], 10, [7, 3]),
        ([40, 40], 10, [5, 5]),
        ([1, 40, 40, 4], 15, [1, 5, 5, 4]),
        ([0, 0], 0, [0, 0]),
        ([5, 5], 0, [0, 0]),
        ([1, 1], 1, [0, 1]),
    ],
)
def test_small_answers_are_whole_and_the_others_share(sizes, budget, kept):
    assert fair_shares(sizes, budget) == kept


@given(st.lists(st.integers(0, 10_000), max_size=12), st.integers(0, 20_000))
def test_nothing_is_cut_without_need_and_none_below_another_that_is(sizes, budget):
    kept = fair_shares(sizes, budget)
    assert sum(kept) <= budget or not budget
    assert all(0 <= part <= size for part, size in zip(kept, sizes, strict=True))
    if sum(sizes) <= budget:
        assert kept == sizes
    cut = [part for part, size in zip(kept, sizes, strict=True) if part < size]
    if cut:
        assert max(kept) - min(cut) <= 1  # what does not divide is nobody's whole share


@given(st.text(), st.integers(0, 50))
def test_no_character_is_cut_in_two(text, size):
    start = beginning(text, size)
    assert size_of(start) <= size
    assert text.encode("utf-8", "replace").decode().startswith(start)
