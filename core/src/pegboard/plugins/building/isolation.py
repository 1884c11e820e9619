"""Whose fault an exception is: a plugin's, which is contained, or the host's own will."""

from __future__ import annotations

import asyncio
import importlib
import os.path
import traceback
from typing import Final

_HOST: Final = os.path.abspath(f"{__file__}/../../..")  # noqa: PTH100 - pathlib is slow to import
_IMPORT_SYSTEM: Final = ("<frozen importlib", importlib.__file__ or "<frozen importlib")


def is_plugin_fault(error: BaseException) -> bool:
    """Tell whether the host goes on: not for KeyboardInterrupt, nor when it is being cancelled.

    A plugin that raises CancelledError, SystemExit or GeneratorExit by itself is at fault like any
    other; a cancellation that the host asked for is told by the task's own count.
    """
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is None or not task.cancelling()
    return not isinstance(error, KeyboardInterrupt)


def one_line(error: BaseException) -> str:
    """Return type and message of an exception in one line; of a group, those of its first."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, SyntaxError) and error.filename:  # its last line alone says not where
        file = "/".join(error.filename.split(os.sep)[-2:])  # noqa: PTH206 - as above
        return f"{type(error).__name__}: {error.msg} ({file}, line {error.lineno})"
    return " ".join(traceback.format_exception_only(error)[-1].split())


def author_traceback(error: BaseException) -> str:
    """Return a traceback that begins in the plugin's own code.

    The frames of the host and of the import system before it say nothing to an author. An error
    that never left them keeps its whole traceback.
    """
    frame = error.__traceback__
    while frame is not None and _is_ours(frame.tb_frame.f_code.co_filename):
        frame = frame.tb_next
    if frame is None and isinstance(error, SyntaxError):  # it shows the line itself
        return "".join(traceback.format_exception_only(error))
    if frame is None:
        frame = error.__traceback__
    return "".join(traceback.format_exception(type(error), error, frame))


def author_place(error: BaseException) -> str:
    """Return ` (FILE, line N)` of the last line of an author that ran, or "" when there is none."""
    frame, place = error.__traceback__, ""
    while frame is not None:
        file = frame.tb_frame.f_code.co_filename
        if not _is_ours(file):
            place = f" ({file}, line {frame.tb_lineno})"
        frame = frame.tb_next
    return place


def _is_ours(filename: str) -> bool:
    return filename.startswith((_HOST + os.sep, *_IMPORT_SYSTEM))
