"""`[tools.limits]`: how much of a tool's output the model reads, where the operator says so."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from pegboard.config.nearest import did_you_mean, nearest
from pegboard.config.schema import Problem
from pegboard.contracts.tool import OutputLimits, RegisteredTool

PATH: Final = "tools.limits"


@dataclass(frozen=True, slots=True)
class OutputOverrides:
    """What the operator decided, by the name of the tool as the configuration has it.

    Args:
        by_name: A number of characters, or a table with `chars`, `lines` and `keep`.
    """

    by_name: Mapping[str, Any]

    def applied(
        self, tools: Iterable[RegisteredTool], by_name: Mapping[str, RegisteredTool]
    ) -> tuple[RegisteredTool, ...]:
        """Return the tools with their limits as decided.

        Args:
            tools: All tools.
            by_name: Every name -> the tool that it means.
        """
        decided: dict[str, Any] = {}
        for name, settings in self.by_name.items():
            tool = by_name.get(name)
            # the canonical name is the plainest word on a tool, so it is the last
            if tool is not None and (tool.canonical not in decided or name == tool.canonical):
                decided[tool.canonical] = settings
        if not decided:
            return tuple(tools)
        return tuple(
            _with(tool, decided[tool.canonical]) if tool.canonical in decided else tool
            for tool in tools
        )

    def problems(self, by_name: Mapping[str, RegisteredTool]) -> tuple[Problem, ...]:
        """Return what is decided about tools that there are not."""
        return tuple(_unknown(name, by_name) for name in self.by_name if name not in by_name)


NO_OVERRIDES: Final = OutputOverrides({})


def _with(tool: RegisteredTool, settings: Any) -> RegisteredTool:
    changes = dict(settings) if isinstance(settings, Mapping) else {"chars": settings}
    limits: OutputLimits = replace(tool.spec.limits, **changes)
    return replace(tool, spec=replace(tool.spec, limits=limits))


def _unknown(name: str, by_name: Mapping[str, RegisteredTool]) -> Problem:
    path = f"{PATH}.{name}"
    best = nearest(name, by_name)
    return Problem(
        path,
        f"{path}: there is no tool {name!r}{did_you_mean(name, by_name)}",
        f"pegboard config unset {path}" + (f", and set {PATH}.{best}" if best else ""),
    )
