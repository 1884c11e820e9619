"""Run one command: bounded in time, output and what it leaves behind.

The end of a command is the end of its process, never the end of its output: something it started
may hold the pipe for ever. The process is not reaped until its whole tree is dead, so that its
number can't belong to anybody else when signals are sent.
"""

from __future__ import annotations

import errno
import math
import os
import secrets
import signal
import subprocess
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Literal

import anyio
from anyio.lowlevel import checkpoint

from pegboard.contracts.errors import SandboxError
from pegboard.contracts.sandbox import Command, Completed, OutputSink
from pegboard.sandboxes.capture import Capture
from pegboard.sandboxes.process_space import ProcessSpace
from pegboard.sandboxes.process_tree import MARK_NAME, ProcessTree

DRAIN_S: Final = 0.25
_CHUNK: Final = 65_536
_CHUNKS_IN_A_ROW: Final = 8  # then others get their turn
_POLL_S: Final = 0.01
_DEATH_S: Final = 5.0

Stream = Literal["stdout", "stderr"]
StopReason = Literal["wall", "idle", "output"]
Start = Callable[[], "subprocess.Popen[bytes]"]
Ready = Callable[[int], Awaitable[Callable[[], None]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """How a backend starts a command; everything here is decided, nothing comes from a model.

    Args:
        argv: Program and arguments as the kernel gets them.
        cwd: Folder to start in, or None = the host's.
        env: The whole environment.
        pass_fds: Descriptors that the program inherits.
        find_strays: Look for processes that left the group.
        own_processes: The program keeps the command in a process space of its own, which ends with
            the program's only child: TERM is for the processes inside, KILL for that child.
        start: Where the program is started: called with what starts it.
        ready: Called with the process id when the program has started, for what it waits for. What
            it returns lets the program go on. Time runs, and output is read, meanwhile.
    """

    argv: Sequence[str]
    cwd: str | None
    env: Mapping[str, str]
    pass_fds: Sequence[int] = ()
    find_strays: bool = True
    own_processes: bool = False
    start: Callable[[Start], subprocess.Popen[bytes]] | None = None
    ready: Ready | None = None


async def run_process(
    launch: Launch, command: Command, *, on_output: OutputSink | None = None
) -> Completed:
    """Run a command to its end, and end all that it started.

    Works in any event loop. The process is started from the loop's own thread, which lives as long
    as the call: a sandbox that dies with the thread that started it stays alive.

    Args:
        launch: How to start it.
        command: Its input and limits.
        on_output: Gets the output as it comes; a slow one slows the command down.

    Raises:
        SandboxError: When the program can't be started.
        Exception: What `on_output` or `launch.ready` raises, when the command has been ended.
    """
    strays = launch.find_strays and not launch.own_processes
    mark = secrets.token_hex(8) if strays else ""
    started = anyio.current_time()
    process = _start(launch, command, mark)
    tree = ProcessSpace(process.pid) if launch.own_processes else ProcessTree(process.pid, mark)
    run = _Run(process, tree, command, on_output)
    try:
        reason, held = await run.to_the_end(launch.ready)
    finally:
        run.close()
    if run.failure is not None:
        raise run.failure
    # a process that the kernel won't let go of counts as killed
    code = -signal.SIGKILL if process.returncode is None else process.returncode
    return Completed(
        exit_code=code if code >= 0 else None,
        signal=-code if code < 0 else None,
        stdout=run.streams["stdout"].captured(),
        stderr=run.streams["stderr"].captured(),
        duration_s=anyio.current_time() - started,
        timed_out=reason,
        pipe_held=held,
    )


class _Run:
    """A command that is running."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        tree: ProcessTree | ProcessSpace,
        command: Command,
        on_output: OutputSink | None,
    ) -> None:
        self.process = process
        self.tree = tree
        self.command = command
        self.on_output = on_output
        self.streams: dict[Stream, Capture] = {
            "stdout": Capture(command.keep_head, command.keep_tail),
            "stderr": Capture(command.keep_head, command.keep_tail),
        }
        self.failure: Exception | None = None
        self.reason: StopReason | None = None
        self.over = anyio.Event()
        self.open_pipes = 2
        self.drained = anyio.Event()
        self.last_output = anyio.current_time()

    async def to_the_end(self, ready: Ready | None = None) -> tuple[StopReason | None, bool]:
        """Wait for the end, or bring it about; return why it was stopped and if a pipe is held."""
        held = False
        async with anyio.create_task_group() as tasks:
            try:
                tasks.start_soon(self._pump, "stdout", self.process.stdout)
                tasks.start_soon(self._pump, "stderr", self.process.stderr)
                tasks.start_soon(self._feed)
                if ready is not None:
                    tasks.start_soon(self._make_ready, ready)
                tasks.start_soon(self._watch_exit)
                tasks.start_soon(self._watch_time)
                await self.over.wait()
                if not has_ended(self.process):
                    await self._stop()
                with anyio.move_on_after(DRAIN_S):
                    await self.drained.wait()
                held = not self.drained.is_set()
            finally:
                with anyio.CancelScope(shield=True):
                    if not has_ended(self.process):
                        await self._stop()
                    await self.tree.kill()
            tasks.cancel_scope.cancel()
        return self.reason, held

    def close(self) -> None:
        """Give back pipes and the process entry."""
        self.tree.close()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        self.process.poll()

    async def _stop(self) -> None:
        self.tree.signal(signal.SIGTERM)
        self.tree.signal(signal.SIGCONT)  # a stopped process can't act on TERM
        with anyio.move_on_after(self.command.grace_s):
            while not has_ended(self.process):
                await anyio.sleep(_POLL_S)
            return
        with anyio.move_on_after(_DEATH_S):
            while not has_ended(self.process):
                await self.tree.kill()
                await anyio.sleep(_POLL_S)

    async def _make_ready(self, ready: Ready) -> None:
        try:
            go_on = await ready(self.process.pid)
            self.tree.remember()
            go_on()
        except Exception as error:  # the command can't run: it is ended, then it is told
            self.failure = error
            self._finish(None)

    def _finish(self, reason: StopReason | None) -> None:
        if not self.over.is_set():
            self.reason = reason
            self.over.set()

    async def _watch_exit(self) -> None:
        await wait_ended(self.process)
        self._finish(None)

    async def _watch_time(self) -> None:
        deadline = anyio.current_time() + self.command.timeout_s
        while True:
            idle_at = self.last_output + (self.command.idle_s or math.inf)
            now = anyio.current_time()
            if now >= deadline:
                return self._finish("wall")
            if now >= idle_at:
                return self._finish("idle")
            await anyio.sleep(min(deadline, idle_at) - now)

    async def _pump(self, stream: Stream, pipe: Any) -> None:
        try:
            fd = pipe.fileno()
            os.set_blocking(fd, False)
            await self._pump_chunks(stream, fd)
        finally:
            self.open_pipes -= 1
            if not self.open_pipes:
                self.drained.set()

    async def _pump_chunks(self, stream: Stream, fd: int) -> None:
        in_a_row = 0
        while True:
            try:
                chunk = os.read(fd, _CHUNK)
            except BlockingIOError:
                in_a_row = 0
                await anyio.wait_readable(fd)
                continue
            if not chunk:
                return
            await self._take(stream, chunk)
            in_a_row += 1
            if in_a_row >= _CHUNKS_IN_A_ROW:
                in_a_row = 0
                await checkpoint()

    async def _take(self, stream: Stream, chunk: bytes) -> None:
        self.last_output = anyio.current_time()
        self.streams[stream].feed(chunk)
        if sum(capture.total for capture in self.streams.values()) > self.command.max_output:
            self._finish("output")
        if self.on_output is None or self.failure is not None:
            return
        try:
            await self.on_output(stream, chunk)
        except Exception as error:  # whoever listens fails: the command is ended, then it is told
            self.failure = error
            self._finish(None)

    async def _feed(self) -> None:
        pipe = self.process.stdin
        if pipe is None:
            return
        fd = pipe.fileno()
        os.set_blocking(fd, False)
        rest = memoryview(self.command.stdin)
        with suppress(BrokenPipeError, ConnectionResetError):
            while rest:
                try:
                    rest = rest[os.write(fd, rest) :]
                except BlockingIOError:
                    await anyio.wait_writable(fd)
        pipe.close()


def has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Return whether a process has ended, leaving its entry where the system allows that."""
    if process.returncode is not None:
        return True
    if not hasattr(os, "waitid"):
        return process.poll() is not None
    try:
        flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, process.pid, flags) is not None
    except ChildProcessError:
        return process.poll() is not None


async def wait_ended(process: subprocess.Popen[bytes]) -> None:
    """Wait for the end of a process without reaping it."""
    try:
        fd = os.pidfd_open(process.pid)
    except (AttributeError, OSError):
        while not has_ended(process):
            await anyio.sleep(_POLL_S)
        return
    try:
        while not has_ended(process):
            await anyio.wait_readable(fd)
    finally:
        os.close(fd)


def _start(launch: Launch, command: Command, mark: str) -> subprocess.Popen[bytes]:
    argv = list(launch.argv)
    if not argv:
        raise SandboxError("the command is empty", fix="Name a program.")
    env = {**launch.env, MARK_NAME: mark} if mark else dict(launch.env)

    def start() -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            argv,
            cwd=launch.cwd,
            env=env,
            stdin=subprocess.PIPE if command.stdin else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
            pass_fds=tuple(launch.pass_fds),
        )

    try:
        return start() if launch.start is None else launch.start(start)
    except ValueError as error:
        raise SandboxError(
            f"the command can't be started: {error}", fix="Write it without NUL bytes."
        ) from error
    except OSError as error:
        raise _start_error(error, argv[0], launch.cwd) from error


def _start_error(error: OSError, program: str, cwd: str | None) -> SandboxError:
    if cwd is not None and error.filename == cwd:
        return SandboxError(
            f"can't start in {cwd}: {error.strerror}", fix="Name a folder that exists."
        )
    if error.errno == errno.ENOENT:
        return SandboxError(
            f"no program named {program} here", fix=f"Install {program}, or name another program."
        )
    if error.errno == errno.E2BIG:
        return SandboxError(
            "the command is longer than this system allows", fix="Pass the text on standard input."
        )
    return SandboxError(
        f"can't start {program}: {error.strerror}", fix="Name a program that may be run."
    )
