"""A verdict in words, with the rules that were looked at, for people who ask why."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from pegboard.contracts.caller import NO_FILTER, Caller, ToolFilter
from pegboard.contracts.capability import Capability
from pegboard.contracts.tool import RegisteredTool
from pegboard.contracts.verdict import Outcome, Verdict
from pegboard.policy.authority import RULES
from pegboard.policy.capabilities import BINDING
from pegboard.policy.control_plane import ADMIN_OPERATIONS
from pegboard.policy.decide import ALLOWED, Gate, decide
from pegboard.policy.derive import possible_classes, tool_class
from pegboard.policy.filters import CHAIN
from pegboard.policy.profiles import Autonomy
from pegboard.policy.rule_match import Call
from pegboard.policy.snapshot import PolicySnapshot

ATTENDED: Final = "attended"
OWN_RULES: Final = "rules"
LOOKED_AT: Final = {
    "kind": "kinds of tools that are left out here",
    "policy": "the tool's class, against the caller's trust and what narrows the run",
    "owner_only": "tools that return the owner's own data",
    "allow_list": "lists of the only tools that may be used",
    "excluded_name": "tools left out by name",
    "excluded_category": "tools left out by category",
    "hidden": "tools that nobody is shown",
    "control_plane": "tools that change Pegboard itself, which only an admin may",
    "lease": "whether the run's lease still holds",
    "breaker": "whether the run was stopped after too many refusals",
    "capability": "what the agent may do on its own",
    "script_surface": "what is opened to scripts",
    ATTENDED: "who must be present",
    OWN_RULES: "what you ask about, refuse or let pass in [[policy.rules]]",
}
"""Every rule in the order in which it is asked -> what it looks at, in words."""

_SAYS: Final = {
    Outcome.ALLOW: "allowed",
    Outcome.ASK: "allowed after a person agrees",
    Outcome.DENY: "denied",
}


class Step(NamedTuple):
    """One rule that was looked at.

    Args:
        rule: Its name, a key of `LOOKED_AT`.
        verdict: What it decided; None = it left that to the next one.
    """

    rule: str
    verdict: Verdict | None


def looked_at(
    policy: PolicySnapshot,
    caller: Caller,
    tool: RegisteredTool,
    *,
    filter: ToolFilter = NO_FILTER,
    call: Call | None = None,
) -> list[Step]:
    """Return the rules that `decide` asks about a tool, up to the one that decides.

    Args:
        policy: The frozen settings.
        caller: Whom it is for.
        tool: The tool.
        filter: What the call site leaves out beside the operator's own filter.
        call: One call of the tool; None = could some call pass?
    """
    found: list[Step] = []
    for step in _steps(Gate(policy, caller, filter), tool, call):
        found.append(step)
        if step.verdict is not None:
            break
    return found


def _steps(gate: Gate, tool: RegisteredTool, call: Call | None) -> Iterator[Step]:
    effective = gate.effective(tool, None if call is None else call.access)
    for check in CHAIN:
        yield Step(check.__name__, check(tool, effective, gate.ceiling))
    for rule in RULES:
        yield Step(rule.__name__, rule(gate.policy, gate.caller, tool))
    if call is None:
        verdict = gate.judge(tool)
    else:
        verdict = gate.judge(tool, call.access, call.arguments, workspace=call.workspace)
    absent = verdict.rule.startswith(f"{ATTENDED}.")
    yield Step(ATTENDED, verdict if absent else None)
    yield Step(OWN_RULES, None if verdict is ALLOWED else verdict)


def depends_on_arguments(policy: PolicySnapshot, caller: Caller, tool: RegisteredTool) -> bool:
    """Tell whether one call of a tool may be judged more strictly than the decision about it says.

    That is about some call that could pass; effects, or a rule, may depend on the arguments.
    """
    return tool.spec.effects_by is not None or any(
        rule.looks_at_arguments and rule.is_about_caller(caller) and rule.is_about_tool(tool)
        for rule in policy.rules
    )


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


def facts_data(tool: RegisteredTool) -> dict[str, Any]:
    """Return the same as JSON-serialisable data: every fact, also where it is a default."""
    spec = tool.spec
    return {
        "name": tool.wire_name,
        "canonical": tool.canonical,
        "plugin": tool.plugin,
        "kind": tool.kind,
        "first_party": tool.first_party,
        "category": spec.category,
        "effects": None if spec.effects is None else sorted(spec.effects),
        "classes": list(possible_classes(tool)),
        "audience": spec.audience,
        "exposure": spec.exposure,
        "attended": spec.attended,
        "capability": spec.capability,
        "control": spec.control,
    }


def caller_data(caller: Caller) -> dict[str, Any]:
    """Return what policy reads of a caller, as JSON-serialisable data."""
    return {
        "trust": "operator" if caller.trust == "operator" else "guest",
        "admin": caller.admin,
        "agent": caller.agent,
        "origin": caller.origin,
        "channel": caller.channel,
        "sender": caller.sender,
        "surface": caller.surface,
        "attended": caller.attended,
        "live_reply": caller.live_reply,
        "slash_commands": caller.slash_commands,
        "depth": caller.depth,
    }


def profile_facts(autonomy: Autonomy) -> list[str]:
    """Return what follows from the profile in force, one sentence each."""
    holds = (
        "The agent starts nothing by itself: no subagents, jobs, messages or scripts."
        if not autonomy.capabilities
        else f"The agent holds {', '.join(sorted(autonomy.capabilities))}."
    )
    lines = [holds]
    if not autonomy.asks:
        lines.append("Nobody is asked: a question is a no.")
    if autonomy.refusals is not None:
        lines.append(f"A run that is refused {autonomy.refusals} times in a row is stopped.")
    if autonomy.script_write:
        lines.append("Scripts may call tools that write.")
    if autonomy.mcp_allow:
        names = ", ".join(f"{server}: {tool}" for server, tool in sorted(autonomy.mcp_allow))
        lines.append(f"Scripts may call these MCP tools: {names}.")
    if autonomy.profile == "max":
        lines.append("max is the same as standard for now, and will hold more in a later version.")
    return lines


def _capability(capability: Capability) -> str:
    binds = "for every call" if capability in BINDING else "for scripts"
    return f"{capability} ({binds})"


def _decision(caller: Caller, tool: RegisteredTool, verdict: Verdict) -> str:
    who = "an operator" if caller.trust == "operator" else "a guest"
    known = "" if verdict.disclosed else " (and not told that it exists)"
    lines = [
        f"{tool.wire_name}: {_SAYS[verdict.outcome]} for {who}{known}",
        f"rule: {verdict.rule}",
        f"reason: {verdict.reason}",
    ]
    if verdict.fix:
        lines.append(f"fix: {verdict.fix}")
    return "\n".join(lines)
