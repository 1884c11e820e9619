"""The tools that manifests state, as entries of the registry."""

from __future__ import annotations

from collections.abc import Iterable

from pegboard.config.schema import Problem
from pegboard.contracts.tool import RegisteredTool, ToolSpec
from pegboard.plugins.decision.state import PluginRecord


def manifest_tools(
    records: Iterable[PluginRecord],
) -> tuple[list[RegisteredTool], tuple[Problem, ...]]:
    """Return the tools of all records, in order, and what could not be read.

    Args:
        records: Usable plugins in their order.
    """
    found: dict[str, RegisteredTool] = {}
    problems = []
    for record in records:
        for data in record.manifest.tools if record.manifest else ():
            try:
                tool = RegisteredTool(
                    ToolSpec.from_dict(data), record.id, first_party=record.first_party
                )
            except ValueError as error:
                problems.append(_problem(record, str(error)))
                continue
            if tool.canonical in found:
                problems.append(_problem(record, f"tool {tool.spec.name} is stated twice"))
                continue
            found[tool.canonical] = tool
    return list(found.values()), tuple(problems)


def _problem(record: PluginRecord, what: str) -> Problem:
    return Problem(
        record.id,
        f"plugin {record.id} ({record.dist}) states a tool that can't be used: {what}",
        f"Run: pegboard plugins build {record.id} --check",
    )
