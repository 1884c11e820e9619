"""A command that was started and goes on: what is done to it, and what it has written."""

from __future__ import annotations

import os
import secrets
import shutil
import struct
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from typing import Final

import anyio

from pegboard.contracts.errors import SandboxError
from pegboard.contracts.process import DEFAULT_READ, Output, TerminalSize
from pegboard.contracts.sandbox import Ability, Command, Completed, OutputSink
from pegboard.sandboxes.process_tree import CommandTree
from pegboard.sandboxes.runs import Runs
from pegboard.sandboxes.spool import Spool

IN_A_TERMINAL: Final = ("setsid", "--ctty")
"""Makes the terminal on standard input the one that controls the command, so that Ctrl-C and job
control work. It forks nothing: what it becomes is the command."""
_LOOK_S: Final = 0.1
_TERMINAL_ENV: Final = {"TERM": "linux"}


class LiveProcess:
    """A command of this machine that was started.

    Args:
        command: What was started.
        terminal: Size of the terminal that it gets, or None for pipes.
    """

    def __init__(self, command: Command, terminal: TerminalSize | None = None) -> None:
        self.id = secrets.token_hex(4)
        self.command = command
        self.terminal = terminal
        self.stopping = anyio.Event()
        self.begun = anyio.Event()
        self.over = anyio.Event()
        self._spool = Spool()
        self._tree: CommandTree | None = None
        self._input: int | None = None
        self._writing = anyio.Lock()
        self._done: Completed | None = None
        self._failure: Exception | None = None

    @property
    def ended(self) -> Completed | None:
        """How it ended, or None while it runs."""
        if self._failure is not None:
            raise self._failure
        return self._done

    async def output(self, offset: int = 0, *, limit: int = DEFAULT_READ) -> Output:
        """Return what it has written."""
        return self._spool.read(offset, limit=limit)

    async def write(self, data: bytes, *, within_s: float = 5.0) -> int:
        """Write to its standard input, or type into its terminal."""
        rest = memoryview(data)
        with anyio.move_on_after(within_s):
            async with self._writing:
                while rest:
                    rest = rest[await self._write_some(rest) :]
        if self.over.is_set():
            self._let_go()
        return len(data) - len(rest)

    async def close_input(self) -> None:
        """Close its standard input, when it has one of its own."""
        if self.terminal is None:
            async with self._writing:
                self._let_go()

    async def signal(self, number: int) -> bool:
        """Send a signal to it and all that it started; False when it has ended already."""
        if self._tree is None:
            return False
        self._tree.signal(number)
        return True

    async def resize(self, size: TerminalSize) -> None:
        """Change the size of its terminal."""
        if self.terminal is None:
            raise SandboxError("this command has no terminal", fix="Start it with one.")
        self.terminal = size
        if self._input is not None:
            set_size(self._input, size)

    async def wait(self, timeout_s: float | None = None) -> Completed | None:
        """Wait for its end; None when it still runs after that many seconds."""
        with anyio.move_on_after(timeout_s):
            await self.over.wait()
        return self.ended

    async def stop(self) -> Completed | None:
        """End it and all that it started."""
        self.stopping.set()
        return await self.wait()

    def begin(self, tree: CommandTree, fd: int | None) -> None:
        """Take over what is reached through the process once it runs; `fd` feeds it."""
        self._tree = tree
        self._input = None if fd is None else os.dup(fd)
        self.begun.set()

    def finish(self, done: Completed | None, failure: Exception | None) -> None:
        """Take how it ended, or why it could not go on."""
        self._done, self._failure = done, failure
        self._tree = None
        self.over.set()
        if not self._writing.locked():  # else whoever writes sees the end, and lets go
            self._let_go()

    async def keep(self, _stream: str, data: bytes) -> None:
        """Keep the next bytes that it writes."""
        self._spool.write(data)

    async def _write_some(self, data: memoryview) -> int:
        fd = self._input
        if fd is None or self.over.is_set():
            raise SandboxError("the command takes no input any more", fix="Start it again.")
        try:
            return os.write(fd, data)
        except BlockingIOError:
            with anyio.move_on_after(_LOOK_S):  # its end is no event of the descriptor
                await anyio.wait_writable(fd)
            return 0
        except OSError as error:
            raise SandboxError(
                f"the command takes no input any more: {error.strerror}", fix="Start it again."
            ) from error

    def _let_go(self) -> None:
        if self._input is not None:
            fd, self._input = self._input, None
            with suppress(OSError):
                os.close(fd)


def abilities() -> frozenset[Ability]:
    """Return what a sandbox of this machine can do with `start_live`."""
    if os.name != "posix":
        return frozenset()
    terminal = shutil.which(IN_A_TERMINAL[0]) is not None
    return frozenset({"background", "terminal"} if terminal else {"background"})


RunLive = Callable[[Command, OutputSink, LiveProcess], Awaitable[Completed]]


async def start_live(
    runs: Runs, command: Command, terminal: TerminalSize | None, run: RunLive
) -> LiveProcess:
    """Start a command that goes on when this call has returned; it ends with the sandbox.

    Args:
        runs: What runs in the sandbox.
        command: What to run.
        terminal: Size of its terminal, or None for pipes.
        run: Runs a command to its end as the sandbox does it, with `run_process(..., live=...)`.

    Raises:
        SandboxError: What `run` raises before the command has begun.
    """
    live = LiveProcess(command, terminal)
    inner = command
    if terminal is not None:
        env = {**_TERMINAL_ENV, **command.env}
        inner = replace(command, argv=(*IN_A_TERMINAL, *command.argv), env=env)

    async def to_the_end() -> None:
        done: Completed | None = None
        failure: Exception | None = SandboxError(
            "the host ended while the command ran", fix="Start it again."
        )
        try:
            done = await run(inner, live.keep, live)
            failure = None
        except Exception as error:
            failure = error
        finally:
            live.finish(done, failure)
            live.begun.set()

    runs.keep(to_the_end())
    try:
        await live.begun.wait()
    except BaseException:
        live.stopping.set()
        raise
    if live.over.is_set():
        live.ended  # noqa: B018 - raises why it never began
    return live


def open_terminal(size: TerminalSize) -> tuple[int, int]:
    """Return both ends of a new terminal: the one that we hold, and that of the command."""
    ours, theirs = os.openpty()
    set_size(ours, size)
    return ours, theirs


def set_size(fd: int, size: TerminalSize) -> None:
    """Tell a terminal its size; the programs in it get SIGWINCH."""
    import fcntl  # here, for Windows has neither
    import termios

    with suppress(OSError):
        fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", size.rows, size.columns, 0, 0))
