"""What a tool's statement in a manifest says to policy, in words for a person who installs it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def policy_facts(tool: Mapping[str, Any]) -> list[str]:
    """Return what a tool states beside its effects that decides who may call it and when.

    Args:
        tool: The tool as the manifest holds it; what it leaves out has its default.
    """
    words = {
        "audience": {"owner": "for the owner only"}.get(str(tool.get("audience")), ""),
        "attended": f"attended: {tool.get('attended')}",
        "capability": f"capability {tool.get('capability')}",
        "control": f"control plane: {tool.get('control')}",
        "policy_class": f"class {tool.get('policy_class')}",
        "exposure": f"exposure {tool.get('exposure')}",
        "effects_by": _by_argument(tool.get("effects_by")),
    }
    return [text for key, text in words.items() if tool.get(key) and text]


def _by_argument(tables: Any) -> str:
    """Return which values of an argument have which effects; "" when that can't be read."""
    if not isinstance(tables, Mapping):
        return ""
    return "; ".join(
        f"by {argument}: "
        + ", ".join(f"{value} = {'+'.join(sorted(effects))}" for value, effects in table.items())
        for argument, table in tables.items()
    )
