from __future__ import annotations

import pytest

from pegboard import HostStarted, HostStopping
from pegboard.contracts.stream import StepStarted, TextRestarted, TextStreamed
from pegboard.testing import Recorder

pytestmark = pytest.mark.anyio


async def test_the_text_is_what_a_person_would_have_read() -> None:
    recorder = Recorder()
    for event in (
        StepStarted(step=1),
        TextStreamed(text="First. "),
        StepStarted(step=2),
        TextStreamed(text="Hal"),
        TextRestarted(provider="other"),
        TextStreamed(text="Second."),
    ):
        await recorder(event)
    assert recorder.text == "First. Second."
    assert recorder.types()[:2] == ["step_started", "text"]


async def test_events_are_found_by_their_class() -> None:
    recorder = Recorder()
    recorder.hook("pegboard_event", HostStarted(plugins=("files",)))
    recorder.hook("pegboard_event", HostStopping())
    await recorder(TextStreamed(text="hello"))
    assert [event.plugins for event in recorder.of(HostStarted)] == [("files",)]
    assert [event.text for event in recorder.of(TextStreamed)] == ["hello"]
    assert recorder.names() == ["pegboard_event:host_started", "pegboard_event:host_stopping"]
    recorder.clear()
    assert (recorder.stream, recorder.hooks) == ([], [])
