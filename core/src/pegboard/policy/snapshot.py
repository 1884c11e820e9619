"""Everything that a decision depends on beside caller and tool, frozen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from pegboard.contracts.caller import NO_FILTER, Caller, ToolFilter
from pegboard.contracts.capability import Capability
from pegboard.policy.agents import NO_AGENTS, AgentPolicies
from pegboard.policy.capabilities import SPAWN
from pegboard.policy.lease import NO_LEASES, Leases
from pegboard.policy.profiles import Autonomy, resolve
from pegboard.policy.rules import Rule, read_rules

_NOTHING: Final[frozenset[Capability]] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicySnapshot:
    """The settings, leases and breakers at one moment. Never changes.

    Args:
        filter: What the operator's configuration leaves out, for every caller.
        guest_tools: Names of further tools that guests may use.
        capabilities: Capabilities that runs hold.
        script_tools: Canonical names of third-party tools that scripts may call.
        script_write: True when scripts may call tools that need `orch:write`.
        mcp_allow: Server and tool of each MCP tool that scripts may call.
        asks: False when nobody is there to answer a question.
        rules: What the operator asks about, refuses or lets pass; the first that matches decides.
        agents: What narrows each named agent.
        leases: What runs that have a lease hold, and which of them were stopped.
    """

    filter: ToolFilter = NO_FILTER
    guest_tools: frozenset[str] = frozenset()
    capabilities: frozenset[Capability] = frozenset()
    script_tools: frozenset[str] = frozenset()
    script_write: bool = False
    mcp_allow: frozenset[tuple[str, str]] = frozenset()
    asks: bool = True
    rules: tuple[Rule, ...] = ()
    agents: AgentPolicies = NO_AGENTS
    leases: Leases = NO_LEASES

    @classmethod
    def from_settings(
        cls,
        tools: Mapping[str, Any] | None = None,
        policy: Mapping[str, Any] | None = None,
        *,
        scripts: Mapping[str, Any] | None = None,
        autonomy: Autonomy | None = None,
        agents: AgentPolicies = NO_AGENTS,
    ) -> PolicySnapshot:
        """Read the sections `[tools]`, `[policy]` and `[scripts]` of the configuration.

        Args:
            tools: The section of that name.
            policy: The section of that name.
            scripts: The section of that name.
            autonomy: What the section `[autonomy]` resolved to; None = its defaults.
            agents: What the section `[agents]` says of each named agent.

        Raises:
            ConfigError: When a rule can't be read; says which and why.
        """
        tools, policy, scripts = tools or {}, policy or {}, scripts or {}
        autonomy = resolve() if autonomy is None else autonomy
        allowed = tools.get("allowed")
        return cls(
            filter=ToolFilter(
                allowed_tools=None if allowed is None else frozenset(allowed),
                excluded_names=frozenset(tools.get("excluded", ())),
                excluded_categories=frozenset(tools.get("excluded_categories", ())),
            ),
            guest_tools=frozenset(policy.get("guest_tools", ())),
            capabilities=autonomy.capabilities,
            script_tools=frozenset(scripts.get("allow", ())),
            script_write=autonomy.script_write,
            mcp_allow=autonomy.mcp_allow,
            asks=autonomy.asks,
            rules=read_rules(policy.get("rules", ())),
            agents=agents,
        )

    def at(self, now: float) -> PolicySnapshot:
        """Return the snapshot at a monotonic time: without the leases that have ended by then."""
        leases = self.leases.at(now)
        return self if leases is self.leases else replace(self, leases=leases)

    def held(self, caller: Caller) -> frozenset[Capability]:
        """Return the capabilities that a caller's run holds.

        Without a lease they are those of the profile; with one at most those of both. A named
        agent's own profile can only take from them, and delegated work starts no further runs.
        """
        held = self.capabilities
        if caller.lease:
            lease = self.leases.live.get(caller.lease)
            held = _NOTHING if lease is None else held & lease.capabilities
        own = self.agents.of(caller.agent).capabilities
        if own is not None:
            held = held & own
        return held - {SPAWN} if caller.depth else held


OPEN_POLICY: Final = PolicySnapshot()
