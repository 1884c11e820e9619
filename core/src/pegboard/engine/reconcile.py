"""What an engine may have missed, found by comparing what it holds with what the store says."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Final, Protocol

from pegboard.contracts.clock import Clock
from pegboard.contracts.errors import StoreError
from pegboard.contracts.store import Store
from pegboard.contracts.turn import TurnRef

RECONCILE_S: Final = 30.0
"""Seconds between two looks at the store."""
_log = logging.getLogger("pegboard.engine")


class Holder(Protocol):
    """What a reconciler asks of an engine."""

    def holds(self, turn: str) -> bool:
        """Tell whether the engine has this turn."""
        ...

    def resting(self) -> Iterable[TurnRef]:
        """Return the turns that wait for a time or for a poke."""
        ...

    async def submit(self, ref: TurnRef) -> None:
        """Take a turn."""
        ...

    async def poke(self, key: str) -> None:
        """Wake what waits."""
        ...


async def reconcile(store: Store, engine: Holder, now: float) -> None:
    """Give an engine what is open in the store and not held, and wake what waits for no reason.

    Another host may have left a turn behind, or have woken one; and a clock that was set forward
    makes a time come sooner than it seemed.

    Raises:
        StoreError: When the store can't be read.
    """
    for ref in await store.open_turns():
        if not engine.holds(ref.turn):
            await engine.submit(ref)
    for ref in tuple(engine.resting()):
        if not await _waits(store, ref.turn, now):
            await engine.poke(ref.key)


async def keep_reconciled(
    store: Store, engine: Holder, clock: Clock, *, every_s: float = RECONCILE_S
) -> None:
    """Reconcile again and again; a store that can't be read is tried again the next time."""
    while True:
        await clock.sleep(every_s)
        try:
            await reconcile(store, engine, clock.now())
        except StoreError as error:
            _log.warning("the open turns could not be read: %s", error)


async def _waits(store: Store, turn: str, now: float) -> bool:
    record = await store.turn(turn)
    if record is None or record.state != "waiting":
        return False
    return record.not_before is None or record.not_before > now
