"""Keeps which calls were at work when a host died, once their turn is taken up again."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path

import anyio.to_thread

from pegboard.contracts.clock import Clock
from pegboard.contracts.errors import PegboardError
from pegboard.contracts.turn import CallRecord, TurnRecord
from pegboard.plugins.building.isolation import one_line
from pegboard.plugins.decision.state import PluginRecord
from pegboard.store.fatal_calls import FatalCall, FatalCalls

_log = logging.getLogger(__name__)


class FatalCallNotes:
    """Notes the calls; `pegboard status`, `doctor` and `plugins why` tell them.

    Args:
        state: The state folder.
        clock: Time.
        plugin: Returns a plugin by its id, or None.
    """

    def __init__(
        self, state: Path, clock: Clock, plugin: Callable[[str], PluginRecord | None]
    ) -> None:
        self._file = FatalCalls(state)
        self._clock = clock
        self._plugin = plugin

    async def note(self, turn: TurnRecord, calls: Sequence[CallRecord]) -> None:
        """Keep the calls of a turn; that they can't be kept changes nothing else.

        Args:
            turn: The turn, as it is begun again.
            calls: What was at work.
        """
        found = [self._fatal(turn, call) for call in calls]
        for call in found:
            _log.warning("the host died while %s ran, in turn %s", call.tool, call.turn)
        await anyio.to_thread.run_sync(self._add, found)

    def _fatal(self, turn: TurnRecord, call: CallRecord) -> FatalCall:
        at = self._clock.now()
        fatal = FatalCall(call.name, turn.ref.turn, call.id, call.attempt, at)
        plugin = self._plugin(fatal.plugin)
        return fatal if plugin is None else fatal._replace(version=plugin.version)

    def _add(self, calls: Sequence[FatalCall]) -> None:
        try:
            self._file.add(calls)
        except (OSError, PegboardError) as error:
            _log.warning("a fatal call could not be kept for doctor: %s", one_line(error))
