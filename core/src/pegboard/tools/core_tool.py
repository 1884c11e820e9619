"""The registry's own tools: they see the request itself, which no plugin's tool does."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from pegboard.contracts.result import ToolResult
from pegboard.contracts.tool import ToolSpec
from pegboard.tools.run_scope import CallRequest


class CoreTool(ABC):
    """A tool of core."""

    spec: ClassVar[ToolSpec]

    @abstractmethod
    async def answer(self, request: CallRequest, arguments: Mapping[str, Any]) -> ToolResult:
        """Do the work with validated arguments."""
