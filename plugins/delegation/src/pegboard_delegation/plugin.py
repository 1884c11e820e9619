"""Gives work to other agents: workers side by side, and handing a conversation over."""

from __future__ import annotations

from pegboard import Plugin
from pegboard_delegation.tools.handoff import handoff
from pegboard_delegation.tools.subagents import subagents, subagents_ultra

plugin = Plugin(
    summary="Gives work to other agents: workers side by side, and handing a conversation over.",
    config="pegboard_delegation.config:DelegationSettings",
)
plugin.add_tools(subagents, subagents_ultra, handoff)
