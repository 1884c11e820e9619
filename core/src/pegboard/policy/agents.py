"""What the operator's named agents may use and whom they may have work: each narrows, none adds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from pegboard.config.agents import MAIN
from pegboard.contracts.caller import NO_FILTER, ToolFilter
from pegboard.contracts.capability import Capability

HANDOFF: Final = "handoff"
"""Category of the tools that hand a conversation over to another agent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentPolicy:
    """The narrowings of one agent.

    Args:
        filter: Tools that it may use, beside the operator's own filter.
        capabilities: Those that its runs hold at most; None = those of the operator's profile.
        heirs: Agents that it may hand a conversation over to.
    """

    filter: ToolFilter = NO_FILTER
    capabilities: frozenset[Capability] | None = None
    heirs: frozenset[str] = frozenset()


ANYTHING: Final = AgentPolicy()
NOTHING: Final = AgentPolicy(
    filter=ToolFilter(allowed_tools=frozenset()), capabilities=frozenset[Capability]()
)
"""For an agent that nobody has defined, or that is gone from the configuration."""


@dataclass(frozen=True, slots=True, eq=False)
class AgentPolicies:
    """Those of all agents, by id. Never changes; compared by identity, which is quick."""

    by_id: Mapping[str, AgentPolicy] = field(default_factory=lambda: MappingProxyType({}))

    def of(self, agent: str) -> AgentPolicy:
        """Return what narrows an agent; one that is unknown may use nothing."""
        return self.by_id.get(agent, ANYTHING if agent == MAIN else NOTHING)


NO_AGENTS: Final = AgentPolicies()
