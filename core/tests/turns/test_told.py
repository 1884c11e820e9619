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
from pegboard.turns.told import Told

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
    told = Told()
    assert [event for event in [*RUN, *REST] if told.news(event)] == [*RUN, *REST]


def test_a_turn_taken_up_is_not_told_twice() -> None:
    told = Told()
    assert [event for event in [*RUN, *AGAIN, *REST] if told.news(event)] == [*RUN, *REST]


def test_a_step_that_was_cut_off_is_told_again() -> None:
    told = Told()
    cut = [STARTED, StepStarted(step=1), TextStreamed(text="Let")]
    for event in cut:
        told.news(event)
    again = [event for event in RUN if told.news(event)]
    assert again == RUN[1:]


def test_notices_are_always_told() -> None:
    told = Told()
    notice = Noticed(code="x", text="Mind this.")
    assert told.news(notice)
    assert told.news(notice)


def test_progress_of_a_call_that_has_ended_is_none() -> None:
    told = Told()
    progress = ToolProgress(call="c", name="x", message="half")
    assert told.news(progress)
    told.news(ENDED)
    assert not told.news(progress)
