"""Tell when code holds the event loop, and whose it is: no time limit of a task can do that."""

from __future__ import annotations

import asyncio
import sys
import threading
import traceback
from collections.abc import Callable, Iterable
from typing import Final

from pegboard.plugins.decision.state import PluginRecord
from pegboard.plugins.discovery.own_code import is_own, own_folders, shown_file

EVERY_S: Final = 10.0
LIMIT_S: Final = 10.0
"""Seconds for which the loop may do one thing only, before somebody is told."""


class LoopWatch:
    """Asks the event loop now and then, from a thread, whether it still goes round.

    Args:
        records: Returns the plugins.
        report: Told of the plugin that holds the loop, and where; called in that thread.
        limit_s: Seconds without an answer after which it is told.
        every_s: Seconds between two questions.
    """

    def __init__(
        self,
        records: Callable[[], Iterable[PluginRecord]],
        report: Callable[[str, str], None],
        *,
        limit_s: float = LIMIT_S,
        every_s: float = EVERY_S,
    ) -> None:
        self._records = records
        self._report = report
        self._limit_s = limit_s
        self._every_s = every_s
        self._ended = threading.Event()
        self._answered: threading.Event | None = None
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        """Watch the loop of this thread, until `end` or until the loop is closed."""
        arguments = (asyncio.get_running_loop(), threading.get_ident())
        name = "pegboard-loop-watch"
        self._thread = threading.Thread(target=self._watch, args=arguments, name=name, daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Watch no more; the thread has ended when this returns."""
        self._ended.set()
        if self._answered is not None:
            self._answered.set()  # this call holds the loop, which could not answer now
        if self._thread is not None:
            self._thread.join(LIMIT_S)

    def _watch(self, loop: asyncio.AbstractEventLoop, thread: int) -> None:
        while not self._ended.wait(self._every_s):
            answered = self._answered = asked(loop)
            if answered is None or self._ended.is_set():
                return
            # where the whole process was stopped for a while, it answers as soon as that goes on
            late = not (answered.wait(self._limit_s) or answered.wait(self._limit_s / 10))
            if late and not self._ended.is_set():
                self._tell(thread)
                while not (answered.wait(self._every_s) or self._ended.is_set()):
                    pass  # once is enough

    def _tell(self, thread: int) -> None:
        stack = stack_of(thread)
        who, place = holder(stack, self._records())
        self._report(
            who or "?",
            f"it holds the event loop for {self._limit_s:g} s, so nothing else goes on; it stands "
            f"in {place}: wait with `await`, or in a thread (`anyio.to_thread.run_sync`)",
        )


def asked(loop: asyncio.AbstractEventLoop) -> threading.Event | None:
    """Return an event that is set when the loop comes round; None when it is closed."""
    answered = threading.Event()
    try:
        loop.call_soon_threadsafe(answered.set)
    except RuntimeError:
        return None
    return answered


def stack_of(thread: int) -> list[tuple[str, int]]:
    """Return file and line of each frame of a thread, the innermost last."""
    frame = sys._current_frames().get(thread)
    if frame is None:
        return []
    return [(item.filename, item.lineno or 0) for item in traceback.extract_stack(frame)]


def holder(stack: Iterable[tuple[str, int]], records: Iterable[PluginRecord]) -> tuple[str, str]:
    """Return the plugin whose code is innermost in a stack, or "", and where it stands."""
    places = list(stack)[::-1]
    folders = [(record.id, own_folders(record.found)) for record in records if record.usable]
    for file, line in places:
        for plugin_id, own in folders:
            if is_own(file, own):
                return plugin_id, f"{shown_file(file)}:{line}"
    return "", f"{shown_file(places[0][0])}:{places[0][1]}" if places else "an unknown place"
