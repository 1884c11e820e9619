"""What a model is told of what happened beside its run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pegboard.contracts.message import Message
from pegboard.contracts.news import NewsItem
from pegboard.contracts.result import Text


def can_carry(message: Message) -> bool:
    """Tell whether news may stand in a message: one that the model is about to answer."""
    return message.role == "user" or (message.role == "tool" and bool(message.results))


def with_news(message: Message, items: Sequence[NewsItem]) -> Message:
    """Return a message with news at its end: in the last result of a step, or beside what was said.

    No message of its own carries them: some models refuse two of one side in a row.

    Args:
        message: The person's message, or the results of a step.
        items: What happened, oldest first.
    """
    if not items:
        return message
    told = Text("\n".join(f"[Meanwhile: {item.text}]" for item in items))
    if message.role != "tool":
        return replace(message, parts=(*message.parts, told))
    *others, last = message.results
    return replace(message, results=(*others, replace(last, parts=(*last.parts, told))))
