"""How plain language becomes tool calls: by the phrases that the offered tools declare.

A message is cut into clauses. It runs only when every clause is understood, each as a call of
exactly one tool: a wrong guess costs more than a question back.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pegboard import PegboardError, match_intent

if TYPE_CHECKING:
    from pegboard import ToolDeclaration

_QUOTED: Final = re.compile(
    r"""`[^`\n]*`|"[^"\n]*"|\u201c[^\u201d\n]*\u201d|\xab[^\xbb\n]*\xbb|(?<![\w'])'[^'\n]*'(?!\w)"""
)
_ENDS: Final = re.compile(
    r"""\s*\n\s*"""
    r"""|\s*;\s*"""
    r"""|,?\s+(?:and\s+)?then,?\s+"""
    r"""|(?<=[\w"'`)\]])[.!?]+\s+""",
    re.IGNORECASE,
)
_JOINS: Final = re.compile(r",\s*(?:and\s+)?|\s+and\s+", re.IGNORECASE)
_POLITE: Final = re.compile(
    r"(?:hi|hello|hey|please|thanks|thank you|now|first|next|also|finally|then|and|ok|okay"
    r"|(?:can|could|would|will) you|i(?:'d| would) like (?:you )?to)(?:[\s,!]+|[.!]*$)",
    re.IGNORECASE,
)
_OPTIONAL: Final = re.compile(r"\s*\[[^\[\]]*\]")
_CHOICE: Final = re.compile(r"\(([^()|]*)(?:\|[^()]*)?\)")
_CAPTURE: Final = re.compile(r"\{(\w+):(\w+)\}")


@dataclass(frozen=True, slots=True)
class Understood:
    """A clause that means one call."""

    clause: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Doubtful:
    """A clause that means nothing here, or calls of several tools.

    Args:
        clause: The words.
        readings: What they may mean, one for each tool; empty = nothing.
    """

    clause: str
    readings: tuple[tuple[str, dict[str, Any]], ...] = ()


Reading = Understood | Doubtful


def read_phrases(text: str, tools: Iterable[ToolDeclaration]) -> tuple[Reading, ...]:
    """Read each clause of `text` among the phrases of the offered tools."""
    offered = [tool for tool in tools if tool.intents]
    readings: list[Reading] = []
    for clause in _cut(_ENDS, text):
        wanted = _bare(clause)
        if wanted:
            readings.extend(_read_clause(wanted, offered))
    return tuple(readings)


def example(pattern: str) -> str:
    """Return a phrase that an intent's pattern stands for, with captures in capitals."""
    text = _fix_point(lambda value: _OPTIONAL.sub("", value), pattern)
    text = _fix_point(lambda value: _CHOICE.sub(r"\1", value), text)
    return " ".join(_CAPTURE.sub(_placeholder, text).split())


def _placeholder(found: re.Match[str]) -> str:
    name = found[1].upper()
    return {"quoted": f'"{name}"', "command": f"`{name}`"}.get(found[2], name)


def _fix_point(change: Callable[[str], str], text: str) -> str:
    while (changed := change(text)) != text:
        text = changed
    return text


def _read_clause(clause: str, tools: Sequence[ToolDeclaration]) -> list[Reading]:
    whole = _read(clause, tools)
    if isinstance(whole, Understood) or whole.readings:
        return [whole]
    pieces = [_read(_bare(piece), tools) for piece in _cut(_JOINS, clause)]
    if len(pieces) > 1 and any(isinstance(piece, Understood) for piece in pieces):
        return pieces
    return [whole]


def _read(clause: str, tools: Sequence[ToolDeclaration]) -> Reading:
    meanings = [(tool.name, found) for tool in tools if (found := _meaning(tool, clause))]
    if len(meanings) != 1:
        return Doubtful(clause, tuple((name, found[0]) for name, found in meanings))
    name, (arguments,) = meanings[0]
    return Understood(clause, name, json.dumps(arguments, ensure_ascii=False))


def _meaning(tool: ToolDeclaration, clause: str) -> tuple[dict[str, Any]] | None:
    """Return the arguments of the first phrase that fits, in a tuple of one; None if none fits."""
    for intent in tool.intents:
        try:
            found = match_intent(intent, clause)
        except PegboardError:  # one tool's faulty pattern shall not cost the others theirs
            continue
        if found is not None:
            return (found,)
    return None


def _bare(clause: str) -> str:
    """Take away the polite and the joining words in front; nothing is left of a mere greeting."""
    text = clause.strip()
    while (found := _POLITE.match(text)) and found.end():
        text = text[found.end() :]
    return text


def _cut(ends: re.Pattern[str], text: str) -> list[str]:
    """Cut `text` where `ends` matches, but never inside quotes."""
    veiled = _QUOTED.sub(lambda found: _veil(found[0]), text)
    pieces, start = [], 0
    for found in ends.finditer(veiled):
        pieces.append(text[start : found.start()])
        start = found.end()
    return [piece for piece in [*pieces, text[start:]] if piece.strip()]


def _veil(quoted: str) -> str:
    return quoted[0] + "x" * (len(quoted) - 2) + quoted[-1]
