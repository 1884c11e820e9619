"""Chat commands as a manifest states them: `/name` is a call of one of the plugin's own tools."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pegboard.config.nearest import did_you_mean
from pegboard.config.schema import check

if TYPE_CHECKING:
    from pegboard.plugins.discovery.manifest_fields import ContributionFact

KIND: Final = "chat_command"
LONGEST: Final = 32
_NAME: Final = r"[a-z][a-z0-9]*([-_][a-z0-9]+)*"
_FACTS: Final[Mapping[str, type]] = {"tool": str, "argument": str, "arguments": dict}


class ChatCommandFact(NamedTuple):
    """What a chat command does.

    Args:
        tool: Name of the tool that it calls, one of the same plugin.
        argument: The argument that what follows the word becomes, or "" when nothing may follow.
        arguments: Arguments with fixed values.
    """

    tool: str
    argument: str = ""
    arguments: Mapping[str, Any] = {}


def chat_command(facts: Mapping[str, Any]) -> ChatCommandFact:
    """Read the facts of a contribution in which `chat_command_fault` finds nothing."""
    return ChatCommandFact(**facts)


def chat_command_fault(fact: ContributionFact, tools: Iterable[Mapping[str, Any]]) -> str:
    """Return what is wrong with a chat command, or "".

    Args:
        fact: A contribution of the kind `chat_command`.
        tools: The tools of the same plugin, as its manifest holds them.
    """
    if not re.fullmatch(_NAME, fact.name) or len(fact.name) > LONGEST:
        return (
            f"it is a word of small letters, digits, `-` and `_`, at most {LONGEST}, first a letter"
        )
    for key, value in fact.facts.items():
        wanted = _FACTS.get(key)
        if wanted is None:
            return f"it has no {key!r}{did_you_mean(key, _FACTS)}"
        if type(value) is not wanted:
            return f"its {key} is {value!r}"
    by_name = {tool["name"]: tool for tool in tools}
    name = fact.facts.get("tool", "")
    tool = by_name.get(name)
    if tool is None:
        return f"the plugin has no tool {name!r}{did_you_mean(name, by_name)}"
    if tool.get("exposure") == "codemode":
        return f"the tool {name} is for scripts only"
    return _call_fault(chat_command(fact.facts), tool.get("parameters", {}))


def is_required(argument: str, schema: Mapping[str, Any]) -> bool:
    """Tell whether a call without this argument fails."""
    return argument in schema.get("required", ())


def _call_fault(command: ChatCommandFact, schema: Mapping[str, Any]) -> str:
    """Return why every call would fail, or ""."""
    known: Mapping[str, Any] = schema.get("properties", {})
    given: Sequence[str] = [*command.arguments, *filter(None, [command.argument])]
    for name in given:
        if name not in known:
            return f"the tool {command.tool} has no argument {name!r}{did_you_mean(name, known)}"
    if len(set(given)) < len(given):
        return f"the argument {command.argument!r} has a fixed value"
    for name in schema.get("required", ()):
        if name not in given:
            return f"the tool {command.tool} needs the argument {name!r}"
    problems = check(dict(command.arguments), {**schema, "required": []}, "arguments")
    return problems[0].message if problems else ""
