"""What was said in each conversation, kept in memory for as long as the host runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from pegboard.contracts.message import Message
from pegboard.conversations.key import ConversationKey

MAX_MESSAGES: Final = 400
MAX_CHARS: Final = 240_000
"""About 60,000 tokens: a history that fits beside the tools in the window of any common model."""


@dataclass(frozen=True, slots=True)
class _Turn:
    """The messages of one turn. Turns are dropped whole, so calls never part from results."""

    messages: tuple[Message, ...]
    chars: int


class History:
    """The turns of every conversation.

    Args:
        max_messages: Messages kept for each conversation.
        max_chars: Characters kept for each conversation.
    """

    def __init__(self, *, max_messages: int = MAX_MESSAGES, max_chars: int = MAX_CHARS) -> None:
        self._max_messages = max_messages
        self._max_chars = max_chars
        self._turns: dict[ConversationKey, list[_Turn]] = {}

    def messages(self, key: ConversationKey) -> tuple[Message, ...]:
        """Return what was said so far, the oldest first."""
        return tuple(message for turn in self._turns.get(key, ()) for message in turn.messages)

    def commit(self, key: ConversationKey, messages: Sequence[Message]) -> int:
        """Add a finished turn, and return how many old turns had to go for it.

        The newest turn is always kept whole.
        """
        turns = self._turns.setdefault(key, [])
        turns.append(_Turn(tuple(messages), _size(messages)))
        dropped = 0
        while len(turns) > 1 and self._too_long(turns):
            del turns[0]
            dropped += 1
        return dropped

    def clear(self, key: ConversationKey) -> None:
        """Forget a conversation."""
        self._turns.pop(key, None)

    def keys(self) -> tuple[ConversationKey, ...]:
        """Return the conversations that have a history."""
        return tuple(self._turns)

    def _too_long(self, turns: list[_Turn]) -> bool:
        return (
            sum(len(turn.messages) for turn in turns) > self._max_messages
            or sum(turn.chars for turn in turns) > self._max_chars
        )


def _size(messages: Iterable[Message]) -> int:
    return sum(
        len(message.text)
        + sum(len(call.arguments) for call in message.calls)
        + sum(len(result.text) for result in message.results)
        for message in messages
    )
