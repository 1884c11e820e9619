"""Answers to calls that do not run: each says why and what to do next."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Final

from pegboard.contracts.errors import CapabilityDeniedError, PegboardError
from pegboard.contracts.result import Suspend, ToolResult
from pegboard.contracts.tool import RegisteredTool
from pegboard.contracts.verdict import Ask, Deny, Verdict
from pegboard.plugins.decision.state import PluginRecord
from pegboard.policy.approvals import UNASKED_FIX, can_be_asked
from pegboard.tools.argument_errors import signature
from pegboard.tools.arguments import Checked
from pegboard.tools.run_scope import FoundCall
from pegboard.tools.text_repair import repaired

GUARD: Final = "guard"
"""What stands for a rule where a plugin's guard decided."""
_MAX_NAME: Final = 80
_MAX_COMPARED: Final = 500


def not_found(name: str, allowed: Iterable[RegisteredTool]) -> ToolResult:
    """Answer a call of a name that means nothing to this caller, whether or not a tool has it.

    Args:
        name: The name that was used.
        allowed: What the caller may call: the only names that may be suggested.
    """
    shown = _shown(name)
    near = _nearest(shown, allowed)
    if near:
        fix = f"The nearest are: {', '.join(near)}."
    else:
        fix = "Call only tools that were declared to you, or find one with tool_search."
    return ToolResult.failed("not_found", f"Tool '{shown}' not found.", fix=fix)


def plugin_unusable(name: str, record: PluginRecord) -> ToolResult:
    """Answer the owner's call of a tool whose plugin is disabled, or out of order.

    Args:
        name: The name that was used.
        record: The plugin.
    """
    because = f": {record.reason.rstrip('.')}" if record.reason else ""
    return ToolResult.failed(
        "not_found",
        f"Tool '{_shown(name)}' not found: its plugin {record.id} is {record.state}{because}.",
        fix=record.fix or f"Run: pegboard plugins why {record.id}",
    )


def invalid_arguments(tool: RegisteredTool, checked: Checked, *, by_hook: bool) -> ToolResult:
    """Answer a call whose arguments do not fit."""
    name = tool.wire_name
    if checked.broken:
        return ToolResult.failed(
            "tool_broken",
            f"{name} can't be called: {'; '.join(checked.errors)}.",
            fix=f"Do without it; its plugin {tool.plugin} has to be mended.",
        )
    listed = "\n".join(f"- {error}" for error in checked.errors)
    if by_hook:
        return ToolResult.failed(
            "invalid_arguments",
            f"A plugin changed the arguments of {name} to what does not fit:\n{listed}",
            fix="Do without this call.",
        )
    return ToolResult.failed(
        "invalid_arguments",
        f"The arguments of {name} do not fit:\n{listed}",
        fix=f"Call {name} again with one JSON object of: {signature(tool.spec.parameters)}.",
    )


def denied(verdict: Verdict, call: FoundCall) -> ToolResult:
    """Answer a call that policy refuses, of a tool that the caller knows; guests learn no rule."""
    if call.request.caller.trust != "operator":
        name = call.tool.wire_name
        return ToolResult.failed(
            "denied", f"This call of {name} is not allowed.", fix="Do without this call."
        )
    return ToolResult.failed(
        CapabilityDeniedError.code if verdict.rule.startswith("capability.") else "denied",
        verdict.reason,
        fix=verdict.fix or "Do without this call.",
        details={"rule": verdict.rule},
    )


def denied_by_guard(answer: Deny) -> ToolResult:
    """Answer a call that a guard refuses."""
    plugin = {"plugin": answer.plugin} if answer.plugin else {}
    by = f" by the plugin {answer.plugin}" if answer.plugin else ""
    return ToolResult.failed(
        "denied",
        f"Refused{by}: {answer.reason}",
        fix=answer.fix or "Do not try the same thing in another form.",
        details={"rule": guard_rule(answer), **plugin},
    )


def guard_rule(answer: Ask | Deny) -> str:
    """Return what stands for a rule where the guard of a plugin answered."""
    return f"{GUARD}:{answer.plugin}" if answer.plugin else GUARD


def waiting(call: FoundCall, asked: Suspend) -> ToolResult:
    """Answer a call that needs a person's word: it has not run.

    It waits only where the owner is there to give it, and never inside another call: a guest can't
    agree to what a guard asks of the owner.
    """
    request, name = call.request, call.tool.wire_name
    if request.nesting or not can_be_asked(call.gate.policy, request.caller):
        return ToolResult.failed(
            "denied",
            f"{name} needs a person's word and nobody is there to give it: {asked.question}",
            fix=UNASKED_FIX,
            details={"rule": asked.rule},
        )
    result = ToolResult.failed(
        "needs_approval",
        f"{name} waits for a person's word; it has not run.",
        details={"rule": asked.rule},
    )
    result.control = asked
    return result


def unavailable(tool: RegisteredTool, reason: str) -> ToolResult:
    """Answer a call of a tool that can't work now."""
    return ToolResult.failed(
        "not_available",
        f"{tool.wire_name} can't be used now: {reason.rstrip('.')}.",
        fix="Do without it until that is put right.",
    )


def plugin_failed(tool: RegisteredTool, error: PegboardError) -> ToolResult:
    """Answer a call of a tool whose plugin can't be imported."""
    return ToolResult.failed(
        "plugin_failed",
        f"{tool.wire_name} can't be used: {error.message}",
        fix=error.fix or f"Run: pegboard plugins why {tool.plugin}",
    )


def nested_too_deeply() -> ToolResult:
    """Answer a call inside too many others."""
    return ToolResult.failed(
        "nested_too_deeply", "Tools called one another too many times.", fix="Call it directly."
    )


def _shown(name: str) -> str:
    text = "".join(char if char.isprintable() else "\ufffd" for char in repaired(name[:_MAX_NAME]))
    return text.replace("<<", "((")


def _nearest(name: str, allowed: Iterable[RegisteredTool]) -> list[str]:
    """Return up to three names like `name`; only those that share a part with it are compared."""
    parts = {part for part in name.lower().replace("-", "_").split("_") if len(part) > 2}
    folded = name.lower()
    close = []
    for tool in allowed:
        other = tool.wire_name
        if other[:2] == folded[:2] or not parts.isdisjoint(other.split("_")):
            close.append(other)
            if len(close) == _MAX_COMPARED:
                break
    return difflib.get_close_matches(folded, close, n=3, cutoff=0.5)
