"""What is erased in the store goes out of what plugins keep as well, now or at the next chance."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import anyio
import anyio.to_thread

from pegboard.contracts.archive import Archive, Erasure, ErasureKind
from pegboard.contracts.clock import Clock
from pegboard.contracts.errors import StoreError
from pegboard.contracts.hook_events import ConversationsErased
from pegboard.plugins.building.isolation import one_line
from pegboard.store.plugin_erasure import erase_below

Tell = Callable[[ConversationsErased], Awaitable[None]]
_log = logging.getLogger(__name__)


class ErasureBacklog:
    """Erases in the storage of plugins, which need not be there for it, and tells those that are.

    The store remembers what was erased until all of it is done: a crash, or a file that can't be
    written now, only delays it.

    Args:
        archive: Knows what was erased.
        storages: Folders that have, in folders of their own, what plugins keep and what they leave.
        clock: Time.
        tell: Tells the plugins that want to know.
    """

    def __init__(
        self, archive: Archive, storages: Sequence[Path], clock: Clock, tell: Tell
    ) -> None:
        self._archive = archive
        self._storages = storages
        self._clock = clock
        self._tell = tell
        self._busy = anyio.Lock()

    async def catch_up(self) -> None:
        """Erase all that is not erased everywhere yet; what can't be done now stays for later.

        Raises:
            StoreError: When the host's own store can't be read or written.
        """
        async with self._busy:
            erasures = await self._archive.erasures()
            if not erasures:
                return
            failed: dict[str, StoreError] = {}
            for folder in self._storages:
                failed |= await anyio.to_thread.run_sync(erase_below, folder, erasures)
            for error in failed.values():
                _log.warning(
                    "what plugins keep of erased conversations is erased later: %s", one_line(error)
                )
            done = [item for item in erasures if not any(map(item.concerns, failed))]
            event = _event([item for item in done if not item.again])
            if event is not None:
                await self._tell(event)
            await self._archive.settle(erasures, now=self._clock.now(), left=tuple(failed))

    async def try_to_catch_up(self) -> None:
        """Do the same where nobody waits for it: a store that fails is logged."""
        try:
            await self.catch_up()
        except (StoreError, OSError) as error:
            _log.warning("what was erased could not be looked up: %s", one_line(error))


def _event(erasures: Sequence[Erasure]) -> ConversationsErased | None:
    def names(kind: ErasureKind) -> tuple[str, ...]:
        return tuple(dict.fromkeys(item.name for item in erasures if item.kind == kind))

    if not erasures:
        return None
    return ConversationsErased(
        conversations=names("conversation"),
        turns=names("turn"),
        persons=names("person"),
        thinned=names("thinned"),
    )
