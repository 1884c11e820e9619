"""`/ultra PROMPT`: one request is answered exhaustively, with many workers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Final

from pegboard.contracts.caller import Caller
from pegboard.contracts.tool import RegisteredTool
from pegboard.contracts.verdict import Verdict
from pegboard.turns.commands import CommandCall, Prompt

ULTRA: Final = "ultra"
"""Name of the command, of the run profile, and of the rule that a tool for such turns states."""
NO_TOOL: Final = "Nothing is installed that does this. Run: pip install pegboard-delegation"


@dataclass(frozen=True, slots=True)
class UltraCommand:
    """Turns what follows it into a request of the profile `ultra`; implements `Command`.

    It is a turn like any other, in its place in the conversation. That it is this one is read from
    the message whenever the turn is run, so it holds after a restart, and no message can claim it
    in another way.

    Args:
        tools: Returns all tools.
        judge: Decides about a tool for a caller.
    """

    tools: Callable[[], Iterable[RegisteredTool]]
    judge: Callable[[Caller, RegisteredTool], Verdict]
    name: str = ULTRA
    summary: str = "answer one request exhaustively, with many workers at a time"
    operator: bool = True
    argument: str = "PROMPT"
    bypass: bool = False
    everywhere: bool = True

    async def run(self, call: CommandCall) -> str | Prompt:
        """Return the request, or why it can't be answered in this way."""
        caller = replace(call.caller, run_profile="ultra")
        verdicts = [
            self.judge(caller, tool) for tool in self.tools() if tool.spec.attended == ULTRA
        ]
        if any(verdict.allowed for verdict in verdicts):
            return Prompt(text=call.argument, run_profile="ultra")
        if not verdicts:
            return NO_TOOL
        return " ".join(filter(None, (verdicts[0].reason, verdicts[0].fix)))
