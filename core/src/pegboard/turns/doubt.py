"""What a person is told of a reply of which nobody knows whether it reached them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pegboard.contracts.turn import OutboxPart

CODE: Final = "reply_in_doubt"
SHOWN_CHARS: Final = 80


def sentence(parts: Sequence[OutboxPart]) -> str:
    """Return one line about parts in doubt, at least one."""
    text = " ".join(str(parts[0].message.get("text", "")).split())
    shown = text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS].rstrip()}..."
    if len(parts) == 1:
        return f"It is not certain that this earlier reply reached you: {shown}"
    return f"It is not certain that {len(parts)} earlier messages reached you; the first: {shown}"
