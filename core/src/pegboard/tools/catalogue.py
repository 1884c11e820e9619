"""All tools at one moment, with the names that mean them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from pegboard.config.schema import Problem
from pegboard.contracts.tool import RegisteredTool
from pegboard.plugins.decision.names import ToolNames, short_names
from pegboard.policy.alike import AlikeTools
from pegboard.tools.output_overrides import NO_OVERRIDES, OutputOverrides


class Catalogue(NamedTuple):
    """The tools of the host at one moment.

    Args:
        tools: In registration order, each with the name that is offered to a model.
        by_name: Every name -> the tool it means. Canonical names win over short ones, short ones
            over aliases, and those over wire names.
        missing: Canonical name -> what the tool needs and does not have.
        problems: Names that clash, each with the line that settles it, and limits of tools that
            there are not.
        present: The tools that lack nothing, numbered by what is judged alike.
    """

    tools: tuple[RegisteredTool, ...]
    by_name: Mapping[str, RegisteredTool]
    missing: Mapping[str, str]
    problems: tuple[Problem, ...]
    present: AlikeTools


def make_catalogue(
    tools: Iterable[RegisteredTool],
    *,
    dists: Mapping[str, str],
    names: Mapping[str, str],
    missing: Callable[[RegisteredTool], str | None],
    limits: OutputOverrides = NO_OVERRIDES,
) -> Catalogue:
    """Give every tool its name.

    Args:
        tools: The tools, in registration order.
        dists: Plugin id -> distribution, for messages.
        names: `[names]` of the configuration.
        missing: Says what a tool needs and does not have.
        limits: `[tools.limits]` of the configuration.
    """
    given = tuple(tools)
    wanted = [
        ToolNames(
            tool.plugin, tool.spec.name, tool.spec.aliases, dists.get(tool.plugin, tool.plugin)
        )
        for tool in given
    ]
    table = short_names(wanted, names)
    named = tuple(_named(tool, table.offered.get(tool.canonical, "")) for tool in given)
    by_canonical = {tool.canonical: tool for tool in named}
    by_name = {own.wire: tool for own, tool in zip(wanted, named, strict=True)}
    for name, canonical in table.found.items():
        if canonical in by_canonical:
            by_name[name] = by_canonical[canonical]
    by_name.update(by_canonical)
    named = limits.applied(named, by_name)
    if limits.by_name:
        decided = {tool.canonical: tool for tool in named}
        by_name = {name: decided[tool.canonical] for name, tool in by_name.items()}
    lacking = ((tool.canonical, missing(tool)) for tool in named)
    lacks = {name: what for name, what in lacking if what}
    present = AlikeTools.of(tool for tool in named if tool.canonical not in lacks)
    problems = (*table.problems, *limits.problems(by_name))
    return Catalogue(named, by_name, lacks, problems, present)


def _named(tool: RegisteredTool, name: str) -> RegisteredTool:
    return tool if tool.name == name else replace(tool, name=name)
