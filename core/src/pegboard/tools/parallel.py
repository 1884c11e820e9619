"""The calls of one step: at the same time where they can be, in order where they must be."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import anyio

from pegboard.contracts.caller import Caller
from pegboard.contracts.message import ToolCall
from pegboard.contracts.result import ToolResult
from pegboard.policy.derive import call_effects
from pegboard.tools.access import call_access
from pegboard.tools.arguments import parse
from pegboard.tools.dispatch import Dispatcher
from pegboard.tools.footprint import NOTHING, Footprint, conflict, footprint
from pegboard.tools.run_scope import CallRequest, RunScope

MAX_AT_ONCE: Final = 16

Run = Callable[[], Awaitable[ToolResult]]
Watch = Callable[[ToolCall, Run], Awaitable[ToolResult]]
"""`await watch(call, run)` runs a call and reports that it began and ended."""


class StepRunner:
    """Runs the calls that a model asked for in one step.

    Args:
        dispatcher: Runs one call.
        run: The run.
        caller: Whom it acts for.
    """

    def __init__(self, dispatcher: Dispatcher, run: RunScope, caller: Caller) -> None:
        self._dispatcher = dispatcher
        self._run = run
        self._caller = caller

    async def __call__(
        self, calls: Sequence[ToolCall], *, approved: bool = False, watch: Watch | None = None
    ) -> list[ToolResult]:
        """Run calls and return their results in the order of the calls.

        Args:
            calls: The calls.
            approved: True when a person agreed to them.
            watch: Runs each call; None = nobody watches.
        """
        requests = [
            CallRequest(
                id=call.id,
                name=call.name,
                arguments=call.arguments,
                caller=self._caller,
                run=self._run,
                approved=approved,
            )
            for call in calls
        ]

        async def one(place: int) -> ToolResult:
            async def run() -> ToolResult:
                return await self._dispatcher.dispatch(requests[place])

            return await (run() if watch is None else watch(calls[place], run))

        return await in_order(one, [_footprint(self._dispatcher, item) for item in requests])


async def run_step(requests: Sequence[CallRequest], dispatcher: Dispatcher) -> list[ToolResult]:
    """Run calls and return their results in the order of the calls."""

    async def one(place: int) -> ToolResult:
        return await dispatcher.dispatch(requests[place])

    return await in_order(one, [_footprint(dispatcher, request) for request in requests])


async def in_order(
    run: Callable[[int], Awaitable[ToolResult]], footprints: Sequence[Footprint]
) -> list[ToolResult]:
    """Run one call for each footprint; a call waits for every earlier one that conflicts with it.

    Args:
        run: Runs the call at a place.
        footprints: What each call touches, in call order.
    """
    if len(footprints) == 1:
        return [await run(0)]
    results: dict[int, ToolResult] = {}
    ended = [anyio.Event() for _ in footprints]
    limiter = anyio.CapacityLimiter(MAX_AT_ONCE)

    async def one(place: int) -> None:
        for earlier in range(place):
            if conflict(footprints[earlier], footprints[place]):
                await ended[earlier].wait()
        async with limiter:
            results[place] = await run(place)
        ended[place].set()

    async with anyio.create_task_group() as group:
        for place in range(len(footprints)):
            group.start_soon(one, place)
    return [results[place] for place in range(len(footprints))]


def _footprint(dispatcher: Dispatcher, request: CallRequest) -> Footprint:
    found = dispatcher.find(request)
    if isinstance(found, ToolResult):
        return NOTHING  # it will not run
    try:
        arguments, _ = parse(found.arguments)
    except ValueError:
        return NOTHING
    effects = call_effects(found.tool.spec, arguments)
    access = call_access(found.tool.spec, arguments, effects, request.run.workspace)
    return footprint(found.tool, access)
