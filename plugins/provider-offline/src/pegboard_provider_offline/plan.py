"""What a message asks for: calls, a search for a tool, or a word from the responder itself."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pegboard_provider_offline.call_syntax import is_call, read_calls
from pegboard_provider_offline.guide import doubts, guide
from pegboard_provider_offline.phrases import Doubtful, Understood, read_phrases

if TYPE_CHECKING:
    from pegboard import ToolDeclaration

SEARCH_TOOL: Final = "tool_search"
_QUERY_CHARS: Final = 200
_PHRASE_CHARS: Final = 4_000
"""What is longer is a text to work on, not a request in a few phrases."""
_OPENING: Final = re.compile(r"<\w+>")


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """A call to make.

    Args:
        name: Name of the tool.
        arguments: Raw text of its arguments.
        hint: What was wrong with the way it was typed, or "".
    """

    name: str
    arguments: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do about a message.

    Args:
        calls: Calls to make, in order; empty = answer at once.
        answer: What to say when there is no call.
        searching: True when the one call looks for a tool that could help.
    """

    calls: tuple[PlannedCall, ...] = ()
    answer: str = ""
    searching: bool = False


def plan(text: str, tools: Sequence[ToolDeclaration], *, may_call: bool = True) -> Plan:
    """Decide what to do about a message.

    Args:
        text: The message; a block between a line `<name>` and a line `</name>` is context for a
            model and is left out.
        tools: The tools on offer.
        may_call: False when the request forbids calls.
    """
    wanted = _without_context(text).strip()
    offered = {tool.name: tool for tool in tools}
    if not may_call or not wanted or _asks_for_help(wanted, offered):
        return Plan(answer=guide(tools))
    if is_call(wanted):
        typed = read_calls(wanted, offered)
        return Plan(
            tuple(
                PlannedCall(call.name, call.arguments, call.mistake.text() if call.mistake else "")
                for call in typed
            )
        )
    return _plan_phrases(wanted, tools, offered)


def _plan_phrases(
    wanted: str, tools: Sequence[ToolDeclaration], offered: Mapping[str, ToolDeclaration]
) -> Plan:
    readings = read_phrases(wanted, tools) if len(wanted) <= _PHRASE_CHARS else ()
    understood = [reading for reading in readings if isinstance(reading, Understood)]
    doubtful = [reading for reading in readings if isinstance(reading, Doubtful)]
    if understood and not doubtful:
        return Plan(tuple(PlannedCall(item.name, item.arguments) for item in understood))
    if understood or any(reading.readings for reading in doubtful):
        return Plan(answer=doubts(understood, doubtful))
    if SEARCH_TOOL in offered and (readings or len(wanted) > _PHRASE_CHARS):
        arguments = json.dumps({"query": wanted[:_QUERY_CHARS]}, ensure_ascii=False)
        return Plan((PlannedCall(SEARCH_TOOL, arguments),), searching=True)
    return Plan(answer=guide(tools))


def _without_context(text: str) -> str:
    """Leave out every block from a line `<name>` to the last line `</name>`."""
    lines = text.split("\n")
    closing = {line: number for number, line in enumerate(lines) if line.startswith("</")}
    kept, number = [], 0
    while number < len(lines):
        line = lines[number]
        end = closing.get(f"</{line[1:]}", -1) if _OPENING.fullmatch(line) else -1
        if end > number:
            number = end
        else:
            kept.append(line)
        number += 1
    return "\n".join(kept)


def _asks_for_help(wanted: str, offered: Mapping[str, ToolDeclaration]) -> bool:
    word = wanted.lower().rstrip("?!. ").removeprefix("/")
    return word in ("help", "what can you do") and word not in offered
