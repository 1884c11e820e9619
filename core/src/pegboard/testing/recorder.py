"""A record of what happened in a host: stream events, and the events of its hooks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from pegboard.contracts.stream import StepStarted, StreamEvent, TextRestarted, TextStreamed

E = TypeVar("E")


@dataclass(frozen=True, slots=True)
class HookCall:
    """One call of a behaviour hook.

    Args:
        hook: Name of the hook, e.g. `pegboard_tool_guard`.
        event: What it received.
    """

    hook: str
    event: Any


class Recorder:
    """Keeps the events of turns and hooks in the order in which they came.

    Use it as the `emit` of a turn (`await recorder(event)`). The `host` fixture attaches one, and
    its `recorder` plugin hands in every hook call.

    Attributes:
        stream: Stream events.
        hooks: Calls of behaviour hooks.
    """

    def __init__(self) -> None:
        self.stream: list[StreamEvent] = []
        self.hooks: list[HookCall] = []

    async def __call__(self, event: StreamEvent) -> None:
        """Keep a stream event."""
        self.stream.append(event)

    def hook(self, name: str, event: Any) -> None:
        """Keep a hook call."""
        self.hooks.append(HookCall(name, event))

    def of(self, kind: type[E]) -> list[E]:
        """Return every event of one class: of the stream, and those that hooks received."""
        return [event for event in self._all() if isinstance(event, kind)]

    def types(self) -> list[str]:
        """Return the types of the stream events in order."""
        return [event.type for event in self.stream]

    def names(self) -> list[str]:
        """Return the names of the hooks called, in order; observed ones with their event type."""
        return [
            f"{call.hook}:{call.event.type}" if call.hook == "pegboard_event" else call.hook
            for call in self.hooks
        ]

    @property
    def text(self) -> str:
        """The streamed text, without what a restart discarded."""
        text, step = "", 0
        for event in self.stream:
            if isinstance(event, StepStarted):
                step = len(text)
            elif isinstance(event, TextRestarted):
                text = text[:step]
            elif isinstance(event, TextStreamed):
                text += event.text
        return text

    def clear(self) -> None:
        """Forget everything."""
        self.stream.clear()
        self.hooks.clear()

    def _all(self) -> Iterator[Any]:
        yield from self.stream
        for call in self.hooks:
            yield call.event
