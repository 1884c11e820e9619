"""What the responder says about itself, and about messages that it does not understand."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from pegboard_provider_offline.call_syntax import call_form, write_call
from pegboard_provider_offline.phrases import Doubtful, Understood, example

if TYPE_CHECKING:
    from pegboard import ToolDeclaration

_SHOWN: Final = 12
_ABOUT_TOOLS: Final = frozenset(
    {"tool_search", "tool_describe", "tool_call", "tool_help", "tool_result_recall"}
)
"""The host's own tools: of use to a model, seldom what a person looks for."""

WHO: Final = (
    "I am Pegboard's offline responder, not a language model: I run the tools you name and report "
    "what they say."
)
HOW: Final = """\
Call a tool:       /name key=value key2="a value with blanks"
With JSON:         /name {"key": "value"}
Several at once:   one call per line"""
MODEL: Final = """\
To talk to a real model, use a server of yours, a small model on this machine, or a vendor's key:
  pegboard config set providers.home '{type = "openai-compatible", server = "ollama"}'
  pip install pegboard-provider-local    then: pegboard models add smollm2
  export OPENAI_API_KEY=...              or ANTHROPIC_API_KEY, GEMINI_API_KEY
Which models there are: pegboard models list"""


def guide(tools: Sequence[ToolDeclaration]) -> str:
    """Say what can be done here and how to get a real model."""
    if not tools:
        what = "No tool is offered here, so there is nothing that I can do for this message."
        return "\n\n".join([WHO, what, MODEL])
    phrases = [f"  {phrase}" for phrase in _phrases(tools)]
    spoken = ["\n".join(["Or say it in words such as these:", *phrases])] if phrases else []
    return "\n\n".join([WHO, HOW, *spoken, _offered(tools), MODEL])


def doubts(understood: Iterable[Understood], doubtful: Iterable[Doubtful]) -> str:
    """Say which words are unclear and how to call the tools that may be meant. Nothing was run."""
    lines: list[str] = []
    for item in doubtful:
        quoted = json.dumps(item.clause, ensure_ascii=False)
        if item.readings:
            lines.append(f"{quoted} could mean any of these; call the one you want:")
            lines.extend(f"  {write_call(name, found)}" for name, found in item.readings)
        else:
            lines.append(f"{quoted} means nothing that I know.")
    clear = [f"  {_as_call(item)}" for item in understood]
    if clear:
        lines.extend(["This I understood:", *clear])
    return "\n".join(["I have run nothing, because not all of it is clear.", *lines, "", WHO])


def nearest(tools: Sequence[ToolDeclaration], offered: Sequence[ToolDeclaration]) -> str:
    """Say which tools come nearest to a message.

    Args:
        tools: What the search for it found, best first.
        offered: All tools on offer.
    """
    head = f"{WHO} No phrase that I know fits your message."
    near = [tool for tool in tools if tool.name not in _ABOUT_TOOLS][:_SHOWN]
    if not near:
        return "\n\n".join([head, "No tool here comes near it.", _offered(offered), MODEL])
    lines = _columns([(call_form(tool), _summary(tool)) for tool in near])
    return "\n\n".join([head, "\n".join(["The nearest tools:", *lines]), MODEL])


def _as_call(item: Understood) -> str:
    return write_call(item.name, json.loads(item.arguments))


def _phrases(tools: Sequence[ToolDeclaration]) -> list[str]:
    spoken = [tool for tool in tools if tool.intents]
    return [example(tool.intents[0].pattern) for tool in spoken[:_SHOWN]]


def _offered(tools: Sequence[ToolDeclaration]) -> str:
    found = sorted(tools, key=lambda tool: tool.name in _ABOUT_TOOLS)
    lines = _columns([(tool.name, _summary(tool)) for tool in found[:_SHOWN]])
    more = len(tools) - _SHOWN
    if more > 0:
        lines.append(f"  ... and {more} more; `pegboard tools list` shows them all")
    return "\n".join(["Tools offered here:", *lines])


def _summary(tool: ToolDeclaration) -> str:
    return tool.description.partition("\n")[0]


def _columns(rows: Sequence[tuple[str, str]]) -> list[str]:
    width = max(len(left) for left, _ in rows)
    return [f"  {left:<{width}}  {right}".rstrip() for left, right in rows]
