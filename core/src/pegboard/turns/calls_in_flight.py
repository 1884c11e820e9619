"""What a turn had at work when its last host died."""

from __future__ import annotations

from collections.abc import Sequence

from pegboard.config.core_schema import CORE
from pegboard.contracts.turn import Begun, CallRecord
from pegboard.store.fatal_calls import innermost


def calls_in_flight(begun: Begun) -> tuple[CallRecord, ...]:
    """Return the calls of tools that ran, as far as the record tells, when the last host died.

    A turn that was handed on, or put to wait, has lost no host. A call that waits for a person, or
    was refused by one, does not run.
    """
    if begun.turn.attempts <= 1:
        return ()
    return tuple(
        call
        for call in innermost(begun.calls)
        if (asked := begun.approvals.get(call.id)) is None or asked.state == "agreed"
    )


def tool_names(calls: Sequence[CallRecord]) -> str:
    """Return the names of the tools of calls as a person reads them: `file_write and shell_run`."""
    return " and ".join(dict.fromkeys(call.name.rpartition(":")[2] for call in calls))


def more_about(calls: Sequence[CallRecord]) -> str:
    """Return the command that tells more of the plugin which was at work last."""
    plugin = calls[-1].name.partition(":")[0] if calls else CORE
    return "pegboard logs" if plugin == CORE else f"pegboard plugins why {plugin}"
