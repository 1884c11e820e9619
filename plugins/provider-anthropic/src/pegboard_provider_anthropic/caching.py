"""Where the service may begin again from what it cached. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

MARK: Final = {"type": "ephemeral"}
_ENDS: Final = 2
"""Ends of messages that are marked: that of this request, and that of the one before."""


def mark(system: Sequence[dict[str, Any]], messages: Sequence[dict[str, Any]]) -> None:
    """Mark the ends of what repeats; the service takes four marks at most, these are three.

    The first system text is the same in every turn, and the tools stand before it; the texts after
    it (the date) are not. The end of the request before is marked once more, because the service
    looks back from a mark over a few blocks only, and a step with many calls has more.

    Marks are on blocks, which every version and every server takes; one on the request as a whole
    says the same to new servers only.

    Args:
        system: System texts, as blocks.
        messages: The conversation; blocks of the assistant are left as they came.
    """
    if system:
        system[0]["cache_control"] = MARK
    ends = [message["content"][-1] for message in messages if message["role"] == "user"]
    for block in ends[-_ENDS:]:
        block["cache_control"] = MARK
