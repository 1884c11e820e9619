"""Descriptors that are handed to a program: small contents, and the two pipes that it is led by."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from typing import Final

import anyio

_LONGEST: Final = 65_536
_OVER: Final = b""


class Descriptors(ExitStack):
    """Closes every descriptor that it has made."""

    def __init__(self) -> None:
        super().__init__()
        self.made: list[int] = []

    def content(self, name: str, data: bytes) -> int:
        """Return a descriptor from which `data` is read."""
        descriptor = self._keep(os.memfd_create(name))
        with open(descriptor, "wb", closefd=False) as file:
            file.write(data)
        os.lseek(descriptor, 0, os.SEEK_SET)
        return descriptor

    def arguments(self, arguments: Iterable[str]) -> int:
        """Return a descriptor from which arguments are read, each with a NUL at its end."""
        return self.content("arguments", b"".join(os.fsencode(item) + b"\0" for item in arguments))

    def pipe(self) -> tuple[int, int]:
        """Return the reading and the writing end of a pipe."""
        reading, writing = os.pipe()
        return self._keep(reading), self._keep(writing)

    def _keep(self, descriptor: int) -> int:
        self.made.append(descriptor)
        self.callback(self.shut, descriptor)
        return descriptor

    def shut(self, descriptor: int) -> None:
        """Close one of them; closing it again does nothing."""
        if descriptor in self.made:
            self.made.remove(descriptor)
            with suppress(OSError):
                os.close(descriptor)


class StatusPipe:
    """What bwrap tells of itself: the process id of the first process inside, and how it ended.

    Args:
        reading: The end of the pipe that is read here.
    """

    def __init__(self, reading: int) -> None:
        os.set_blocking(reading, False)
        self._reading = reading
        self._text = b""

    async def first_process(self) -> int | None:
        """Wait for the first process inside; None when bwrap has ended without one."""
        while (pid := self._said("child-pid")) is None:
            await anyio.wait_readable(self._reading)
            if self._read() == _OVER:
                return None
        return pid

    def has_run(self) -> bool:
        """Return whether the command itself was started, and ended by itself."""
        while self._read():
            pass
        return self._said("exit-code") is not None

    def _read(self) -> bytes | None:
        """Return what came, `_OVER` at the end of the pipe, None when there is nothing yet."""
        try:
            more = os.read(self._reading, _LONGEST)
        except BlockingIOError:
            return None
        self._text += more
        return more

    def _said(self, key: str) -> int | None:
        for line in self._text.split(b"\n")[:-1]:
            with suppress(ValueError):
                said = json.loads(line)
                if key in said:
                    return int(said[key])
        return None
