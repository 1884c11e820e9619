"""Which tools a model is declared, of those that do the same. Pure decisions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pegboard.contracts.provider import ModelCaps, ToolDeclaration

Ways = tuple[frozenset[str], ...]
"""The ways to do one thing: each the tools that some models are used to do it with."""
TASKS: Final = ("TaskCreate", "TaskGet", "TaskList", "TaskUpdate")
ALTERNATIVES: Final[tuple[Ways, ...]] = (
    (frozenset({"apply_patch"}), frozenset({"file_edit"})),
    (frozenset({"update_plan"}), frozenset(TASKS)),
)
"""What can be done in several ways: changing files, and keeping a list of the work."""


def suited(tools: Sequence[ToolDeclaration], caps: ModelCaps) -> tuple[ToolDeclaration, ...]:
    """Return the tools to declare to a model.

    One tool of a way that the model is used to, if it is there, stands for that way: the other ways
    are left out. A tool that is left out can still be called by its name.

    Args:
        tools: All that could be declared.
        caps: What the model is used to, and what it is not offered.
    """
    out = set(caps.withheld)
    usual = {tool.name for tool in tools}.intersection(caps.offered) - out
    for ways in ALTERNATIVES:
        others = [way for way in ways if way.isdisjoint(usual)]
        if len(others) < len(ways):
            out.update(*others)
    return tuple(tool for tool in tools if tool.name not in out)


def corrected(said: Sequence[str], usual: Sequence[str]) -> tuple[str, ...]:
    """Return what a model is used to, as the operator says.

    What they say decides about the things that it names tools for; about others it stays as it was.

    Args:
        said: Names of tools; none = nothing is known, so all are offered.
        usual: What the model's family is used to.
    """
    if not said:
        return ()
    settled = set(said)
    for ways in ALTERNATIVES:
        if not all(way.isdisjoint(said) for way in ways):
            settled.update(*ways)
    return (*said, *(name for name in usual if name not in settled))
