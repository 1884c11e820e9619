"""What chat commands tell about the host."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from pegboard.contracts.caller import NO_FILTER, Caller
from pegboard.contracts.errors import PegboardError
from pegboard.host.parts import HostParts
from pegboard.plugins.decision.rescan import Changes
from pegboard.policy.explain import explain


class Description:
    """Answers `/tools`, `/plugins`, `/rescan`, `/why` and `/status`; implements `CommandData`.

    Args:
        parts: The rooms of the host.
        look_again: Takes over what came or went.
    """

    def __init__(self, parts: HostParts, look_again: Callable[[], Awaitable[Changes]]) -> None:
        self._look_again = look_again
        self._children = parts.spaces.children
        self._registry = parts.registry
        self._dispatcher = parts.dispatcher
        self._activator = parts.activator
        self._models = parts.models

    async def tools(self, caller: Caller) -> Sequence[tuple[str, str]]:
        """Return name and summary of the tools that this caller may use."""
        tools = self._registry.list(NO_FILTER, caller, self._dispatcher.policy)
        return sorted((tool.wire_name, tool.spec.summary) for tool in tools)

    async def plugins(self) -> Sequence[tuple[str, str, str]]:
        """Return id, state and reason of every plugin."""
        return [
            (record.id, record.state.value, record.reason) for record in self._activator.records
        ]

    async def rescan(self) -> str:
        """Take over packages that came or went since the host started, and say which."""
        changes = await self._look_again()
        told = {"added": changes.added, "removed": changes.removed}
        lines = [f"- {what}: {', '.join(ids)}" for what, ids in told.items() if ids]
        if changes.changed:
            names = ", ".join(changes.changed)
            lines.append(f"- another version, in use after a restart: {names}")
        return "\n".join(lines) or "Nothing came or went."

    async def provider(self) -> str:
        """Return who is asked, and which model; or why nobody can be."""
        try:
            primary = (await self._models.route()).primary
        except PegboardError as error:
            return error.message
        return f"{primary.name} ({primary.model})" if primary.model else primary.name

    async def children(self, conversation: str) -> Sequence[tuple[str, str]]:
        """Return agent and task of the child runs that work for a conversation now."""
        return [
            (child.agent, child.prompt)
            for child in self._children
            if child.conversation == conversation
        ]

    async def why(self, name: str, caller: Caller) -> str:
        """Return the decision about a tool for this caller, with the rule that made it."""
        tool = self._registry.find(name)
        if tool is None:
            return f"There is no tool {name!r}."
        return explain(self._dispatcher.policy, caller, tool)
