"""How a turn ended, as the exit code of a command."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pegboard import TurnOutcome

RUN_FAILED: Final = 7
TOOLS_FAILED: Final = 8
INTERRUPTED: Final = 130


def exit_code(outcome: TurnOutcome) -> int:
    """Return the exit code that tells a script how a turn ended."""
    if outcome.status == "cancelled":
        return INTERRUPTED
    if outcome.status != "done":
        return int((outcome.error or {}).get("exit_code", RUN_FAILED))
    failed = 0 < outcome.tool_calls == outcome.tool_failures
    return TOOLS_FAILED if failed else 0
