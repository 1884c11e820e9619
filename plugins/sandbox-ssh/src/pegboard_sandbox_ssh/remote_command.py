"""A command on the other machine: started there, bounded from here, and ended there."""

from __future__ import annotations

import secrets
import shlex
import signal
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import anyio
import asyncssh

from pegboard import Command, Completed, SandboxError
from pegboard.sandboxes import Bounds, OutputSink, Stream
from pegboard_sandbox_ssh.connection import Connection, RemoteProcess, lost

MARK: Final = "PEGBOARD_COMMAND"
"""Variable by which all that a command has started is found."""
_CHUNK: Final = 65_536
_DRAIN_S: Final = 0.25
_STOP_S: Final = 10.0
_POLL_S: Final = 0.02
_NO_FOLDER: Final = 125
_BEGIN: Final = f"""
cd -- "$1" 2>/dev/null || exit {_NO_FOLDER}
shift
exec "$@"
"""
_SEND: Final = f"""
for found in $(grep -ls "{MARK}=$2" /proc/[0-9]*/environ); do
  place="${{found%/environ}}"
  tr '\\0' '\\n' <"$found" | grep -q "^{MARK}=$2" && kill "-$1" "${{place#/proc/}}"
done 2>/dev/null
true
"""
LIFELINE: Final = f"""
while read line; do :; done
set -- KILL "$1"
for round in 1 2 3; do
  {_SEND}
done
"""
"""Source that waits for the end of its input, which is that of the connection, and then ends every
command whose mark begins as it says."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where and as what a command runs.

    Args:
        cwd: Absolute folder there.
        env: Variables to set.
        session: Beginning of the marks of all commands of one connection.
    """

    cwd: str
    env: Mapping[str, str]
    session: str


async def run_remote(
    connection: Connection, command: Command, place: Place, on_output: OutputSink | None
) -> Completed:
    """Run a command to its end, and end all of it that can be found.

    Raises:
        SandboxError: When it can't be started, or the connection is lost meanwhile.
        Exception: What `on_output` raises, when the command has been ended.
    """
    mark = f"{place.session}.{secrets.token_hex(6)}"
    variables = [f"{name}={value}" for name, value in {**place.env, MARK: mark}.items()]
    words = ["env", *variables, "sh", "-c", _BEGIN, "sh", place.cwd, *command.argv]
    started = anyio.current_time()
    process = await connection.start(shlex.join(words))
    bounds = Bounds(command, on_output)
    run = _Run(connection, process, command, mark, bounds)
    try:
        await run.to_the_end()
    finally:
        process.close()
    if bounds.failure is not None:
        raise bounds.failure
    return run.completed(anyio.current_time() - started)


class _Run:
    """A command that is running."""

    def __init__(
        self,
        connection: Connection,
        process: RemoteProcess,
        command: Command,
        mark: str,
        bounds: Bounds,
    ) -> None:
        self.connection = connection
        self.process = process
        self.command = command
        self.mark = mark
        self.bounds = bounds
        self.exited = anyio.Event()
        self.drained = anyio.Event()
        self._open = 2
        self.held = False

    async def to_the_end(self) -> None:
        async with anyio.create_task_group() as tasks:
            try:
                tasks.start_soon(self._pump, "stdout")
                tasks.start_soon(self._pump, "stderr")
                tasks.start_soon(self._feed)
                tasks.start_soon(self._watch_exit)
                tasks.start_soon(self.bounds.watch_time)
                await self.bounds.over.wait()
                if not self.exited.is_set():
                    await self._stop()
                with anyio.move_on_after(_DRAIN_S):
                    await self.drained.wait()
                self.held = not self.drained.is_set()
            finally:
                with anyio.move_on_after(_STOP_S, shield=True):
                    if not self.exited.is_set():
                        await self._stop()
                    elif self.held or self.bounds.reason is not None:
                        await self._send("KILL")
            tasks.cancel_scope.cancel()

    def completed(self, duration_s: float) -> Completed:
        code = self.process.exit_status
        ended = self.process.exit_signal
        if code is None and ended is None and self.bounds.reason is None:
            raise lost(self.connection.title, ConnectionError("it ended before the command did"))
        if code == _NO_FOLDER and not any(item.total for item in self.bounds.streams.values()):
            raise SandboxError("the folder to start in does not exist", fix="Name one that does.")
        number = _signal_number(ended[0]) if ended is not None else None
        if code is not None and code < 0:  # so asyncssh says that a signal ended it
            code = None
        return Completed(
            exit_code=code,
            signal=number if code is None else None,
            stdout=self.bounds.streams["stdout"].captured(),
            stderr=self.bounds.streams["stderr"].captured(),
            duration_s=duration_s,
            timed_out=self.bounds.reason,
            pipe_held=self.held,
        )

    async def _stop(self) -> None:
        await self._send("TERM")
        with anyio.move_on_after(self.command.grace_s):
            await self._exit()
        await self._send("KILL")
        with anyio.move_on_after(_STOP_S):
            await self._exit()

    async def _send(self, name: str) -> None:
        """Send a signal to all that carries the mark."""
        with suppress(asyncssh.Error, OSError):  # to its first process, where there is no /proc
            self.process.send_signal(name)
        words = ["sh", "-c", _SEND, "sh", name, self.mark]
        with suppress(asyncssh.Error, OSError, SandboxError):
            sent = await self.connection.start(shlex.join(words))
            await sent.wait_closed()

    async def _watch_exit(self) -> None:
        await self._exit()
        self.bounds.finish()

    async def _exit(self) -> None:
        # its channel closes no earlier than its output, which something that it started may hold
        while self.process.exit_status is None and self.process.exit_signal is None:
            with anyio.move_on_after(_POLL_S):
                await self.process.wait_closed()
                break
        self.exited.set()

    async def _pump(self, stream: Stream) -> None:
        reader = self.process.stdout if stream == "stdout" else self.process.stderr
        try:
            while chunk := await reader.read(_CHUNK):
                await self.bounds.take(stream, chunk)
        except (asyncssh.Error, OSError):
            pass  # its end is told by the exit
        finally:
            self._open -= 1
            if not self._open:
                self.drained.set()

    async def _feed(self) -> None:
        stdin = self.process.stdin
        with suppress(asyncssh.Error, OSError):
            if self.command.stdin:
                stdin.write(self.command.stdin)
                await stdin.drain()
            stdin.write_eof()


def _signal_number(name: str) -> int:
    return int(getattr(signal, f"SIG{name}", signal.SIGKILL))
