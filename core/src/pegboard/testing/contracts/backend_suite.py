"""What the laws of a backend share: how one is opened, what comes in, and a turn that is run."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import anyio

from pegboard.contracts.clock import SystemClock
from pegboard.contracts.engine import Accepts, Backend, Engine, Handler, accept_all
from pegboard.contracts.store import Store
from pegboard.contracts.turn import Begun, Incoming, Json, NotBegun, Receipt, TurnRef
from pegboard.plugins.running.ids import IdMaker
from pegboard.testing.contracts.suite import LIMIT_S, Suite, missing

CLOCK: Final = SystemClock()
new_id: Final = IdMaker(CLOCK)
MAX_ATTEMPTS: Final = 3
NOW: Final = 1_767_225_600.0
"""A time that the laws name to the store, which never reads a clock for what it writes."""
ODD: Final = "nul \x00, half \ud83d, whole \U0001f9e9, é, \\u0000, \u2028"
"""Text that must come back as it was."""
WAIT_S = 15.0
"""Seconds that a law waits for what must happen."""


class BackendSuite(Suite):
    """Base of the laws of a backend."""

    def make_backend(self, folder: Path) -> Backend:
        """Return a backend; all that are made for one folder work on the same truth.

        It looks for turns that other hosts left at least once a second. Processes of the laws call
        it too: it must use nothing but its argument.
        """
        missing(self, "make_backend", "a Backend on a folder")

    @asynccontextmanager
    async def opened(
        self, folder: Path, *, accepts: Accepts = accept_all
    ) -> AsyncIterator[tuple[Store, Engine]]:
        """Open a backend for the time of the block, as one host does."""
        backend = self.make_backend(folder)
        try:
            with anyio.fail_after(LIMIT_S):
                yield await backend.open({}, CLOCK, accepts=accepts)
        finally:
            with anyio.CancelScope(shield=True):
                await backend.aclose()


def incoming(key: str = "chat", text: str = "hello", **more: Any) -> Incoming:
    """Return a message that came in, with an id of its own."""
    facts = {
        "turn": new_id(),
        "key": key,
        "channel": "desk",
        "chat": key,
        "external_id": new_id(),
        "message": {"text": text},
        "caller": {"trust": "operator"},
        "at": NOW,
    }
    return Incoming(**{**facts, **more})


async def took(store: Store, key: str = "chat", text: str = "hello", **more: Any) -> TurnRef:
    """Ingest a message and return its turn."""
    return (await store.ingest(incoming(key, text, **more))).ref


async def took_all(store: Store, messages: Sequence[Incoming]) -> list[Receipt]:
    """Ingest messages all at once and return their receipts in the order of the messages."""
    receipts: list[Receipt | None] = [None] * len(messages)

    async def take(index: int) -> None:
        receipts[index] = await store.ingest(messages[index])

    async with anyio.create_task_group() as group:
        for index in range(len(messages)):
            group.start_soon(take, index)
    return [receipt for receipt in receipts if receipt is not None]


async def began(store: Store, ref: TurnRef, *, max_attempts: int = MAX_ATTEMPTS) -> Begun:
    """Begin a turn that can be begun."""
    begun = await store.begin(ref.turn, now=NOW, max_attempts=max_attempts)
    assert isinstance(begun, Begun), f"{ref.turn} can't be begun: {begun}"
    return begun


async def began_again(store: Store, begun: Begun) -> Begun:
    """Hand a turn back and begin its next attempt."""
    await store.release(begun.turn.ref.turn, begun.turn.fence)
    return await began(store, begun.turn.ref)


async def refused(store: Store, ref: TurnRef, *, now: float = NOW) -> NotBegun:
    """Try to begin a turn that can't be begun, and return why."""
    answer = await store.begin(ref.turn, now=now, max_attempts=MAX_ATTEMPTS)
    assert isinstance(answer, NotBegun), f"{ref.turn} was begun"
    return answer


async def finished(store: Store, ref: TurnRef, *messages: Json) -> None:
    """Begin a turn and end it."""
    begun = await began(store, ref)
    await store.finish(ref.turn, begun.turn.fence, state="done", now=NOW, messages=messages)


async def open_ids(store: Store) -> list[str]:
    """Return the ids of the open turns."""
    return [ref.turn for ref in await store.open_turns()]


@asynccontextmanager
async def served(engine: Engine, handler: Handler, *, slots: int = 4) -> AsyncIterator[None]:
    """Serve an engine for the time of the block."""
    async with anyio.create_task_group() as group:

        async def serve() -> None:
            await engine.serve(handler, slots=slots)

        group.start_soon(serve)
        yield
        group.cancel_scope.cancel()


async def until(condition: Any, what: str, *, limit_s: float | None = None) -> None:
    """Wait until `condition()` is true, or what it returns is awaited to be."""
    limit_s = WAIT_S if limit_s is None else limit_s
    with anyio.move_on_after(limit_s):
        while True:
            found = condition()
            if hasattr(found, "__await__"):
                found = await found
            if found:
                return
            await anyio.sleep(0.01)
    raise AssertionError(f"{what} did not happen within {limit_s:g} s")
