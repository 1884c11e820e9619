"""Calls of a recording, made for real."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from pegboard.agent.recording import RecordedCall, Recording
from pegboard.agent.replay import RunCall
from pegboard.contracts.caller import Caller
from pegboard.contracts.result import Suspend, ToolResult
from pegboard.host.parts import HostParts
from pegboard.tools.run_scope import CallRequest

_UNASKED: Final = ToolResult.failed(
    "denied", "This call needs a person's word, and a replay asks nobody."
)


@asynccontextmanager
async def real_calls(
    parts: HostParts, recording: Recording, caller: Caller
) -> AsyncIterator[RunCall]:
    """Make calls in one run, so that each finds what those before it left.

    They go the way of every call: what the caller may not do is refused here as well.

    Args:
        parts: The rooms of the host.
        recording: What they are of.
        caller: Whom they are made for.
    """
    scope = await parts.spaces.scope(
        caller, run=parts.new_id(), conversation=recording.conversation
    )

    async def run(call: RecordedCall) -> ToolResult | None:
        request = CallRequest(
            id=call.id, name=call.name, arguments=call.arguments, caller=caller, run=scope
        )
        result = await parts.dispatcher.dispatch(request)
        return _UNASKED if isinstance(result.control, Suspend) else result

    try:
        yield run
    finally:
        parts.spaces.close(scope, "the replay that started it has ended")
