"""Find a tool by a name that a person typed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pegboard.contracts.errors import UsageError

if TYPE_CHECKING:
    from pegboard.contracts.tool import RegisteredTool
    from pegboard.host import Host


def find_tool(host: Host, name: str) -> RegisteredTool:
    """Return the tool that a short, canonical, wire or alias name means.

    Raises:
        UsageError: When there is none; says whose short name clashed, or what may be meant.
    """
    found = host.registry.find(name)
    if found is not None:
        return found
    tools = host.registry.list_all()
    rivals = sorted(tool.canonical for tool in tools if tool.spec.name == name)
    if rivals:
        raise UsageError(
            f"{len(rivals)} plugins bring a tool {name!r}, so the short name is nobody's: "
            f"{', '.join(rivals)}.",
            fix=f"pegboard config set names.{name} {rivals[0]}",
        )
    if any(record.id == name for record in host.records):
        raise UsageError(f"{name} is a plugin, not a tool.", fix=f"pegboard plugins show {name}")
    return host.tool(name)
