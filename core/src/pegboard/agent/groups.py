"""What belongs together in a conversation: calls, and the results that answer them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pegboard.contracts.message import Message


@dataclass(frozen=True, slots=True)
class Step:
    """An assistant message that asks for calls, with the messages that answer them.

    Args:
        place: Index of the assistant message.
        answers: Indexes of the tool messages that answer its calls, in order.
        complete: True when every call has its result.
    """

    place: int
    answers: tuple[int, ...]
    complete: bool


def steps_of(messages: Sequence[Message]) -> tuple[Step, ...]:
    """Return the steps of a conversation in order."""
    found = []
    for place, message in enumerate(messages):
        if not message.calls:
            continue
        wanted = {call.id for call in message.calls}
        answers = []
        for later in range(place + 1, len(messages)):
            # behind the next answer of the model nothing belongs to this step: ids may come again
            if not wanted or messages[later].role == "assistant":
                break
            answered = wanted & {result.call_id for result in messages[later].results}
            if answered:
                answers.append(later)
                wanted -= answered
        found.append(Step(place, tuple(answers), not wanted))
    return tuple(found)


def seams_of(messages: Sequence[Message], *, running: bool = False) -> tuple[int, ...]:
    """Return the places where messages may be cut in two, both ends included.

    A place is the number of messages before it. At a seam no call is on one side and its result on
    the other.

    Args:
        messages: A conversation, or a part of it.
        running: True when a call without a result still runs: then nothing behind it is a seam.
            Else it is one that never came to its end.
    """
    inside: set[int] = set()
    for step in steps_of(messages):
        last = step.answers[-1] if step.answers else step.place
        if running and not step.complete:
            last = len(messages)
        inside.update(range(step.place + 1, last + 1))
    return tuple(place for place in range(len(messages) + 1) if place not in inside)
