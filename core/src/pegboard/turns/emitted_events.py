"""What those who watch a turn were told of it, so that a turn taken up again is not told twice."""

from __future__ import annotations

from pegboard.contracts.channel import Emit
from pegboard.contracts.stream import (
    ApprovalAsked,
    StepStarted,
    StreamEvent,
    TextRestarted,
    TextStreamed,
    ThinkingStreamed,
    ToolFinished,
    ToolProgress,
    ToolStarted,
    TurnStarted,
    UsageReported,
)

_OF_A_STEP = (TextStreamed, ThinkingStreamed, TextRestarted, UsageReported)
_OF_A_CALL = (ToolStarted, ApprovalAsked, ToolProgress, ToolFinished)


class EmittedEvents:
    """Passes on the events of a turn, each once, though several attempts of it report them.

    An attempt that takes a turn up runs it again from its start, out of what is recorded: a step is
    recorded when its tokens were reported.
    """

    def __init__(self) -> None:
        self._step = 0
        self._recorded = 0
        self._again = False
        self._seen: set[tuple[str, str]] = set()

    @property
    def began(self) -> bool:
        """True when it was told that the turn began."""
        return any(type == TurnStarted.type for type, _ in self._seen)

    def news(self, event: StreamEvent) -> bool:
        """Tell whether an event is news, and remember it."""
        if isinstance(event, StepStarted):
            self._step = event.step
            self._again = event.step <= self._recorded
            return not self._again
        if isinstance(event, UsageReported):
            self._recorded = max(self._recorded, self._step)
        if isinstance(event, _OF_A_STEP):
            return not self._again
        if isinstance(event, _OF_A_CALL):
            return self._first(event.type, event.call, again=isinstance(event, ToolProgress))
        if isinstance(event, TurnStarted):
            return self._first(event.type, event.turn)
        return True

    def through(self, emit: Emit) -> Emit:
        """Return what passes on to `emit` only what is news."""

        async def pass_on(event: StreamEvent) -> None:
            if self.news(event):
                await emit(event)

        return pass_on

    def _first(self, type: str, id: str, *, again: bool = False) -> bool:
        """Tell whether this is the first of its type about an id; progress comes many times."""
        if again:
            return (ToolFinished.type, id) not in self._seen
        if (type, id) in self._seen:
            return False
        self._seen.add((type, id))
        return True
