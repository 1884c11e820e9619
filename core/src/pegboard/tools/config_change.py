"""A change of the configuration that a tool asks for: put to the owner, then made by the host."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from pegboard.contracts.approval import subject_of
from pegboard.contracts.caller import Caller
from pegboard.contracts.errors import PegboardError
from pegboard.contracts.result import ChangeConfig, Suspend, ToolResult
from pegboard.plugins.building.isolation import one_line
from pegboard.policy.control_plane import CONTROL_PLANE
from pegboard.tools.outcome import Outcome, Words, broken_down, raised
from pegboard.tools.run_scope import FoundCall

if TYPE_CHECKING:
    from pegboard.tools.dispatch import Dispatcher


class ConfigChanges(Protocol):
    """Makes changes of the configuration, as the host does."""

    async def check(self, change: ChangeConfig) -> str:
        """Return the change as it would be written, for the owner to read.

        Raises:
            PegboardError: When it can't be made, whoever agrees to it.
        """
        ...

    async def make(self, change: ChangeConfig, caller: Caller) -> None:
        """Write the change and let the host go by it at once.

        Raises:
            PegboardError: When it can't be written.
        """
        ...


async def settled(
    dispatcher: Dispatcher, call: FoundCall, arguments: Mapping[str, Any], outcome: Outcome
) -> Outcome:
    """Return what became of a call after the host did, or asked about, what it wants changed.

    What a person must agree to first comes back with the control `Suspend`. Nobody but the host
    suspends a call: a tool can't say what a yes to it means.

    Args:
        dispatcher: Knows who makes changes.
        call: The call that has run.
        arguments: Its arguments.
        outcome: What it returned.
    """
    control = outcome.result.control
    if isinstance(control, Suspend):
        return Outcome(broken_down(call.tool, "it suspends its own call"), Words.HOST)
    if not isinstance(control, ChangeConfig):
        return outcome
    done = outcome._replace(result=replace(outcome.result, control=None))
    if outcome.result.error is not None:
        return done
    if call.tool.spec.control != "config" or dispatcher.changes is None:
        why = 'it changes the configuration without declaring `control = "config"`'
        return Outcome(broken_down(call.tool, why), Words.HOST)
    try:
        waiting = await _asked(dispatcher, call, arguments, control, dispatcher.changes)
        if waiting is not None:
            return Outcome(waiting, Words.HOST)
        await dispatcher.changes.make(control, call.request.caller)
    except PegboardError as error:
        return Outcome(raised(call.tool, error).result, Words.HOST)
    request = call.request
    await dispatcher.questions.record(
        request, call.tool, "control_plane", CONTROL_PLANE, outcome="allow"
    )
    await request.run.renew()
    return done


def without_asking(result: ToolResult) -> ToolResult:
    """Return a result that a hook changed, without what only a tool, or the host, can ask for."""
    asks = isinstance(result.control, (Suspend, ChangeConfig))
    return replace(result, control=None) if asks else result


async def _asked(
    dispatcher: Dispatcher,
    call: FoundCall,
    arguments: Mapping[str, Any],
    change: ChangeConfig,
    changes: ConfigChanges,
) -> ToolResult | None:
    """Return what waits for the owner's word, or None when they have given it."""
    try:
        written = await changes.check(change)
    except (TypeError, ValueError, AttributeError) as error:  # fields that are not what they say
        return broken_down(call.tool, one_line(error))
    by = "" if call.tool.first_party else f" (asked by the plugin {call.tool.plugin})"
    question = f"{change.question}{by}\nThis changes the configuration:\n{written}"
    asked = Suspend(
        question,
        CONTROL_PLANE,
        subject_of(call.tool.canonical, arguments, question),
        call.tool.canonical,
        arguments,
    )
    return await dispatcher.questions.asked(call, asked)
