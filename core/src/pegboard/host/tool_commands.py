"""Chat commands that plugins bring: each a call of a tool, for whoever may use that tool."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pegboard.contracts.caller import Caller
from pegboard.contracts.tool import RegisteredTool
from pegboard.contracts.verdict import Outcome
from pegboard.host.parts import HostParts
from pegboard.plugins.decision.chat_commands import chat_commands
from pegboard.plugins.discovery.chat_command import chat_command, is_required
from pegboard.policy.decide import decide
from pegboard.policy.derive import call_effects
from pegboard.tools.dispatch import Dispatcher
from pegboard.tools.exposure import reachable
from pegboard.turns.commands import CommandCall
from pegboard.turns.journal import RERUN
from pegboard.turns.person_call import PersonCall


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCommand:
    """A chat command of a plugin; implements `BroughtCommand`.

    Nothing of the plugin is imported before it is used. The call passes the gate as any other.

    Args:
        name: The word after the slash.
        summary: What it does.
        tool: What it calls.
        dispatcher: Holds the policy in force.
        takes: The argument that what follows the word becomes, or "".
        arguments: Arguments with fixed values.
    """

    name: str
    summary: str
    tool: RegisteredTool
    dispatcher: Dispatcher
    takes: str = ""
    arguments: Mapping[str, Any]
    operator: bool = False
    everywhere: bool = False

    @property
    def argument(self) -> str:
        """What follows the word, as `/help` shows it."""
        label = self.takes.upper()
        if not label or is_required(self.takes, self.tool.spec.parameters):
            return label
        return f"[{label}]"

    @property
    def bypass(self) -> bool:
        """True for a call that only looks: it can't come in the way of a turn that runs.

        Any other waits for its turn, and is made once even if the host is killed.
        """
        spec = self.tool.spec
        return spec.effects is not None and call_effects(spec, self.arguments) <= RERUN

    def known_to(self, caller: Caller) -> bool:
        """Tell whether the caller may use the tool."""
        if not reachable(self.tool, caller):
            return False
        return decide(self.dispatcher.policy, caller, self.tool).outcome is not Outcome.DENY

    async def run(self, call: CommandCall) -> PersonCall:
        """Return the call."""
        given = {self.takes: call.argument} if self.takes and call.argument else {}
        return PersonCall(tool=self.tool.canonical, arguments={**self.arguments, **given})


def tool_commands(parts: HostParts) -> dict[str, ToolCommand]:
    """Return the chat commands that usable plugins bring now, by name."""
    found = {}
    for name, (record, fact) in chat_commands(parts.activator.records).found.items():
        facts = chat_command(fact.facts)
        tool = parts.registry.find(f"{record.id}:{facts.tool}")
        if tool is not None:
            found[name] = ToolCommand(
                name=name,
                summary=" ".join(fact.summary.split()) or tool.spec.summary,
                tool=tool,
                dispatcher=parts.dispatcher,
                takes=facts.argument,
                arguments=facts.arguments,
            )
    return found
