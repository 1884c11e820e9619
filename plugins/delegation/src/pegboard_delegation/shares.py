"""Dividing a budget fairly: small answers are whole, large ones share what is left."""

from __future__ import annotations

from collections.abc import Sequence


def fair_shares(sizes: Sequence[int], budget: int) -> list[int]:
    """Return how much of each size is kept, so that the sum is at most the budget.

    What is smaller than an equal share is kept whole, and what it leaves goes to the others. So
    nothing is cut while there is room, and none is cut below another that is cut.
    """
    kept = [0] * len(sizes)
    left = budget
    ordered = sorted(range(len(sizes)), key=sizes.__getitem__)
    for place, index in enumerate(ordered):
        kept[index] = min(sizes[index], left // (len(ordered) - place))
        left -= kept[index]
    return kept


def beginning(text: str, size: int) -> str:
    """Return the beginning of a text in at most `size` bytes of UTF-8, no character cut in two."""
    return text.encode("utf-8", "replace")[:size].decode("utf-8", "ignore")


def size_of(text: str) -> int:
    """Return the length of a text in bytes of UTF-8."""
    return len(text.encode("utf-8", "replace"))
