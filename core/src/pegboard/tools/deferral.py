"""Which tools are declared to the model, and which it has to search for."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from pegboard.config.core_schema import CORE
from pegboard.contracts.provider import ToolDeclaration
from pegboard.contracts.tool import RegisteredTool
from pegboard.tools.exposure import declarable
from pegboard.tools.text_repair import repaired

DEFER_OVER_TOKENS: Final = 12_000
SEARCH_TOOLS: Final = frozenset({"tool_search", "tool_describe", "tool_call"})
"""Core's tools that only make sense while tools can be searched for."""
_CHARS_PER_TOKEN: Final = 4
_FRAME_TOKENS: Final = 12
_MOST_GONE: Final = 1_000
_NEVER_DEFERRED: Final = frozenset({CORE, "files", "shell"})
"""Plugins whose tools nearly every run needs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """The tools of one model call.

    Args:
        tools: What is declared, in registration order.
        deferred: Names of tools that can be called or searched for, for the prompt.
        tokens: Estimated tokens of what is declared.
    """

    tools: tuple[ToolDeclaration, ...]
    deferred: tuple[str, ...]
    tokens: int


class _Sized(NamedTuple):
    tool: RegisteredTool
    declaration: ToolDeclaration
    tokens: int


class Deferral:
    """Chooses what to declare.

    When the schemas of all tools would take too many tokens, MCP tools are deferred, then those of
    third parties, then first-party ones, each kind as a whole, until the rest fits.

    Args:
        over_tokens: Estimated tokens from which tools are deferred.
        search: False when there is no searching: then everything is declared.
    """

    def __init__(self, *, over_tokens: int = DEFER_OVER_TOKENS, search: bool = True) -> None:
        self._over_tokens = over_tokens
        self._search = search
        self._known: dict[str, _Sized] = {}

    def declared(
        self, offered: Sequence[RegisteredTool], *, added: Collection[str] = ()
    ) -> Declared:
        """Choose among the tools that can be offered now.

        Args:
            offered: Those tools.
            added: Names that `AddTools` asked to declare.
        """
        if len(self._known) > 2 * len(offered) + _MOST_GONE:
            self._known.clear()  # tools of families that came and went
        sized = [self._sized(tool) for tool in _one_per_name(offered)]
        if not self._search:
            kept = [item for item in sized if item.tool.spec.name not in SEARCH_TOOLS]
            return _declared(kept, ())
        wanted = frozenset(added)
        shown = [item for item in sized if declarable(item.tool) or _named(item.tool, wanted)]
        total = sum(item.tokens for item in shown)
        for rank in (1, 2, 3):
            if total <= self._over_tokens:
                break
            shown = [
                item for item in shown if _rank(item.tool) != rank or _named(item.tool, wanted)
            ]
            total = sum(item.tokens for item in shown)
        names = {item.declaration.name for item in shown}
        return _declared(
            shown,
            tuple(item.declaration.name for item in sized if item.declaration.name not in names),
        )

    def _sized(self, tool: RegisteredTool) -> _Sized:
        known = self._known.get(tool.canonical)
        if known is None or known.tool is not tool:
            declaration = declaration_of(tool)
            known = self._known[tool.canonical] = _Sized(tool, declaration, tokens_of(declaration))
        return known


def declaration_of(tool: RegisteredTool) -> ToolDeclaration:
    """Return a tool as it is declared to a model."""
    spec = tool.spec
    # half a character in one tool's words would cost the provider's whole request
    description = repaired(spec.description)
    return ToolDeclaration(
        tool.wire_name, description, spec.parameters, spec.intents, spec.freeform
    )


def tokens_of(declaration: ToolDeclaration) -> int:
    """Return about how many tokens a declaration takes."""
    schema = json.dumps(declaration.parameters, separators=(",", ":"), default=str)
    length = len(declaration.name) + len(declaration.description) + len(schema)
    return _FRAME_TOKENS + length // _CHARS_PER_TOKEN


def _declared(items: Iterable[_Sized], deferred: tuple[str, ...]) -> Declared:
    shown = tuple(items)
    return Declared(
        tools=tuple(item.declaration for item in shown),
        deferred=deferred,
        tokens=sum(item.tokens for item in shown),
    )


def _rank(tool: RegisteredTool) -> int:
    """Return when a tool is deferred: 1 first, 0 never."""
    if tool.kind == "mcp":
        return 1
    if not tool.first_party and tool.plugin != CORE:
        return 2
    return 0 if tool.plugin in _NEVER_DEFERRED else 3


def _named(tool: RegisteredTool, names: frozenset[str]) -> bool:
    return bool(names) and (tool.wire_name in names or tool.canonical in names)


def _one_per_name(tools: Iterable[RegisteredTool]) -> Iterable[RegisteredTool]:
    # a provider refuses a whole request in which two tools have one name
    return {tool.wire_name: tool for tool in tools}.values()
