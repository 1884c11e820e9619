"""Tools that are judged alike, so that a long list of them is decided about in a few decisions."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from itertools import compress

from pegboard.contracts.tool import RegisteredTool
from pegboard.policy.decide import Gate


@dataclass(frozen=True, slots=True)
class AlikeTools:
    """Tools, each with the number of those that are judged like it. Never changes.

    Args:
        tools: The tools.
        numbers: For each tool its number.
        samples: For each number one tool that has it.
    """

    tools: tuple[RegisteredTool, ...]
    numbers: tuple[int, ...]
    samples: tuple[RegisteredTool, ...]

    @classmethod
    def of(cls, tools: Iterable[RegisteredTool]) -> AlikeTools:
        """Return tools with their numbers."""
        given = tuple(tools)
        known: dict[Hashable, int] = {}
        numbers: list[int] = []
        samples: list[RegisteredTool] = []
        for tool in given:
            number = known.setdefault(likeness(tool), len(known))
            if number == len(samples):
                samples.append(tool)
            numbers.append(number)
        return cls(given, tuple(numbers), tuple(samples))

    def shown(self, gate: Gate) -> tuple[RegisteredTool, ...]:
        """Return the tools of which some call could pass a gate, in their order."""
        if gate.reads_names:
            return tuple(filter(gate.shows, self.tools))
        shown = [gate.shows(sample) for sample in self.samples]
        return tuple(compress(self.tools, map(shown.__getitem__, self.numbers)))


def likeness(tool: RegisteredTool) -> Hashable:
    """Return all that a gate reads of a tool's statement, but for its names.

    A tool whose effects depend on an argument is like no other.
    """
    spec = tool.spec
    if spec.effects_by is not None:
        return tool.canonical
    return (
        tool.kind,
        tool.first_party,
        spec.effects,
        spec.policy_class,
        spec.audience,
        spec.attended,
        spec.capability,
        spec.control,
        spec.category,
        spec.exposure,
    )
