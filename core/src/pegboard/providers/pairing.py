"""Every call has exactly one result, in one message, in the order of the calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from pegboard.contracts.message import CallResult, Message, ToolCall, tool_message
from pegboard.contracts.result import Text

CANCELLED: Final = "Cancelled"
"""What a call that never came to its end answers."""


def cancelled(call: ToolCall, reason: str = CANCELLED) -> CallResult:
    """Return the result of a call that was not run to its end."""
    return CallResult(call.id, call.name, (Text(reason),), error=True)


def step_messages(
    text: str, calls: Sequence[ToolCall], results: Mapping[str, CallResult]
) -> tuple[Message, Message]:
    """Return the assistant message of a step and the one message that answers all its calls."""
    said = (Text(text),) if text else ()
    answers = [results.get(call.id) or cancelled(call) for call in calls]
    return Message("assistant", said, calls=tuple(calls)), tool_message(answers)


def paired(messages: Iterable[Message]) -> tuple[Message, ...]:
    """Return a conversation in which calls and results pair up, as every provider requires.

    Missing results become "Cancelled", a second result of one call and results of no call are left
    out, results that arrived in several messages become one, and what was written between them
    follows after it.
    """
    whole: list[Message] = []
    group = _Group()
    for message in messages:
        if message.role == "assistant":
            whole.extend(group.close())
            group = _Group(message)
        elif group.open and message.role == "tool":
            group.add(message.results)
        elif message.role != "tool":
            group.later.append(message)
    whole.extend(group.close())
    return tuple(whole)


class _Group:
    """An assistant message with the results of its calls, and what follows."""

    def __init__(self, message: Message | None = None) -> None:
        self.later: list[Message] = []
        self._message = message
        self._results: dict[str, CallResult] = {}

    @property
    def open(self) -> bool:
        return self._message is not None and bool(self._message.calls)

    def add(self, results: Iterable[CallResult]) -> None:
        for result in results:
            self._results.setdefault(result.call_id, result)

    def close(self) -> list[Message]:
        if self._message is None:
            return self.later
        if not self._message.calls:
            return [self._message, *self.later]
        answers = [self._results.get(call.id) or cancelled(call) for call in self._message.calls]
        return [self._message, tool_message(answers), *self.later]
