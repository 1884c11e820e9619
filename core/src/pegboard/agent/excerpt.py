"""A part of a text that has to stand for the whole of it."""

from __future__ import annotations

from pegboard.contracts.tool import OutputLimits
from pegboard.tools.fence import fence_of, fenced, unfenced
from pegboard.tools.limits import cut


def excerpt(text: str, limits: OutputLimits) -> str:
    """Return a text within its limits; one that came from outside stays between its marks.

    Args:
        text: The whole text, with or without marks.
        limits: How much of it, and which end.
    """
    fence = fence_of(text)
    plain = text if fence is None else unfenced(text)
    shorter = cut(plain, limits)
    if shorter is None:
        return text
    kept = shorter.text("")
    return kept if fence is None else fenced(kept, fence.source, fence.mark)
