"""An active plugin, and the error of whoever asks for one that can't be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pegboard.contracts.errors import PluginError
from pegboard.plugins.decision.state import PluginRecord
from pegboard.plugins.declared import Contribution
from pegboard.plugins.running.context import ActiveContext
from pegboard.plugins.running.stub import Hook


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivePlugin:
    """An imported plugin.

    Args:
        id: Its id.
        record: Its record, in state `active`.
        context: What its factories and tools get.
        contributions: By kind and name.
        tools: Functions marked with `tool`, or `Tool` objects, by tool name.
        hooks: Behaviour hook to its implementation.
    """

    id: str
    record: PluginRecord
    context: ActiveContext
    contributions: Mapping[tuple[str, str], Contribution]
    tools: Mapping[str, Any]
    hooks: Mapping[str, Hook]

    def named(self, kind: str) -> Mapping[str, Any]:
        """Return what it brings of one kind, by name; of kind `tool` functions or objects."""
        if kind == "tool":
            return self.tools
        return {name: item for (of, name), item in self.contributions.items() if of == kind}


def unusable(record: PluginRecord) -> PluginError:
    """Return the error of whoever asks for a plugin that can't be used."""
    words = f"plugin {record.id} can't be used"
    if record.usable:
        return PluginError(f"{words}: it was stopped", plugin=record.id)
    return PluginError(
        f"{words} ({record.state}): {record.reason}",
        fix=record.fix,
        plugin=record.id,
        state=str(record.state),
    )
