"""Have turns delivered for as long as this host reaches somebody."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from types import TracebackType

import anyio
import anyio.abc

from pegboard.contracts.channel import Channel
from pegboard.contracts.engine import Engine, Handler
from pegboard.contracts.store import Store
from pegboard.conversations.key import ConversationKey
from pegboard.turns.open_channels import OpenChannels

_log = logging.getLogger(__name__)


class Delivery:
    """Serves the engine from the first channel that opens until the host stops.

    A host that opens no channel never looks at what others have left in the store.

    Args:
        store: Where the truth is.
        engine: What delivers.
        channels: The channels that are open; what is opened here is added.
        slots: Turns that run at the same time at most.
    """

    def __init__(self, store: Store, engine: Engine, channels: OpenChannels, *, slots: int) -> None:
        self._store = store
        self._engine = engine
        self._channels = channels
        self._slots = slots
        self._handler: Handler | None = None
        self._failed: Callable[[Exception], None] = _ignore
        self._group: anyio.abc.TaskGroup | None = None
        self._serving = False
        self._looking = anyio.Lock(fast_acquire=True)

    def take(self, handler: Handler, failed: Callable[[Exception], None]) -> None:
        """Name what runs turns, and who is told when no more are delivered."""
        self._handler, self._failed = handler, failed

    async def __aenter__(self) -> Delivery:
        group = anyio.create_task_group()
        self._group = await group.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None:
        group, self._group = self._group, None
        if group is None:
            return None
        group.cancel_scope.cancel()
        if isinstance(error, anyio.get_cancelled_exc_class()):
            return await group.__aexit__(kind, error, traceback)
        # the group would wrap the error of the block it spans; nobody wants to unwrap it
        await group.__aexit__(None, None, None)
        return None

    @asynccontextmanager
    async def named(self, name: str, channel: Channel) -> AsyncIterator[None]:
        """Run a channel under its instance name: its open turns are delivered here.

        Raises:
            StoreError: When the store can't be read.
        """
        with self._channels.named(name, channel):
            await self._look()
            yield

    @asynccontextmanager
    async def lent(self, key: ConversationKey, channel: Channel) -> AsyncIterator[None]:
        """Use a channel for one conversation: its open turns are delivered here.

        Raises:
            StoreError: When the store can't be read.
        """
        with self._channels.lent(key, channel) as new:
            # who comes second must not overtake who still looks
            async with self._looking:
                if new:
                    await self._look()
            yield

    async def close(self, grace_s: float) -> None:
        """Deliver no more; let what runs finish for `grace_s` seconds, then cut it off."""
        await self._engine.close(grace_s)

    async def _look(self) -> None:
        """Take up what the store has of chats that are reached now."""
        refs = await self._store.open_turns()
        if self._group is not None and not self._serving:
            self._serving = True
            self._group.start_soon(self._serve)
            return
        for ref in refs:
            await self._engine.submit(ref)

    async def _serve(self) -> None:
        assert self._handler is not None
        try:
            await self._engine.serve(self._handler, slots=self._slots)
        except Exception as error:
            _log.exception("no more turns are delivered")
            self._failed(error)


def _ignore(error: Exception) -> None:
    """Tell nobody."""
