"""Running a call that may run, and making its result fit to be read and kept."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Mapping
from typing import TYPE_CHECKING, Any

import anyio

from pegboard.contracts.context import ToolContext
from pegboard.contracts.effects import Effects
from pegboard.contracts.errors import PegboardError
from pegboard.contracts.hook_events import ToolResultEvent
from pegboard.contracts.result import Suspend, ToolResult
from pegboard.contracts.store import FencedError
from pegboard.plugins.building.isolation import is_plugin_fault, one_line
from pegboard.plugins.discovery.scan import FoundPlugin
from pegboard.plugins.running.guard_stdout import quiet
from pegboard.tools import refusals
from pegboard.tools.call_context import reason_of, tool_context
from pegboard.tools.config_change import settled, without_asking
from pegboard.tools.core_tool import CoreTool
from pegboard.tools.current_call import current_call
from pegboard.tools.finish import as_it_is, finished
from pegboard.tools.implementation import Implementation
from pegboard.tools.outcome import Outcome, broken_down, raised, returned, timed_out
from pegboard.tools.run_scope import FoundCall

if TYPE_CHECKING:
    from pegboard.tools.dispatch import Dispatcher

RECALL = "core:tool_result_recall"


async def execute(
    dispatcher: Dispatcher,
    call: FoundCall,
    ready: Implementation,
    arguments: Mapping[str, Any],
    effects: Effects,
) -> ToolResult:
    """Run a call and return what the model reads.

    Args:
        dispatcher: What the tool's own calls go through.
        call: The call, already allowed.
        ready: What runs.
        arguments: Validated arguments.
        effects: Effects of this call, as declared.
    """
    request, tool = call.request, call.tool
    run = request.run
    context = _context(dispatcher, call, ready, effects)
    if isinstance(context, ToolResult):
        return context
    if run.journal is not None:
        await run.journal.intent(request.id, tool, arguments, effects)
    if run.trace is not None:
        run.trace("run", arguments=arguments, effects=sorted(effects))
    asking = current_call.set(request)
    try:
        found = dispatcher.registry.installed(tool.plugin)
        outcome = await _run(call, ready, context, arguments, found)
    finally:
        current_call.reset(asking)
    if outcome.result.control is not None:
        outcome = await settled(dispatcher, call, arguments, outcome)
        if isinstance(outcome.result.control, Suspend):
            return outcome.result  # it has not ended: it runs again once a person has agreed
    if dispatcher.hooks.wants("pegboard_tool_result"):
        event = ToolResultEvent(
            call=request.id, tool=tool, result=outcome.result, caller=request.caller
        )
        event = await dispatcher.hooks.transform("pegboard_tool_result", event)
        if event.result is not outcome.result:
            outcome = Outcome(without_asking(event.result))  # a plugin's words, whosever they were
    result = await _fit(dispatcher, call, outcome)
    if run.journal is not None:
        await run.journal.result(request.id, result)
    return result


def _context(
    dispatcher: Dispatcher, call: FoundCall, ready: Implementation, effects: Effects
) -> ToolContext | ToolResult | None:
    """Make the context of a plugin's tool; a result says why the call can't run."""
    if isinstance(ready.call, CoreTool):
        return None
    try:
        context = tool_context(dispatcher, call, ready, effects)
    except PegboardError as error:  # the sandbox can't be narrowed like this
        return raised(call.tool, error).result
    reason = reason_of(ready, context)
    return context if reason is None else refusals.unavailable(call.tool, reason)


async def _fit(dispatcher: Dispatcher, call: FoundCall, outcome: Outcome) -> ToolResult:
    try:
        plain = as_it_is(call.tool, outcome)
        if plain is not None:
            return plain
        may_recall = functools.partial(_may_recall, dispatcher, call)
        return await finished(call.request, call.tool, outcome, may_recall=may_recall)
    except Exception as error:  # a result whose fields are not what their types say
        return broken_down(call.tool, one_line(error))


async def _run(
    call: FoundCall,
    ready: Implementation,
    context: ToolContext | None,
    arguments: Mapping[str, Any],
    found: FoundPlugin | None,
) -> Outcome:
    """Await the tool within its time; what it raises is told, not raised."""
    tool = call.tool
    awaited: Awaitable[Any]
    # a scope of our own: `fail_after` makes the same one, and two more objects around it
    scope = anyio.CancelScope(deadline=asyncio.get_running_loop().time() + tool.spec.timeout_s)
    try:
        # what a tool prints must not be taken for the host's own output
        with scope, quiet(tool.plugin):
            if context is None:
                assert isinstance(ready.call, CoreTool)
                awaited = ready.call.answer(call.request, arguments)
            else:
                awaited = ready.call(context, arguments)  # type: ignore[operator]
            return returned(tool, await awaited)
    except BaseException as error:
        fenced = _fenced(error)
        if fenced is not None:
            raise fenced from error
        if not is_plugin_fault(error):
            raise
        if not scope.cancel_called:
            to_operator = call.request.caller.trust == "operator"
            return raised(tool, error, found=found, to_operator=to_operator)
    return timed_out(tool)


def _fenced(error: BaseException) -> FencedError | None:
    """Return what a call of the tool's own met in the journal: the run is another host's now.

    A tool that hides it gets no further: its own result is refused by the journal too.
    """
    if isinstance(error, FencedError):
        return error
    if isinstance(error, BaseExceptionGroup):
        return next((found for inner in error.exceptions if (found := _fenced(inner))), None)
    return None


def _may_recall(dispatcher: Dispatcher, call: FoundCall) -> bool:
    recall = dispatcher.registry.find(RECALL)
    return recall is not None and call.gate.shows(recall)
