"""Recordings as tests: a run of some day, made again with the tools of today."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from pegboard.agent.recording import RecordedCall, Recording, read_recording
from pegboard.agent.replay import Replayed, RunCall
from pegboard.agent.replay import replay as run_again
from pegboard.contracts.result import ToolResult
from pegboard.testing.clock import FakeClock
from pegboard.testing.host import HostUnderTest


async def replay(
    recording: Recording | str | PathLike[str], running: HostUnderTest | None = None
) -> Replayed:
    """Run a recording again and fail where it is not as it was.

    Args:
        recording: The recording, or the file that `pegboard record` wrote.
        running: A host whose tools are called for real, as the caller of the recording; what it has
            not is taken from the recording. A `FakeClock` of it is moved to the times of the calls.
            None = no tool is called.

    Raises:
        AssertionError: When a result, a request to the model or the end differs.
        UsageError: When the file is no recording.
    """
    if not isinstance(recording, Recording):
        recording = read_recording(Path(recording))
    if running is None:
        replayed = await run_again(recording)
    else:
        guest = recording.caller.trust != "operator"
        caller = running.host.local_caller(as_guest=guest)
        async with running.host.real_calls(recording, caller) as run_call:
            replayed = await run_again(recording, run_call=_of_host(running, run_call))
    assert not replayed.differences, "\n".join(map(str, replayed.differences))
    return replayed


def _of_host(running: HostUnderTest, run_call: RunCall) -> RunCall:
    clock = running.host.options.clock

    async def run(call: RecordedCall) -> ToolResult | None:
        if running.host.registry.find(call.tool) is None:
            return None
        if isinstance(clock, FakeClock) and call.began > clock.now():
            await clock.advance(call.began - clock.now())
        return await run_call(call)

    return run
