"""Whose fault an exception is: a plugin's, which is contained, or the host's own will."""

from __future__ import annotations

import asyncio
import importlib
import os.path
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from pegboard.contracts.errors import PegboardError

_HOST: Final = os.path.abspath(f"{__file__}/../../..")  # noqa: PTH100 - pathlib is slow to import
_PLACE: Final = "_pegboard_author_place"
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


def author_place(error: BaseException) -> tuple[str, int] | None:
    """Return file and line of what an author has to look at, or None when nothing tells.

    That is the innermost line of the folder in which the plugin's code was entered, and not one of
    a library that it calls. Where a file of it can't be parsed, it is the line of that file.
    """
    frame, places = error.__traceback__, list[tuple[str, int]]()
    while frame is not None:
        file = frame.tb_frame.f_code.co_filename
        if not _is_ours(file):
            places.append((file, frame.tb_lineno))
        frame = frame.tb_next
    if isinstance(error, SyntaxError) and error.filename and not _is_ours(error.filename):
        places.append((error.filename, error.lineno or 1))
    if not places:
        place: tuple[str, int] | None = getattr(error, _PLACE, None)
        return place
    folder = os.path.dirname(places[0][0]) + os.sep  # noqa: PTH120
    return [item for item in places if item[0].startswith(folder)][-1]


@contextmanager
def told_where(function: object) -> Iterator[None]:
    """Say of an error in this block where the author's function is that it is about."""
    try:
        yield
    except PegboardError as error:
        while hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        code = getattr(function, "__code__", None)
        if code is not None and not hasattr(error, _PLACE):
            setattr(error, _PLACE, (code.co_filename, code.co_firstlineno))
            # in the form of a frame, at the end of the traceback that is kept
            error.add_note(f'  File "{code.co_filename}", line {code.co_firstlineno}')
        raise


def _is_ours(filename: str) -> bool:
    return filename.startswith((_HOST + os.sep, *_IMPORT_SYSTEM))
