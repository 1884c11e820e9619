"""The one decision about a tool: pure, from a frozen snapshot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from pegboard.contracts.caller import NO_FILTER, Caller, ToolFilter
from pegboard.contracts.effects import Access, Effects, PolicyClass
from pegboard.contracts.tool import RegisteredTool
from pegboard.contracts.verdict import Outcome, Verdict
from pegboard.policy.approvals import can_be_asked, ruled
from pegboard.policy.attended import unmet
from pegboard.policy.authority import lacking
from pegboard.policy.ceiling import Ceiling
from pegboard.policy.derive import call_effects, possible_classes, tool_class
from pegboard.policy.filters import refusal
from pegboard.policy.rule_match import Call, first_match, mildest
from pegboard.policy.snapshot import PolicySnapshot

GUEST_TOOLS: Final[frozenset[str]] = frozenset(
    {"core:tool_search", "core:tool_describe", "core:tool_call", "core:tool_help"}
)
"""What every guest may use: finding and calling what else the operator opened to guests."""

ALLOWED: Final = Verdict(Outcome.ALLOW, "allowed", "No rule forbids it.")


class Gate:
    """`decide` with everything but the tool given, for callers that decide about many.

    Args:
        policy: The frozen settings.
        caller: Whom it is for.
        filter: What the call site leaves out beside the operator's own filter.
    """

    __slots__ = ("_bound", "_rules", "_verdicts", "caller", "ceiling", "filter", "policy")

    def __init__(
        self, policy: PolicySnapshot, caller: Caller, filter: ToolFilter = NO_FILTER
    ) -> None:
        self.policy = policy
        self.caller = caller
        self.filter = filter
        self._bound = caller.origin == "script" or bool(caller.lease)
        self._verdicts: dict[int, tuple[RegisteredTool, Verdict]] = {}
        self._rules = tuple(rule for rule in policy.rules if rule.is_about_caller(caller))
        agent = policy.agents.of(caller.agent)
        self.ceiling = Ceiling.of(
            caller,
            (policy.filter, agent.filter, filter),
            guest_tools=policy.guest_tools | GUEST_TOOLS,
            heirs=agent.heirs,
        )

    @property
    def reads_names(self) -> bool:
        """True when two tools that differ in nothing but their names may be judged differently."""
        caller, ceiling = self.caller, self.ceiling
        return bool(
            ceiling.allow_lists
            or ceiling.excluded_names
            or ceiling.mcp_lists
            or caller.job_tools
            or caller.origin == "script"
            or self._rules
        )

    def fits(self, policy: PolicySnapshot, caller: Caller, filter: ToolFilter) -> bool:
        """Tell whether this gate was made from exactly these."""
        return self.policy is policy and self.caller is caller and self.filter is filter

    def shows(self, tool: RegisteredTool) -> bool:
        """Tell whether some call of a tool could pass, perhaps after a person agreed."""
        return self.judge(tool).outcome is not Outcome.DENY

    def judge(
        self,
        tool: RegisteredTool,
        access: tuple[Access, ...] | None = None,
        arguments: Mapping[str, Any] | None = None,
        *,
        workspace: str = "",
    ) -> Verdict:
        """Decide about a tool, or about one call of it.

        Where neither effects nor a rule depend on arguments every call is judged alike, so the
        answer is kept: dispatch asks twice for each call. By identity, since hashing a tool would
        cost more.

        Args:
            tool: The tool.
            access: What the call reaches; None = could some call pass?
            arguments: What the call is given; None = any call that reaches this.
            workspace: The folder that relative paths start in.
        """
        # without rules, as nearly always, nothing is asked of each call
        if self._rules and (
            access is not None and arguments is not None and self.reads_arguments(tool)
        ):
            call = Call(tool=tool, access=access, arguments=arguments, workspace=workspace)
            return self._judge(tool, access, call)
        if tool.spec.effects_by is not None:
            return self._judge(tool, access)
        known = self._verdicts.get(id(tool))
        if known is None:  # the tool is kept with it, so that no other one gets its id
            known = self._verdicts[id(tool)] = (tool, self._judge(tool, access))
        return known[1]

    def effective(
        self, tool: RegisteredTool, access: tuple[Access, ...] | None = None
    ) -> PolicyClass:
        """Return the class to judge by; for a list, that of a call that could pass, if one could.

        Args:
            tool: The tool.
            access: What the call reaches; None = could some call pass?
        """
        if tool.spec.effects_by is None or tool.spec.effects is None:
            return tool_class(tool)
        if access is not None:
            return tool_class(tool, frozenset(item.effect for item in access))
        classes = possible_classes(tool)
        return next((name for name in classes if name in self.ceiling.classes), classes[0])

    def reads_arguments(self, tool: RegisteredTool) -> bool:
        """Tell whether a rule looks at the arguments of this tool's calls."""
        return any(rule.looks_at_arguments and rule.is_about_tool(tool) for rule in self._rules)

    def _judge(
        self, tool: RegisteredTool, access: tuple[Access, ...] | None, call: Call | None = None
    ) -> Verdict:
        refused = refusal(tool, self.effective(tool, access), self.ceiling)
        if refused is not None:
            return refused
        spec = tool.spec
        if self._bound or spec.control is not None or spec.capability is not None:
            refused = lacking(self.policy, self.caller, tool)
        if refused is None and spec.attended is not None:
            refused = _attended(tool, spec.attended, self.caller)
        if refused is None:
            refused = self._ruled(tool, access, call)
        if refused.outcome is not Outcome.DENY:
            return refused
        # a guest is told of nothing that it can't use
        return replace(refused, disclosed=False) if self.ceiling.trust == "guest" else refused

    def _ruled(
        self, tool: RegisteredTool, access: tuple[Access, ...] | None, call: Call | None
    ) -> Verdict:
        """Apply the operator's rules, which only take from what the gate allows."""
        if not self._rules:
            return ALLOWED
        if call is not None:
            rule = first_match(self._rules, call)
        elif access is not None:
            rule = mildest(self._rules, tool, (frozenset(item.effect for item in access),))
        else:
            rule = mildest(self._rules, tool, self._possible(tool))
        asked = can_be_asked(self.policy, self.caller)
        return ALLOWED if rule is None else ruled(rule, tool, can_be_asked=asked)

    def _possible(self, tool: RegisteredTool) -> list[Effects]:
        """Return the effects that a call can have which the ceiling lets pass."""
        spec = tool.spec
        declared = call_effects(spec)
        if spec.effects_by is None or spec.effects is None:
            return [declared]
        found = [declared, *(declared & some for some in spec.effects_by.values.values())]
        return [some for some in found if tool_class(tool, some) in self.ceiling.classes]


def decide(
    policy: PolicySnapshot,
    caller: Caller,
    tool: RegisteredTool,
    access: tuple[Access, ...] | None = None,
    arguments: Mapping[str, Any] | None = None,
    *,
    filter: ToolFilter = NO_FILTER,
    workspace: str = "",
) -> Verdict:
    """Decide about a tool, or about one call of it.

    Narrowing any input never makes the answer milder, nor discloses what was undisclosed.

    Args:
        policy: The frozen settings.
        caller: Whom it is for.
        tool: The tool.
        access: What the call reaches; None = could some call pass? (for the list of tools).
        arguments: What the call is given; None = any call that reaches this.
        filter: What the call site leaves out beside the operator's own filter.
        workspace: The folder that relative paths start in.
    """
    return Gate(policy, caller, filter).judge(tool, access, arguments, workspace=workspace)


def _attended(tool: RegisteredTool, rule: str, caller: Caller) -> Verdict | None:
    reason = unmet(rule, caller, tool)
    if reason is None:
        return None
    return Verdict(
        Outcome.DENY,
        f"attended.{rule}",
        f"{tool.canonical} {reason}.",
        fix="Ask the owner to start this in a turn of their own.",
    )
