"""Whether messages say all that they said before, and perhaps more. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pegboard.contracts.message import CallResult, Message


def only_added(before: Sequence[Message], after: Sequence[Message]) -> bool:
    """Tell whether all messages are still there, in their order.

    Others may stand between them, and behind what one says there may be more.
    """
    left = iter(after)
    return all(any(_says(other, message) for other in left) for message in before)


def _says(message: Message, less: Message) -> bool:
    if message == less:
        return True
    return (
        (message.role, message.calls) == (less.role, less.calls)
        and message.parts[: len(less.parts)] == less.parts
        and len(message.results) == len(less.results)
        and all(map(_holds, message.results, less.results))
    )


def _holds(result: CallResult, less: CallResult) -> bool:
    return replace(result, parts=result.parts[: len(less.parts)]) == less
