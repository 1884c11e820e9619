"""What the history keeps in place of an answer. The model reads these, a person normally does not.

They close the request, so that the next turn does not take it up again by itself.
"""

from __future__ import annotations

from typing import Final

from pegboard.contracts.message import Message

STOPPED: Final = Message.of(
    "assistant",
    "[The request above was stopped before it was finished. It stays here for context; it is not "
    "to be taken up again unless asked for.]",
)
BESIDE: Final = Message.of("assistant", "[Answered by an action beside this conversation.]")
UNDELIVERED: Final = Message.of(
    "assistant", "[The answer to the request above could not be delivered.]"
)


def failed(sentence: str) -> Message:
    """Return the marker of a request that ended with an error."""
    return Message.of("assistant", f"[The request above ended without an answer: {sentence}]")
