"""SIGTERM and SIGHUP end a command as Ctrl-C does: what is open is closed first."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final, TypeVar

from pegboard.cli.fault import Terminated
from pegboard.plugins.running.loop_watch import LIMIT_S, asked, holder, stack_of

T = TypeVar("T")
_KILLED: Final = 128
"""A shell's exit code of what a signal ended, less the signal's number."""


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
            # the loop still learns of it; this runs although code that never waits holds the loop
            signal.signal(number, _Bound(loop))
            handled.append(number)
    try:
        yield
    finally:
        for number in handled:
            loop.remove_signal_handler(number)


class _Bound:
    """A handler of a signal that ends the process when its loop does not come to the signal.

    Args:
        loop: The event loop of this thread.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._thread = threading.get_ident()
        self._came = False

    def __call__(self, number: int, frame: object) -> None:
        """Wait in a thread for the loop; a second signal ends the process at once."""
        if self._came:
            os._exit(_KILLED + number)
        self._came = True
        threading.Thread(target=self._wait, args=(number,), daemon=True).start()

    def _wait(self, number: int) -> None:
        answered = asked(self._loop)
        if answered is None or answered.wait(LIMIT_S):
            return
        _, place = holder(stack_of(self._thread), ())
        name = signal.Signals(number).name
        sys.stderr.write(
            f"Ended by {name} after {LIMIT_S:g} s: the event loop is held in {place}\n"
        )
        sys.stderr.flush()
        os._exit(_KILLED + number)
