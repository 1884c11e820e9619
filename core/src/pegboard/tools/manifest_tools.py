"""The tools that manifests state, as entries of the registry."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

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


def unusable_tool(
    records: Iterable[PluginRecord], name: str
) -> tuple[RegisteredTool, PluginRecord] | None:
    """Return the tool of a name whose plugin can't be used now, and that plugin, or None.

    Args:
        records: Plugins.
        name: Any name of the tool.
    """
    for record in records:
        if record.usable or record.manifest is None:
            continue
        for tool in manifest_tools([record])[0]:
            if name in (tool.spec.name, tool.canonical, tool.wire_name, *tool.spec.aliases):
                return replace(tool, name=tool.spec.name), record  # policy goes by the short name
    return None


def _problem(record: PluginRecord, what: str) -> Problem:
    return Problem(
        record.id,
        f"plugin {record.id} ({record.dist}) states a tool that can't be used: {what}",
        f"Run: pegboard plugins build {record.id} --check",
    )
