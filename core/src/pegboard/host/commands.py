"""The chat commands of a host."""

from __future__ import annotations

from pegboard.host.approval_parts import ApprovalParts
from pegboard.host.conversation_parts import ConversationParts
from pegboard.host.description import Description
from pegboard.host.parts import HostParts
from pegboard.host.ultra import UltraCommand
from pegboard.policy.decide import decide
from pegboard.turns.commands import ChatCommands
from pegboard.turns.own_commands import own_commands


def host_commands(
    parts: HostParts,
    description: Description,
    conversations: ConversationParts,
    approvals: ApprovalParts,
) -> ChatCommands:
    """Return the host's own commands, which are there whatever plugins are installed."""
    ultra = UltraCommand(
        tools=parts.registry.list_all,
        judge=lambda caller, tool: decide(parts.dispatcher.policy, caller, tool),
    )
    confirmations = approvals.confirmations.commands()
    return ChatCommands([*own_commands(description), ultra, conversations.compact, *confirmations])
