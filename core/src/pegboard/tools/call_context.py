"""The context of one call, made for a plugin's tool."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from pegboard.contracts.context import CallInfo, ToolContext
from pegboard.contracts.effects import Effects
from pegboard.contracts.errors import PegboardError
from pegboard.contracts.result import ToolResult
from pegboard.contracts.stream import ToolProgress
from pegboard.plugins.building.isolation import is_plugin_fault, one_line
from pegboard.plugins.running.guard_stdout import quiet
from pegboard.tools.implementation import Implementation
from pegboard.tools.run_scope import CallRequest, FoundCall
from pegboard.tools.text_repair import repaired

if TYPE_CHECKING:
    from pegboard.tools.dispatch import Dispatcher

MAX_PROGRESS_CHARS: Final = 1_000


class _Reach:
    """What a call can do to the outside of itself: report where it is, call another tool."""

    __slots__ = ("_calls", "_dispatcher", "_name", "_request")

    def __init__(self, dispatcher: Dispatcher, request: CallRequest, name: str) -> None:
        self._dispatcher = dispatcher
        self._request = request
        self._name = name
        self._calls = 0

    async def progress(self, message: str, *, fraction: float | None = None) -> None:
        """Report where the call is; a no-op when nobody listens."""
        emit = self._request.run.emit
        if emit is not None:
            await emit(
                ToolProgress(
                    call=self._request.id,
                    name=self._name,
                    message=repaired(str(message)[:MAX_PROGRESS_CHARS]),
                    fraction=_part(fraction),
                )
            )

    async def invoke(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Call another tool as the same caller, through the same gate."""
        self._calls += 1
        outer = self._request
        return await self._dispatcher.dispatch(
            CallRequest(
                id=f"{outer.id}.{self._calls}",
                name=name,
                arguments=arguments,
                caller=outer.caller,
                run=outer.run,
                nesting=outer.nesting + 1,
            )
        )


def tool_context(
    dispatcher: Dispatcher, call: FoundCall, ready: Implementation, effects: Effects
) -> ToolContext:
    """Make the context of a call.

    Args:
        dispatcher: What `invoke` goes through.
        call: The call.
        ready: What runs, with the context of its plugin.
        effects: Effects of the call as declared; what the caller does not have is taken away.
    """
    assert ready.context is not None, "core's own tools get no context"
    request, caller = call.request, call.request.caller
    run = request.run
    journal = run.journal
    reach = _Reach(dispatcher, request, call.tool.wire_name)
    effects = effects & call.gate.ceiling.effects
    return ToolContext(
        call=CallInfo(
            id=request.id,
            run=run.run,
            turn=run.turn,
            conversation=run.conversation,
            epoch=run.epoch,
            attempt=1 if journal is None else journal.attempt(request.id),
            idempotency_key=(
                f"{run.run}:{request.id}"
                if journal is None
                else journal.idempotency_key(request.id)
            ),
            deadline=run.clock.monotonic() + call.tool.spec.timeout_s,
            effects=effects,
            workspace=run.workspace,
            owner=run.owner,
        ),
        caller=caller,
        plugin=ready.context,
        sandbox=run.narrowed(effects),
        model=run.model,
        runs=run.runs,
        reply=run.reply if caller.live_reply else None,
        blobs=run.blobs,
        progress=reach.progress,
        invoke=reach.invoke,
    )


def unavailable_reason(
    dispatcher: Dispatcher, call: FoundCall, ready: Implementation, effects: Effects
) -> str | None:
    """Return why a tool can't work for this caller now, or None."""
    if ready.context is None:
        return None
    try:
        context = tool_context(dispatcher, call, ready, effects)
    except PegboardError as error:  # the sandbox can't be narrowed like this
        return error.message
    return reason_of(ready, context)


def reason_of(ready: Implementation, context: ToolContext) -> str | None:
    """Ask a tool whether it can work; one that can't answer can't."""
    if ready.available is None:
        return None
    try:
        with quiet(context.plugin.id):
            reason: Any = ready.available(context)
            if inspect.iscoroutine(reason):
                reason.close()
                return "its check is an `async def`; it must be a `def`"
            return None if reason is None else str(reason)
    except BaseException as error:
        if not is_plugin_fault(error):
            raise
        return f"its check broke down: {one_line(error)}"


def _part(fraction: object) -> float | None:
    """Return a fraction between 0 and 1, or None for what no one can draw."""
    known = isinstance(fraction, (int, float)) and 0 <= fraction <= 1
    return float(fraction) if known else None  # type: ignore[arg-type]
