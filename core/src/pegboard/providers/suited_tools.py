"""Which tools a model is declared, of those that do the same. A pure decision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pegboard.contracts.provider import ModelCaps, ToolDeclaration

ALTERNATIVES: Final[tuple[frozenset[str], ...]] = (frozenset({"apply_patch", "file_edit"}),)
"""Tools that do the same, each in the way that some models are used to."""


def suited(tools: Sequence[ToolDeclaration], caps: ModelCaps) -> tuple[ToolDeclaration, ...]:
    """Return the tools to declare to a model.

    One that is left out can still be called by its name.

    Args:
        tools: All that could be declared.
        caps: What the model is used to, and what it is not offered.
    """
    out = set(caps.withheld)
    usual = {tool.name for tool in tools}.intersection(caps.offered) - out
    for same in ALTERNATIVES:
        if not usual.isdisjoint(same):
            out |= same - usual
    return tuple(tool for tool in tools if tool.name not in out)
