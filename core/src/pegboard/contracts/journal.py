"""What a run writes of its calls, so that none is lost or made twice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from pegboard.contracts.effects import Effects
from pegboard.contracts.provider import Done
from pegboard.contracts.result import ToolResult
from pegboard.contracts.tool import RegisteredTool


class Journal(Protocol):
    """A record of a run's calls: an intent before each, a result after.

    It may hold what an earlier attempt of the same run did, before its host was killed.
    """

    def known(self, call_id: str) -> ToolResult | None:
        """Return the result of a call that must not run (again), or None.

        That is what it returned in an earlier attempt; or, for one that was interrupted and may not
        be repeated, that it may have run.
        """
        ...

    def attempt(self, call_id: str) -> int:
        """Return the number of the attempt that would begin now, from 1."""
        ...

    async def intent(
        self, call_id: str, tool: RegisteredTool, arguments: Mapping[str, Any], effects: Effects
    ) -> None:
        """Write that the call is about to run."""
        ...

    async def result(self, call_id: str, result: ToolResult) -> None:
        """Write what it returned."""
        ...


class ModelJournal(Protocol):
    """A record of a run's model calls."""

    def answered(self, step: int) -> Done | None:
        """Return what the model answered at a step in an earlier attempt, or None."""
        ...

    async def done(self, step: int, done: Done) -> None:
        """Write what the model answered at a step."""
        ...
