"""Tools that come and go while the host runs, never above what the manifest states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from pegboard.contracts.capability import capability_fault
from pegboard.contracts.errors import PluginError
from pegboard.contracts.tool import Tool, ToolSpec
from pegboard.plugins.discovery.manifest import FamilyFact


class SwapFamily(Protocol):
    """Swaps tools in the registry, as one step: the host's part of a family."""

    def __call__(
        self, plugin_id: str, family: FamilyFact, group: str, tools: Sequence[Tool], /
    ) -> None:
        """Replace the tools of one group (`""` = of the whole family) by `tools`.

        Raises:
            PluginError: When a tool can't be registered; nothing is changed then.
        """
        ...


class FamilyHandle:
    """One declared family of an active plugin."""

    def __init__(self, plugin_id: str, family: FamilyFact, swap: SwapFamily) -> None:
        self._plugin_id = plugin_id
        self._family = family
        self._swap: SwapFamily | None = swap
        self._used = False

    async def replace(self, tools: Sequence[Tool], *, group: str = "") -> None:
        """Swap all tools of the family (or of one group of it) for `tools`, as one step.

        Raises:
            PluginError: When a name lacks the prefix, or a tool exceeds the family's ceiling;
                nothing is changed then.
        """
        if self._swap is None:
            raise PluginError(f"plugin {self._plugin_id} is not active any more")
        names: set[str] = set()
        for tool in tools:
            wrong = beyond(self._family, tool.spec)
            if tool.spec.name in names:
                wrong = "it is there twice"
            if wrong:
                raise PluginError(
                    f"plugin {self._plugin_id}, family {self._family.prefix}: tool "
                    f"{tool.spec.name}: {wrong}"
                )
            names.add(tool.spec.name)
        self._swap(self._plugin_id, self._family, group, tuple(tools))
        self._used = True

    def close(self) -> None:
        """Remove the family's tools for good: its plugin stops."""
        swap, self._swap = self._swap, None
        if swap is not None and self._used:
            swap(self._plugin_id, self._family, "", ())


def beyond(family: FamilyFact, spec: ToolSpec) -> str:
    """Return in which way a tool exceeds the ceiling of its family, or ""."""
    if not spec.name.startswith(family.prefix):
        return f"its name must begin with {family.prefix!r}"
    if family.effects is not None:
        if spec.effects is None:
            return "its effects are unknown, and the manifest lists the family's"
        more = sorted(spec.effects - set(family.effects))
        if more:
            return f"its effects go beyond the manifest's: {', '.join(more)}"
    if family.audience == "owner" and spec.audience != "owner":
        return "the family is the owner's, so its audience must be owner"
    return capability_fault((spec.name, *spec.aliases), spec.capability, spec.control) or ""
