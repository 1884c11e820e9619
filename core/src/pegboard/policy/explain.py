"""A verdict in words, for people who ask why."""

from __future__ import annotations

from pegboard.contracts.caller import NO_FILTER, Caller, ToolFilter
from pegboard.contracts.capability import Capability
from pegboard.contracts.tool import RegisteredTool
from pegboard.contracts.verdict import Outcome, Verdict
from pegboard.policy.capabilities import BINDING
from pegboard.policy.control_plane import ADMIN_OPERATIONS
from pegboard.policy.decide import decide
from pegboard.policy.derive import possible_classes, tool_class
from pegboard.policy.snapshot import PolicySnapshot

_SAYS = {
    Outcome.ALLOW: "allowed",
    Outcome.ASK: "allowed after a person agrees",
    Outcome.DENY: "denied",
}


_WHO = {"operator": "an operator", "guest": "a guest"}


def explain(
    policy: PolicySnapshot, caller: Caller, tool: RegisteredTool, *, filter: ToolFilter = NO_FILTER
) -> str:
    """Return the decision about a tool as lines of text, with the rule that made it."""
    verdict = decide(policy, caller, tool, filter=filter)
    return "\n".join([_decision(caller, tool, verdict), *facts(tool)])


def facts(tool: RegisteredTool) -> list[str]:
    """Return what a tool states about itself that policy reads, one line each."""
    spec = tool.spec
    effects = "unknown" if spec.effects is None else ", ".join(sorted(spec.effects)) or "none"
    whole, others = tool_class(tool), possible_classes(tool)[:-1]
    return [
        f"tool: {tool.canonical} ({tool.kind}, {'first' if tool.first_party else 'third'}-party)",
        f"effects: {effects}",
        f"class: {whole}" + (f" ({', '.join(others)} for some arguments)" if others else ""),
        f"audience: {spec.audience}",
        f"exposure: {spec.exposure}",
        *([f"attended rule: {spec.attended}"] if spec.attended else []),
        *([f"capability: {_capability(spec.capability)}"] if spec.capability else []),
        *([f"control plane: {ADMIN_OPERATIONS[spec.control]}"] if spec.control else []),
    ]


def _capability(capability: Capability) -> str:
    binds = "for every call" if capability in BINDING else "for scripts"
    return f"{capability} ({binds})"


def _decision(caller: Caller, tool: RegisteredTool, verdict: Verdict) -> str:
    known = "" if verdict.disclosed else " (and not told that it exists)"
    lines = [
        f"{tool.wire_name}: {_SAYS[verdict.outcome]} for {_WHO[caller.trust]}{known}",
        f"rule: {verdict.rule}",
        f"reason: {verdict.reason}",
    ]
    if verdict.fix:
        lines.append(f"fix: {verdict.fix}")
    return "\n".join(lines)
