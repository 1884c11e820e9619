"""From decisions to the audit log: folded, without secrets, and never in the way of an answer."""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Callable, Sequence

import anyio

from pegboard.contracts.audit import AuditEvent
from pegboard.contracts.clock import Clock
from pegboard.contracts.errors import StoreError
from pegboard.policy.audit import WINDOW_S, Folding, fit_to_keep
from pegboard.store.audit_log import append
from pegboard.store.database import Database

_log = logging.getLogger(__name__)


class AuditTrail:
    """Records the decisions of one host; an `Audit`.

    The store is opened by the first event: most runs are refused nothing.

    Args:
        store: Where the log is.
        clock: Time, for the windows in which repetitions are counted.
        redact: Returns a text without the secrets in it.
    """

    def __init__(self, store: Database, clock: Clock, redact: Callable[[str], str]) -> None:
        self._store = store
        self._clock = clock
        self._redact = redact
        self._folding = Folding()
        self._timer: asyncio.TimerHandle | None = None

    async def __call__(self, event: AuditEvent) -> None:
        """Record an event: on the disk when this returns, unless the caller must not notice.

        Where a tool's existence is hidden nothing is waited for, so that the time which an answer
        takes does not tell what the answer does not.
        """
        events = self._folding.add(fit_to_keep(event, self._redact))
        self._watch_windows()
        if not events:
            return
        if not event.disclosed:
            self._post(events)
            return
        try:
            # what was decided is recorded, though the run is stopped meanwhile
            with anyio.CancelScope(shield=True):
                await self._store.write(functools.partial(append, events=events))
        except StoreError as error:
            self._failed(error)

    async def aclose(self) -> None:
        """Write the counts that were not written yet."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._post(self._folding.flush())

    def _watch_windows(self) -> None:
        """See to it that a count is written when its window is over, though nothing else happens.

        A timer of the event loop and not a task: there is nothing to wait for or to stop.
        """
        if self._timer is None and self._folding.counting:
            self._timer = asyncio.get_running_loop().call_later(WINDOW_S, self._close_windows)

    def _close_windows(self) -> None:
        self._timer = None
        self._post(self._folding.due(self._clock.now()))
        self._watch_windows()

    def _post(self, events: Sequence[AuditEvent]) -> None:
        if events:
            self._store.post(functools.partial(append, events=events), self._failed)

    def _failed(self, error: BaseException) -> None:
        said = (
            error.message if isinstance(error, StoreError) else f"{type(error).__name__}: {error}"
        )
        _log.error("the audit log misses an event: %s", said)
