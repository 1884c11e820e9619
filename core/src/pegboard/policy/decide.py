"""The one decision about a tool: pure, from a frozen snapshot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pegboard.contracts.caller import NO_FILTER, Caller, ToolFilter
from pegboard.contracts.effects import Access, PolicyClass
from pegboard.contracts.tool import RegisteredTool
from pegboard.contracts.verdict import Outcome, Verdict
from pegboard.policy.attended import unmet
from pegboard.policy.ceiling import Ceiling
from pegboard.policy.derive import possible_classes, tool_class
from pegboard.policy.filters import refusal

GUEST_TOOLS: Final[frozenset[str]] = frozenset(
    {"core:tool_search", "core:tool_describe", "core:tool_call", "core:tool_help"}
)
"""What every guest may use: finding and calling what else the operator opened to guests."""

ALLOWED: Final = Verdict(Outcome.ALLOW, "allowed", "No rule forbids it.")


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicySnapshot:
    """Everything that a decision depends on beside caller and tool. Never changes.

    Args:
        filter: What the operator's configuration leaves out, for every caller.
        guest_tools: Names of further tools that guests may use.
        capabilities: Capabilities that scripts hold.
        script_tools: Canonical names of third-party tools that scripts may call.
    """

    filter: ToolFilter = NO_FILTER
    guest_tools: frozenset[str] = frozenset()
    capabilities: frozenset[str] = frozenset()
    script_tools: frozenset[str] = frozenset()

    @classmethod
    def from_settings(
        cls, tools: Mapping[str, Any] | None = None, policy: Mapping[str, Any] | None = None
    ) -> PolicySnapshot:
        """Read the sections `[tools]` and `[policy]` of the configuration."""
        tools, policy = tools or {}, policy or {}
        allowed = tools.get("allowed")
        return cls(
            filter=ToolFilter(
                allowed_tools=None if allowed is None else frozenset(allowed),
                excluded_names=frozenset(tools.get("excluded", ())),
                excluded_categories=frozenset(tools.get("excluded_categories", ())),
            ),
            guest_tools=frozenset(policy.get("guest_tools", ())),
        )


OPEN_POLICY: Final = PolicySnapshot()


class Gate:
    """`decide` with everything but the tool given, for callers that decide about many.

    Args:
        policy: The frozen settings.
        caller: Whom it is for.
        filter: What the call site leaves out beside the operator's own filter.
    """

    __slots__ = ("_verdicts", "caller", "ceiling", "filter", "policy")

    def __init__(
        self, policy: PolicySnapshot, caller: Caller, filter: ToolFilter = NO_FILTER
    ) -> None:
        self.policy = policy
        self.caller = caller
        self.filter = filter
        self._verdicts: dict[int, tuple[RegisteredTool, Verdict]] = {}
        self.ceiling = Ceiling.of(
            caller, (policy.filter, filter), guest_tools=policy.guest_tools | GUEST_TOOLS
        )

    def fits(self, policy: PolicySnapshot, caller: Caller, filter: ToolFilter) -> bool:
        """Tell whether this gate was made from exactly these."""
        return self.policy is policy and self.caller is caller and self.filter is filter

    def shows(self, tool: RegisteredTool) -> bool:
        """Tell whether some call of a tool could pass, perhaps after a person agreed."""
        return self.judge(tool).outcome is not Outcome.DENY

    def judge(self, tool: RegisteredTool, access: tuple[Access, ...] | None = None) -> Verdict:
        """Decide about a tool, or about one call of it.

        Where effects do not depend on arguments every call is judged alike, so the answer is kept:
        dispatch asks twice for each call. By identity, since hashing a tool would cost more.
        """
        if tool.spec.effects_by is not None:
            return self._judge(tool, access)
        known = self._verdicts.get(id(tool))
        if known is None or known[0] is not tool:
            known = self._verdicts[id(tool)] = (tool, self._judge(tool, access))
        return known[1]

    def _judge(self, tool: RegisteredTool, access: tuple[Access, ...] | None) -> Verdict:
        refused = refusal(tool, _effective(tool, access, self.ceiling), self.ceiling)
        if refused is None and self.caller.origin == "script":
            refused = _script(self.policy, tool)
        if refused is None and tool.spec.attended is not None:
            refused = _attended(tool, tool.spec.attended, self.caller)
        return refused or ALLOWED


def decide(
    policy: PolicySnapshot,
    caller: Caller,
    tool: RegisteredTool,
    access: tuple[Access, ...] | None = None,
    *,
    filter: ToolFilter = NO_FILTER,
) -> Verdict:
    """Decide about a tool, or about one call of it.

    Narrowing any input never makes the answer milder, nor discloses what was undisclosed.

    Args:
        policy: The frozen settings.
        caller: Whom it is for.
        tool: The tool.
        access: What the call reaches; None = could some call pass? (for the list of tools).
        filter: What the call site leaves out beside the operator's own filter.
    """
    return Gate(policy, caller, filter).judge(tool, access)


def _effective(
    tool: RegisteredTool, access: tuple[Access, ...] | None, ceiling: Ceiling
) -> PolicyClass:
    """Return the class to judge by; for a list, that of a call that could pass, if one could."""
    if tool.spec.effects_by is None or tool.spec.effects is None:
        return tool_class(tool)
    if access is not None:
        return tool_class(tool, frozenset(item.effect for item in access))
    classes = possible_classes(tool)
    return next((name for name in classes if name in ceiling.classes), classes[0])


def _script(policy: PolicySnapshot, tool: RegisteredTool) -> Verdict | None:
    if tool.spec.capability is None or tool.spec.capability not in policy.capabilities:
        return Verdict(
            Outcome.DENY,
            "script.capability",
            f"{tool.canonical} needs a capability that scripts do not hold.",
            disclosed=False,
        )
    if not tool.first_party and tool.canonical not in policy.script_tools:
        return Verdict(
            Outcome.DENY,
            "script.allow",
            f"{tool.canonical} is not named in the list of tools that scripts may call.",
            disclosed=False,
        )
    return None


def _attended(tool: RegisteredTool, rule: str, caller: Caller) -> Verdict | None:
    reason = unmet(rule, caller)
    if reason is None:
        return None
    return Verdict(
        Outcome.DENY,
        f"attended.{rule}",
        f"{tool.canonical} {reason}.",
        fix="Ask the owner to start this in a turn of their own.",
    )
