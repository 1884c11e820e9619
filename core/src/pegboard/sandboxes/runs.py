"""The commands that are running in a sandbox, so that closing it ends them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final, TypeVar

import anyio

from pegboard.contracts.errors import SandboxError

T = TypeVar("T")
_POLL_S: Final = 0.01


class Runs:
    """What runs in one sandbox; shared by every narrowed view of it."""

    def __init__(self) -> None:
        self.scopes: set[anyio.CancelScope] = set()
        self.tasks: set[asyncio.Task[None]] = set()

    def keep(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something that goes on when the caller has gone on; `end` waits for it.

        It must be stopped by what stops `run`, and raise nothing.
        """
        task = asyncio.get_running_loop().create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def run(self, work: Callable[[], Awaitable[T]]) -> T:
        """Do something that `end` can stop.

        Raises:
            SandboxError: When it was stopped so.
        """
        with anyio.CancelScope() as scope:
            self.scopes.add(scope)
            try:
                return await work()
            finally:
                self.scopes.discard(scope)
        raise SandboxError(
            "the sandbox was closed while the command ran", fix="Start a new conversation."
        )

    async def end(self) -> None:
        """Stop everything and wait until its processes are gone."""
        for scope in tuple(self.scopes):
            scope.cancel()
        while self.scopes or self.tasks:
            await anyio.sleep(_POLL_S)
