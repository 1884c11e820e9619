"""What ends a running command that does not end by itself: its time, its silence, its output."""

from __future__ import annotations

import math
from typing import Final, Literal

import anyio

from pegboard.contracts.sandbox import Command, OutputSink
from pegboard.sandboxes.capture import Capture

Stream = Literal["stdout", "stderr"]
STREAMS: Final[tuple[Stream, ...]] = ("stdout", "stderr")
StopReason = Literal["wall", "idle", "output"]


class Bounds:
    """The limits of one command, and what is kept of its output.

    Args:
        command: Its limits.
        on_output: Gets the output as it comes; a slow one slows the command down.
    """

    def __init__(self, command: Command, on_output: OutputSink | None) -> None:
        self._command = command
        self._on_output = on_output
        self._last_output = anyio.current_time()
        self.over = anyio.Event()
        """Set when the command has ended, or is to be ended."""
        self.reason: StopReason | None = None
        """Why it is to be ended."""
        self.failure: Exception | None = None
        """Why the call fails, when the command has been ended for that."""
        self.streams: dict[Stream, Capture] = {
            stream: Capture(command.keep_head, command.keep_tail) for stream in STREAMS
        }

    def finish(self, reason: StopReason | None = None) -> None:
        """Say that the command has ended, or is to be ended; the first word counts."""
        if not self.over.is_set():
            self.reason = reason
            self.over.set()

    def fail(self, failure: Exception) -> None:
        """Say that the command is to be ended, and why the call fails then."""
        self.failure = failure
        self.finish()

    async def watch_time(self) -> None:
        """Wait until its time is over, or it has been silent for too long."""
        deadline = anyio.current_time() + self._command.timeout_s
        while True:
            idle_at = self._last_output + (self._command.idle_s or math.inf)
            now = anyio.current_time()
            if now >= deadline:
                return self.finish("wall")
            if now >= idle_at:
                return self.finish("idle")
            await anyio.sleep(min(deadline, idle_at) - now)

    async def take(self, stream: Stream, chunk: bytes) -> None:
        """Keep the next bytes of its output, and pass them on."""
        self._last_output = anyio.current_time()
        self.streams[stream].feed(chunk)
        if sum(capture.total for capture in self.streams.values()) > self._command.max_output:
            self.finish("output")
        if self._on_output is None or self.failure is not None:
            return
        try:
            await self._on_output(stream, chunk)
        except Exception as error:  # whoever listens fails: the command is ended, then it is told
            self.fail(error)
