"""Who can be asked about a call, and what they are shown of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from pegboard.contracts.caller import Caller
from pegboard.contracts.tool import RegisteredTool
from pegboard.contracts.verdict import Ask, Outcome, Verdict
from pegboard.policy.rules import Rule, plain_json
from pegboard.policy.snapshot import PolicySnapshot

UNASKED_FIX: Final = "Say what you wanted to do, so that the person can decide later."
_ONE_RULE: Final = re.compile(r"policy\.rules\[\d+\]")
_LONGEST: Final = 1_500
"""Characters of one argument that a person is shown."""
_INDENT: Final = "\n    "


def can_be_asked(policy: PolicySnapshot, caller: Caller) -> bool:
    """Tell whether an owner is there who can be asked about a call of this caller.

    A guest is not: they can't agree to what is asked of the owner. Nor is anybody in work that was
    delegated, or where the operator said that nobody is there.
    """
    return (
        policy.asks
        and caller.trust == "operator"
        and caller.attended
        and caller.live_reply
        and not caller.depth
    )


def is_lasting(rule: str) -> bool:
    """Tell whether a yes can last: when one rule of the operator asked, and nothing else did."""
    return _ONE_RULE.fullmatch(rule) is not None


def ruled(rule: Rule, tool: RegisteredTool, *, can_be_asked: bool) -> Verdict:
    """Return the verdict of a rule about a tool.

    Args:
        rule: The rule that matches.
        tool: The tool.
        can_be_asked: False when there is nobody to ask: a question is a no then.
    """
    name = tool.wire_name
    if rule.outcome is Outcome.DENY:
        reason = rule.words or f"A rule of the operator refuses this call of {name}."
        return Verdict(Outcome.DENY, rule.name, reason, fix="Do without this call.")
    if rule.outcome is Outcome.ALLOW:
        return Verdict(Outcome.ALLOW, rule.name, "A rule of the operator lets it pass.")
    question = rule.words or f"May {name} run?"
    if not can_be_asked:
        reason = f"{name} needs a person's word and nobody is there to give it: {question}"
        return Verdict(Outcome.DENY, rule.name, reason, fix=UNASKED_FIX)
    reason = f"A rule of the operator wants a person's word for it: {question}"
    return Verdict(Outcome.ASK, rule.name, reason, ask=Ask(question))


def decisive(tool: RegisteredTool, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a person's yes to a call depends on: its arguments without remarks about it."""
    remarks = tool.spec.remarks
    return {name: value for name, value in arguments.items() if name not in remarks}


def shown_call(tool: RegisteredTool, arguments: Mapping[str, Any]) -> str:
    """Return a call as a person is shown it: all that would run, with nothing in it hidden.

    Args:
        tool: The tool.
        arguments: The arguments as they would run.
    """
    lines = [tool.wire_name]
    lines.extend(f"  {_shown(name)}: {_shown(value)}" for name, value in arguments.items())
    return "\n".join(lines)


def _shown(value: Any) -> str:
    if isinstance(value, str):
        text = value
    else:
        try:
            text = plain_json(value)
        except (TypeError, ValueError, RecursionError):
            text = repr(value)
    left_out = len(text) - _LONGEST
    if left_out > 0:
        half = _LONGEST // 2
        text = f"{text[:half]}\n[{left_out} characters are not shown here]\n{text[-half:]}"
    # further lines are set in, so that none of them looks like another argument
    return _INDENT.join("".join(map(_visible, line)) for line in text.split("\n"))


def _visible(char: str) -> str:
    """Return a character, or how it is written where it would not be seen or would hide others."""
    return char if char.isprintable() else char.encode("unicode_escape").decode("ascii")
