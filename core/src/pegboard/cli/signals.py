"""SIGTERM and SIGHUP end a command as Ctrl-C does: what is open is closed first."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

from pegboard.cli.fault import Terminated

T = TypeVar("T")


async def run_until_told(function: Callable[[], Awaitable[T]]) -> T:
    """Run an async function to its end, or until a signal cancels it.

    A second signal of that kind ends the process at once.

    Raises:
        Terminated: When a signal ended it.
    """
    told: list[int] = []
    with _cancelled_by_signals(told):
        try:
            return await function()
        except asyncio.CancelledError:
            if not told:
                raise
    raise Terminated(f"Terminated by {signal.Signals(told[0]).name}.")


@contextmanager
def _cancelled_by_signals(told: list[int]) -> Iterator[None]:
    loop, task = asyncio.get_running_loop(), asyncio.current_task()

    def stop(number: int) -> None:
        told.append(number)
        loop.remove_signal_handler(number)
        if task is not None:
            task.cancel()

    handled = []
    for number in (getattr(signal, name, None) for name in ("SIGTERM", "SIGHUP")):
        # who started us may have said that it shall be ignored, as `nohup` does
        if number is None or signal.getsignal(number) is not signal.SIG_DFL:
            continue
        # asyncio raises these where the system, or this thread, can have no such handler
        with suppress(NotImplementedError, RuntimeError, ValueError):
            loop.add_signal_handler(number, stop, number)
            handled.append(number)
    try:
        yield
    finally:
        for number in handled:
            loop.remove_signal_handler(number)
