from __future__ import annotations

from pegboard.contracts.stream import (
    Noticed,
    StepStarted,
    TextStreamed,
    ToolFinished,
    ToolProgress,
    ToolStarted,
    TurnFinished,
    TurnStarted,
    UsageReported,
)
from pegboard.turns.emitted_events import EmittedEvents

STARTED = TurnStarted(turn="t", provider="p", model="m", trust="operator")
ENDED = ToolFinished(call="c", name="x", output="7", error=None, duration_ms=1.0)
RUN = [
    STARTED,
    StepStarted(step=1),
    TextStreamed(text="Let me"),
    TextStreamed(text=" look."),
    UsageReported(usage={}),
    ToolStarted(call="c", name="x", arguments={}),
]
AGAIN = [
    STARTED,
    StepStarted(step=1),
    TextStreamed(text="Let me look."),
    ToolStarted(call="c", name="x", arguments={}),
]
REST = [
    ToolProgress(call="c", name="x", message="half"),
    ToolProgress(call="c", name="x", message="more"),
    ENDED,
    StepStarted(step=2),
    TextStreamed(text="Seven."),
    UsageReported(usage={}),
    TurnFinished(turn="t", status="done", text="Seven.", steps=2, usage={}),
]


def test_a_turn_that_runs_once_is_told_whole() -> None:
    emitted = EmittedEvents()
    assert [event for event in [*RUN, *REST] if emitted.news(event)] == [*RUN, *REST]


def test_a_turn_taken_up_is_not_told_twice() -> None:
    emitted = EmittedEvents()
    assert [event for event in [*RUN, *AGAIN, *REST] if emitted.news(event)] == [*RUN, *REST]


def test_a_step_that_was_cut_off_is_told_again() -> None:
    emitted = EmittedEvents()
    cut = [STARTED, StepStarted(step=1), TextStreamed(text="Let")]
    for event in cut:
        emitted.news(event)
    again = [event for event in RUN if emitted.news(event)]
    assert again == RUN[1:]


def test_notices_are_always_told() -> None:
    emitted = EmittedEvents()
    notice = Noticed(code="x", text="Mind this.")
    assert emitted.news(notice)
    assert emitted.news(notice)


def test_progress_of_a_call_that_has_ended_is_none() -> None:
    emitted = EmittedEvents()
    progress = ToolProgress(call="c", name="x", message="half")
    assert emitted.news(progress)
    emitted.news(ENDED)
    assert not emitted.news(progress)
