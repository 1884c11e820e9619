"""What dispatch writes before and after a call, so that nothing is lost or done twice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from pegboard.contracts.result import ToolResult
from pegboard.contracts.tool import RegisteredTool


class Journal(Protocol):
    """A record of calls: an intent before each, a result after."""

    async def intent(
        self, call_id: str, tool: RegisteredTool, arguments: Mapping[str, Any]
    ) -> None:
        """Write that the call is about to run."""
        ...

    async def result(self, call_id: str, result: ToolResult) -> None:
        """Write what it returned."""
        ...
