"""Keep standard output for the host's own words.

Descriptor 1 is led to standard error for the whole process, so that neither a plugin's `os.write`,
nor a C library, nor a child process can reach the real output. What goes through `sys.stdout` is
told apart by context: the context that diverted, and all that inherits from it, speaks; the bare
thread that imports a plugin has no such context, and so what a plugin prints when it is imported
goes to standard error, as does what runs in `quiet`.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from typing import Any, Final, TextIO

MOST_CHARS: Final = 64_000
"""Characters that one quiet block may print; a plugin that floods is cut."""


class _Sink:
    """Where a plugin's words go: standard error, up to a limit."""

    __slots__ = ("_left", "_who")

    def __init__(self, who: str) -> None:
        self._who = who
        self._left = MOST_CHARS

    def write(self, text: str) -> None:
        if self._left <= 0:
            return
        sys.stderr.write(text[: self._left])
        self._left -= len(text)
        if self._left <= 0:
            sys.stderr.write(f"\n[{self._who or 'plugin'}: further output is dropped]\n")


_sink: ContextVar[_Sink | None] = ContextVar("pegboard_stdout")
"""None = this context speaks; a context without a value is a stranger's."""


class _Router(io.TextIOBase):
    """Stands in for `sys.stdout`: the host's words to the real output, all others to a sink."""

    def __init__(self, real: TextIO) -> None:
        self._real = real
        self._strangers = _Sink("")

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._real.encoding

    @property
    def errors(self) -> str | None:  # type: ignore[override]
        return self._real.errors

    @property
    def buffer(self) -> Any:
        speaks = _sink.get(self._strangers) is None
        return self._real.buffer if speaks else sys.stderr.buffer

    def write(self, text: str, /) -> int:
        if not isinstance(text, str):  # click tells text from binary streams by this error
            raise TypeError(f"write() takes str, not {type(text).__name__}")
        sink = _sink.get(self._strangers)
        if sink is None:
            return self._real.write(text)
        sink.write(text)
        return len(text)

    def writelines(self, lines: Iterable[str], /) -> None:  # type: ignore[override]
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        self._real.flush()

    def close(self) -> None:
        """Do nothing: whoever closes it, the host goes on to speak."""
        try:  # noqa: SIM105 - Python itself closes it at its very end, when this module is empty
            self._real.flush()
        except (OSError, ValueError):
            pass

    def fileno(self) -> int:
        return self._real.fileno()

    def isatty(self) -> bool:
        return self._real.isatty()

    def writable(self) -> bool:
        return True


def divert_stdout() -> None:
    """Lead everything but the host's own `print` and `click.echo` to standard error.

    Called once by the command line, before any plugin is imported. The calling context, and tasks
    and threads that inherit it, keep the real output; threads that plugins start do not.
    """
    if isinstance(sys.stdout, _Router):
        return
    sys.stdout.flush()
    out = os.dup(1)
    os.dup2(2, 1)
    old = sys.stdout
    real = open(  # noqa: PTH123, SIM115 - lives as long as the process
        out, "w", encoding=old.encoding, errors=old.errors, buffering=1 if old.isatty() else -1
    )
    sys.stdout = _Router(real)
    _sink.set(None)


@contextmanager
def kept_streams() -> Iterator[list[str]]:
    """Undo what code in this block does to the standard streams: closes or replaces them.

    Yields a list, which names at the end of the block the streams that had to be mended.
    """
    before = {name: getattr(sys, name) for name in ("stdout", "stderr")}
    mended: list[str] = []
    try:
        yield mended
    finally:
        for name, stream in before.items():
            closed = stream is not None and stream.closed
            if not closed and getattr(sys, name) is stream:
                continue
            mended.append(name)
            if closed:  # the descriptor is open still: Python's own streams do not own it
                number = 2 if name == "stderr" else 1
                stream = open(number, "w", closefd=False, errors="backslashreplace")  # noqa: SIM115
            setattr(sys, name, stream)


class quiet:
    """Lead what is printed in this block (a plugin's code) to standard error.

    Args:
        who: Id of the plugin, named when its flood is cut.
    """

    __slots__ = ("_token", "_who")

    def __init__(self, who: str = "") -> None:
        self._who = who
        self._token: Token[_Sink | None] | None = None

    def __enter__(self) -> None:
        self._token = _sink.set(_Sink(self._who))

    def __exit__(self, *error: object) -> None:
        if self._token is not None:
            _sink.reset(self._token)
