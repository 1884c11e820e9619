"""How callers, outcomes and results are written on the control socket."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pegboard.contracts.caller import Caller
from pegboard.contracts.channel import TurnOutcome
from pegboard.contracts.errors import UsageError
from pegboard.contracts.result import ToolResult
from pegboard.contracts.wire import TOOL_RESULT, USAGE, WireError
from pegboard.host.ingress import local_caller


def caller_form(caller: Caller) -> dict[str, Any]:
    """Return what a client says of whom it acts for: the person here, or less than them."""
    return {
        "as_guest": caller.trust != "operator",
        "attended": caller.attended,
        "live_reply": caller.live_reply,
        "slash_commands": caller.slash_commands,
        "agent": caller.agent,
        "tools": None if caller.tools is None else sorted(caller.tools),
    }


def caller_of(form: Any) -> Caller:
    """Return the identity of who is at a client: always the person at this machine, or less.

    Raises:
        UsageError: When the form is none.
    """
    if not isinstance(form, Mapping):
        raise UsageError("caller has to be an object.")

    def flag(name: str) -> bool:
        return form.get(name) is True

    agent, tools = form.get("agent", "main"), form.get("tools")
    named = tools is None or (
        isinstance(tools, list) and all(isinstance(name, str) for name in tools)
    )
    if not isinstance(agent, str) or not named:
        raise UsageError("agent of caller has to be a text, and tools a list of texts.")
    person = local_caller(
        as_guest=flag("as_guest"),
        attended=flag("attended"),
        live_reply=flag("live_reply"),
        slash_commands=flag("slash_commands"),
    )
    person = replace(person, agent=agent)
    return person if tools is None else person.narrow(tools=tools, delegated=False)


def outcome_form(outcome: TurnOutcome) -> dict[str, Any]:
    """Return how a turn ended, as it is sent."""
    return {
        "text": outcome.text,
        "status": outcome.status,
        "steps": outcome.steps,
        "usage": USAGE.write(outcome.usage),
        "error": outcome.error,
        "tool_calls": outcome.tool_calls,
        "tool_failures": outcome.tool_failures,
    }


def outcome_of(form: Mapping[str, Any]) -> TurnOutcome:
    """Return how a turn ended, as it was sent."""
    return TurnOutcome(
        text=form["text"],
        status=form["status"],
        steps=form["steps"],
        usage=USAGE.read(form["usage"]),
        error=form["error"],
        tool_calls=form["tool_calls"],
        tool_failures=form["tool_failures"],
    )


def result_form(result: ToolResult) -> Any:
    """Return what a tool returned, as it is sent; what is no JSON as the text that it shows."""
    try:
        return TOOL_RESULT.write(result)
    except WireError:
        plain = replace(
            result, structured=_plain(result.structured), details=_plain(dict(result.details))
        )
        return TOOL_RESULT.write(plain)


def _plain(value: Any) -> Any:
    return json.loads(json.dumps(value, default=str))
