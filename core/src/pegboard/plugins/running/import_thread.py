"""Run a plugin's import where it can do no harm: in a daemon thread, with a time limit."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import Generic, TypeVar

import anyio

from pegboard.plugins.building.isolation import one_line
from pegboard.plugins.running.guard_stdout import kept_streams, quiet

T = TypeVar("T")
_log = logging.getLogger(__name__)


class ImportHung(Exception):
    """An import did not end in time; `stack` says where it stands."""

    def __init__(self, timeout_s: float, where: str, stack: str) -> None:
        super().__init__(
            f"its import did not end within {timeout_s:g} s"
            + (f"; it stands in {where}" if where else "")
        )
        self.stack = stack


class ImportEscaped(Exception):
    """An import was left by an exception that would have taken the host along."""


class _Box(Generic[T]):
    """Carries what the thread came to."""

    value: T | None = None
    error: BaseException | None = None
    done = False


async def run_in_import_thread(plugin_id: str, work: Callable[[], T], timeout_s: float) -> T:
    """Return what `work` returns, off the event loop; raise what it raises.

    The thread is a daemon: one that hangs does not keep the process from ending. (A worker thread
    of anyio would.) It can't be stopped, only left alone.

    Raises:
        ImportHung: When it takes longer than `timeout_s` seconds.
        ImportEscaped: When it raises SystemExit, KeyboardInterrupt (which is never the person's:
            only the main thread learns of a Ctrl-C) or another that no host survives.
    """
    loop = asyncio.get_running_loop()
    finished = anyio.Event()
    box = _Box[T]()

    def run() -> None:
        try:
            with kept_streams() as mended, quiet(plugin_id):
                box.value = work()
            for name in mended:
                _log.warning("plugin %s: its import closes or replaces sys.%s", plugin_id, name)
        except BaseException as error:
            box.error = error
        box.done = True
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(finished.set)

    thread = threading.Thread(target=run, name=f"pegboard-import-{plugin_id}", daemon=True)
    thread.start()
    with anyio.move_on_after(timeout_s):
        await finished.wait()
    if not box.done:
        raise _hung(thread, timeout_s)
    if box.error is None:
        return box.value  # type: ignore[return-value]
    if isinstance(box.error, Exception):
        raise box.error
    raise ImportEscaped(one_line(box.error)) from box.error


def _hung(thread: threading.Thread, timeout_s: float) -> ImportHung:
    frame = sys._current_frames().get(thread.ident or 0)
    if frame is None:
        return ImportHung(timeout_s, "", "")
    stack = traceback.extract_stack(frame)
    last = stack[-1]
    where = f"{last.filename}, line {last.lineno}, in {last.name}"
    return ImportHung(timeout_s, where, "".join(stack.format()))
