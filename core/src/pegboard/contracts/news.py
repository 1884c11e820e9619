"""What happened beside a conversation, and how its model is told: once, at its next step.

A host offers this as the service `news` to plugins that declare the need: a command in the
background has ended, a file that was watched has changed. It begins no turn: what shall be answered
by itself comes in as a message.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from pegboard.contracts.effects import Trust


@dataclass(frozen=True, slots=True, kw_only=True)
class NewsItem:
    """Something that happened beside a conversation.

    Args:
        id: Names it within the conversation.
        text: A sentence or two for the model; square brackets become round ones, since what the
            host adds to messages stands in them.
        left_at: When it was left, in seconds since the epoch; the host fills it in.
    """

    id: str
    text: str
    left_at: float = 0.0


class News(Protocol):
    """The service `news`. What it was given is on the disk when a method returns.

    The model reads an item with the results of the step that it is at, or, when no turn runs, with
    the next message of the conversation; then it is part of the history. A turn that is taken up
    again after a crash reads what it had read.
    """

    async def leave(
        self, conversation: str, item: NewsItem, *, trust: Trust, last_will: bool = False
    ) -> None:
        """Tell the model of a conversation something at its next step.

        One with the same id that was not told yet is replaced; one that replaces what is being told
        is told after it. A hundred wait for a conversation, then the oldest goes. Text of others
        (what a program printed, what a page says) is not for it: name the tool that shows that,
        for there it is marked as coming from outside.

        Args:
            conversation: Key of the conversation (`CallInfo.conversation`).
            item: What to tell; begin its id with the name of your plugin.
            trust: Whose turns it is for: a guest's never tell what is the operator's.
            last_will: True to have it told only once the process of this host is gone, if it was
                neither replaced nor taken back until then: what goes down with a host that is
                killed has nobody else who could tell.

        Raises:
            StoreError: When it can't be kept.
        """
        ...

    async def take_back(self, conversation: str, id: str) -> bool:
        """Take back what the model need not be told any more; False when it was told already."""
        ...
