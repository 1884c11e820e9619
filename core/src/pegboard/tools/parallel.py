"""The calls of one step: at the same time where they can be, in order where they must be."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import anyio
import anyio.to_thread

from pegboard.contracts.caller import Caller
from pegboard.contracts.errors import StoreError
from pegboard.contracts.message import ToolCall
from pegboard.contracts.result import Suspend, ToolResult
from pegboard.policy.derive import call_effects
from pegboard.tools.access import call_access
from pegboard.tools.dispatch import Dispatcher
from pegboard.tools.footprint import NOTHING, Footprint, conflict, footprint, spelled_out
from pegboard.tools.run_scope import CallRequest, FoundCall, RunScope

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
    ) -> list[ToolResult | None]:
        """Run calls and return their results in the order of the calls.

        A call that conflicts with an earlier one that waits for a person is not run: it has None.

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

        return await in_order(one, await _footprints(self._dispatcher, requests))


async def in_order(
    run: Callable[[int], Awaitable[ToolResult]], footprints: Sequence[Footprint]
) -> list[ToolResult | None]:
    """Run one call for each footprint; a call waits for every earlier one that conflicts with it.

    When that one waits for a person, and so has not run, the later one is left out: it has None.

    Args:
        run: Runs the call at a place.
        footprints: What each call touches, in call order.

    Raises:
        StoreError: When the journal of a call can't be written; the others are cancelled.
    """
    if len(footprints) == 1:
        return [await run(0)]
    results: list[ToolResult | None] = [None for _ in footprints]
    ended = [anyio.Event() for _ in footprints]
    limiter = anyio.CapacityLimiter(MAX_AT_ONCE)
    lost: list[StoreError] = []

    async def one(place: int) -> None:
        before = [n for n in range(place) if conflict(footprints[n], footprints[place])]
        for earlier in before:
            await ended[earlier].wait()
        if not any(_waits(results[earlier]) for earlier in before):
            async with limiter:
                try:
                    results[place] = await run(place)
                except StoreError as error:  # raised below as it is, not in a group
                    lost.append(error)
                    group.cancel_scope.cancel()
                    return
        ended[place].set()

    async with anyio.create_task_group() as group:
        for place in range(len(footprints)):
            group.start_soon(one, place)
    if lost:
        raise lost[0]
    return results


def _waits(result: ToolResult | None) -> bool:
    return result is None or isinstance(result.control, Suspend)


async def _footprints(dispatcher: Dispatcher, requests: Sequence[CallRequest]) -> list[Footprint]:
    """Return what each call touches; a call that has no other beside it is not looked at."""
    if len(requests) < 2:
        return [NOTHING for _ in requests]
    found = [_footprint(dispatcher, request) for request in requests]
    if not any(item.writes for item in found):
        return found
    # links are looked up on the disk, which may be slow
    return await anyio.to_thread.run_sync(lambda: [spelled_out(item) for item in found])


def _footprint(dispatcher: Dispatcher, request: CallRequest) -> Footprint:
    found = dispatcher.find(request)
    if not isinstance(found, FoundCall):
        return NOTHING  # it will not run
    spec, workspace = found.tool.spec, request.run.workspace
    if not spec.access and spec.effects_by is None:
        effects = call_effects(spec)
        return footprint(found.tool, call_access(spec, {}, effects, workspace))
    checked = dispatcher.checked(found)
    if checked.errors:
        return NOTHING
    # what a hook will make of the arguments nobody knows yet
    arguments = {} if dispatcher.hooks.wants("pegboard_tool_arguments") else checked.arguments
    effects = call_effects(spec, arguments)
    return footprint(found.tool, call_access(spec, arguments, effects, workspace))
