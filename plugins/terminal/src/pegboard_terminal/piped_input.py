"""What stands on standard input when it is no terminal."""

from __future__ import annotations

import os
import select
import stat
import sys
from collections.abc import AsyncIterator, Callable
from typing import Final, TextIO

import anyio

from pegboard import PegboardError

PATIENCE_S: Final = 3.0
"""Seconds that a pipe may stay silent beside a question; programs leave us theirs by mistake."""
MAX_BYTES: Final = 8_000_000
_CHUNK: Final = 65_536


class InputError(PegboardError):
    """Nothing was asked, or more than can be taken in."""

    code = "usage"
    exit_code = 2


def is_piped(stream: TextIO | None) -> bool:
    """Return True when `stream` is open and no terminal."""
    return stream is not None and not stream.closed and not stream.isatty()


def is_terminal(stream: TextIO | None) -> bool:
    """Return True when `stream` is open and a terminal."""
    return stream is not None and not stream.closed and stream.isatty()


def read_request(
    words: tuple[str, ...], stream: TextIO | None, *, note: Callable[[str], None]
) -> str:
    """Return what is asked: the words, the piped text, or the words with the piped text as context.

    Args:
        words: The words of the command line. A last word `-` insists on the piped text: it is then
            waited for without limit.
        stream: Standard input.
        note: Tells the person something.

    Raises:
        InputError: When nothing is asked, or the piped text is too long.
    """
    insists = words[-1:] == ("-",)
    text = " ".join(words[:-1] if insists else words).strip()
    piped = ""
    if stream is not None and is_piped(stream):
        patience = PATIENCE_S if text and not insists else None
        if _ready(stream, patience):
            piped = _read_all(stream)
        else:
            note(
                f"Standard input stayed silent for {PATIENCE_S:g} s, so the question goes without "
                "it. Add `-` as last word to wait for it, or `< /dev/null` to leave it out."
            )
    if not text and not piped.strip():
        raise InputError("There is no question.", fix='pegboard ask "list the files"')
    return compose(text, piped)


def compose(text: str, piped: str) -> str:
    """Put a question and its context together; either may be empty."""
    context = piped.strip("\n")
    if not text or not context.strip():
        return text or context
    # the last closing line ends the block, so that the context may hold such a line itself
    return f"{text}\n\n<stdin>\n{context}\n</stdin>"


async def lines(stream: TextIO) -> AsyncIterator[str]:
    """Yield the lines of a pipe as they come; waiting can be cancelled.

    No thread reads: one that is blocked in a read would keep the process from ending.

    Raises:
        InputError: When a line is too long.
    """
    descriptor = stream.fileno()
    rest = bytearray()
    waits = _may_block(descriptor)
    chunk = b"first"
    while chunk:
        if waits:
            await anyio.wait_readable(descriptor)
        try:
            chunk = os.read(descriptor, _CHUNK)
        except BlockingIOError:  # somebody else was quicker
            continue
        *whole, last = chunk.split(b"\n")
        for line in whole:
            yield (bytes(rest) + line).decode("utf-8", "replace")
            rest.clear()
        rest += last
        if len(rest) > MAX_BYTES:
            raise _too_long("A line of standard input")
    if rest:
        yield rest.decode("utf-8", "replace")


def _ready(stream: TextIO, patience: float | None) -> bool:
    """Wait until `stream` has something to read or has ended; False when patience ran out."""
    if patience is None or not _may_block(stream.fileno()):
        return True
    return bool(select.select([stream.fileno()], [], [], patience)[0])


def _may_block(descriptor: int) -> bool:
    """Return True for what can be waited for; a file or `/dev/null` always answers at once."""
    if sys.platform == "win32":
        return False
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(descriptor)


def _read_all(stream: TextIO) -> str:
    """Return what a pipe holds up to its end.

    Read piece by piece: of a pipe that somebody made non-blocking one read returns what is there.
    """
    descriptor = stream.fileno()
    waits = _may_block(descriptor)
    data = bytearray()
    while len(data) <= MAX_BYTES:
        if waits:
            select.select([descriptor], [], [])
        try:
            chunk = os.read(descriptor, _CHUNK)
        except BlockingIOError:  # somebody else was quicker
            continue
        if not chunk:
            return data.decode("utf-8", "replace")
        data += chunk
    raise _too_long("Standard input")


def _too_long(what: str) -> InputError:
    return InputError(
        f"{what} holds more than {MAX_BYTES // 1_000_000} MB.",
        fix="save it in a file of the workspace and name the file in the question",
    )
