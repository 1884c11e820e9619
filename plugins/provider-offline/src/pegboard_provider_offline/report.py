"""What the responder says once the calls have answered: each result with its source."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from pegboard_provider_offline.call_syntax import write_arguments
from pegboard_provider_offline.guide import nearest
from pegboard_provider_offline.plan import SEARCH_TOOL, Plan

if TYPE_CHECKING:
    from pegboard import CallResult, ToolCall, ToolDeclaration

RESULT_CHARS: Final = 30_000
RESULT_LINES: Final = 1_000
_SOURCE_CHARS: Final = 120
_FENCE: Final = re.compile(
    r"(?P<error>^Error: \n)?^<<<outside (?P<mark>[0-9a-f]+) from [^\n]*>>>\n"
    r"(?P<inner>.*?)"
    r"\n<<<end outside (?P=mark)>>>$(?P<fix>\n )?",
    re.MULTILINE | re.DOTALL,
)


def report(
    plan: Plan,
    calls: Sequence[ToolCall],
    results: Sequence[CallResult],
    tools: Sequence[ToolDeclaration],
) -> str:
    """Return the answer to a message whose calls have answered.

    Args:
        plan: What was made of the message.
        calls: The calls that were made; their arguments are the sources.
        results: What they answered.
        tools: The tools on offer now.
    """
    if plan.searching and len(results) == 1 and not results[0].error:
        return nearest(_named_in(results[0].text, tools), tools)
    made = {call.id: call for call in calls}
    hints = {call.id: planned.hint for call, planned in zip(calls, plan.calls, strict=False)}
    return "\n\n".join(
        _one(result, made.get(result.call_id), hints.get(result.call_id, "")) for result in results
    )


def _one(result: CallResult, call: ToolCall | None, hint: str) -> str:
    arguments = write_arguments(call.arguments) if call else ""
    source = _shorten(" ".join(f"{result.name} {arguments}".split()))
    text, outside = unfenced(result.text)
    head = f"[{source}]" + (" failed" if result.error else "")
    lines = [head + (" (text from outside)" if outside else ""), trim(text)]
    if result.error and hint:
        lines.append(hint)
    return "\n".join(lines)


def unfenced(text: str) -> tuple[str, bool]:
    """Take away the marks that tell a model what is data, and tell whether there were any.

    No model reads what is said here, and a person is better served by a plain word.
    """
    plain, count = _FENCE.subn(_inner, text)
    return plain, count > 0


def _inner(found: re.Match[str]) -> str:
    """Return what stands between the marks; the text of an error joins the words around it."""
    before, after = "Error: " if found["error"] else "", "\n" if found["fix"] else ""
    return f"{before}{found['inner']}{after}"


def trim(text: str) -> str:
    """Keep the first lines of a result, and say how much is left out."""
    body = text.rstrip()
    lines = body.split("\n")
    kept = "\n".join(lines[:RESULT_LINES])[:RESULT_CHARS]
    left = len(body) - len(kept)
    if not left:
        return kept or "(nothing)"
    return f"{kept}\n... {left:,} more characters are left out here; ask for a part of it"


def _shorten(source: str) -> str:
    return source if len(source) <= _SOURCE_CHARS else source[: _SOURCE_CHARS - 3] + "..."


def _named_in(text: str, tools: Sequence[ToolDeclaration]) -> list[ToolDeclaration]:
    """Return the tools whose names stand in `text`, in the order in which they first do."""
    places = {tool.name: _place(text, tool.name) for tool in tools if tool.name != SEARCH_TOOL}
    found = [tool for tool in tools if places.get(tool.name, -1) >= 0]
    return sorted(found, key=lambda tool: places[tool.name])


def _place(text: str, name: str) -> int:
    """Return where `name` stands as a whole word, or -1."""
    start = text.find(name)
    while start >= 0:
        around = text[start - 1 : start] + text[start + len(name) : start + len(name) + 1]
        if not any(char.isalnum() or char == "_" for char in around):
            return start
        start = text.find(name, start + 1)
    return -1
