"""The one decision about a tool: pure, from a frozen snapshot."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from pegboard.contracts.caller import NO_FILTER, Caller, ToolFilter
from pegboard.contracts.effects import Access, PolicyClass
from pegboard.contracts.tool import RegisteredTool
from pegboard.contracts.verdict import Outcome, Verdict
from pegboard.policy.attended import unmet
from pegboard.policy.authority import lacking
from pegboard.policy.ceiling import Ceiling
from pegboard.policy.derive import possible_classes, tool_class
from pegboard.policy.filters import refusal
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

    __slots__ = ("_bound", "_verdicts", "caller", "ceiling", "filter", "policy")

    def __init__(
        self, policy: PolicySnapshot, caller: Caller, filter: ToolFilter = NO_FILTER
    ) -> None:
        self.policy = policy
        self.caller = caller
        self.filter = filter
        self._bound = caller.origin == "script" or bool(caller.lease)
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
        if refused is not None:
            return refused
        spec = tool.spec
        if self._bound or spec.control is not None or spec.capability is not None:
            refused = lacking(self.policy, self.caller, tool)
        if refused is None and spec.attended is not None:
            refused = _attended(tool, spec.attended, self.caller)
        if refused is None:
            return ALLOWED
        # a guest is told of nothing that it can't use
        return replace(refused, disclosed=False) if self.ceiling.trust == "guest" else refused


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
