"""Keeps what sandboxes refused for want of a grant, as the host of the tools that were refused."""

from __future__ import annotations

import logging
from pathlib import Path

import anyio.to_thread

from pegboard.contracts.clock import Clock
from pegboard.contracts.errors import PegboardError
from pegboard.contracts.tool import RegisteredTool
from pegboard.plugins.building.isolation import one_line
from pegboard.sandboxes.refused import GRANT, RefusedLog

_log = logging.getLogger(__name__)


class Refusals:
    """Notes what a grant would have allowed; `pegboard doctor` tells it.

    Args:
        state: The state folder.
        clock: Time.
    """

    def __init__(self, state: Path, clock: Clock) -> None:
        self._file = RefusedLog(state)
        self._clock = clock

    async def note(self, tool: RegisteredTool, fix: str) -> None:
        """Keep a refusal, if a grant ends it; that it can't be kept changes nothing else.

        Args:
            tool: What was refused.
            fix: What would allow it.
        """
        if fix.startswith(GRANT):
            await anyio.to_thread.run_sync(self._add, fix, tool.canonical, self._clock.now())

    def _add(self, fix: str, tool: str, now: float) -> None:
        try:
            self._file.add(fix, tool, at=now)
        except (OSError, PegboardError) as error:
            _log.warning("a refusal could not be kept for `pegboard doctor`: %s", one_line(error))
