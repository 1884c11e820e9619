"""Run one command: bounded in time, output and what it leaves behind.

The end of a command is the end of its process, never the end of its output: something it started
may hold the pipe for ever. The process is not reaped until its whole tree is dead, so that its
number can't belong to anybody else when signals are sent.
"""

from __future__ import annotations

import errno
import os
import secrets
import signal
import subprocess
from contextlib import suppress
from typing import Final

import anyio
from anyio.lowlevel import checkpoint

from pegboard.contracts.sandbox import Command, Completed, OutputSink
from pegboard.sandboxes.bounds import STREAMS, Bounds, Stream
from pegboard.sandboxes.keeper import KEEPER
from pegboard.sandboxes.launch import Launch, Ready, Started, start_program
from pegboard.sandboxes.live_process import LiveProcess
from pegboard.sandboxes.process_space import ProcessSpace
from pegboard.sandboxes.process_tree import CommandTree, ProcessTree

DRAIN_S: Final = 0.25
_CHUNK: Final = 65_536
_CHUNKS_IN_A_ROW: Final = 8  # then others get their turn
_POLL_S: Final = 0.01
_DEATH_S: Final = 5.0


async def run_process(
    launch: Launch,
    command: Command,
    *,
    on_output: OutputSink | None = None,
    live: LiveProcess | None = None,
) -> Completed:
    """Run a command to its end, and end all that it started.

    Works in any event loop. The process is started from the loop's own thread, which lives as long
    as the call: a sandbox that dies with the thread that started it stays alive.

    Args:
        launch: How to start it.
        command: Its input and limits.
        on_output: Gets the output as it comes; a slow one slows the command down.
        live: What is done to it meanwhile, and its terminal; None = nothing, and none.

    Raises:
        SandboxError: When the program can't be started.
        Exception: What `on_output` or `launch.ready` raises, when the command has been ended.
    """
    strays = launch.find_strays and not launch.own_processes
    mark = secrets.token_hex(8) if strays else ""
    started = anyio.current_time()
    if mark:
        KEEPER.hold(mark)  # before the start: the host may be killed right behind it
    try:
        program = start_program(launch, command, mark, live)
    except BaseException:
        if mark:
            KEEPER.drop(mark)
        raise
    process = program.process
    tree = _tree(launch, process.pid, mark)
    bounds = Bounds(command, on_output)
    run = _Run(program, tree, command, bounds, live)
    try:
        held = await run.to_the_end(launch.ready)
    finally:
        if mark:
            KEEPER.drop(mark)
        run.close()
    if bounds.failure is not None:
        raise bounds.failure
    # a process that the kernel won't let go of counts as killed
    code = -signal.SIGKILL if process.returncode is None else process.returncode
    return Completed(
        exit_code=code if code >= 0 else None,
        signal=-code if code < 0 else None,
        stdout=bounds.streams["stdout"].captured(),
        stderr=bounds.streams["stderr"].captured(),
        duration_s=anyio.current_time() - started,
        timed_out=bounds.reason,
        pipe_held=held,
    )


class _Run:
    """A command that is running."""

    def __init__(
        self,
        program: Started,
        tree: CommandTree,
        command: Command,
        bounds: Bounds,
        live: LiveProcess | None,
    ) -> None:
        self.program = program
        self.process = program.process
        self.tree = tree
        self.command = command
        self.bounds = bounds
        self.live = live
        self.open_pipes = len(program.outputs)
        self.drained = anyio.Event()

    async def to_the_end(self, ready: Ready | None = None) -> bool:
        """Wait for the end, or bring it about; return whether a pipe is held."""
        held = False
        async with anyio.create_task_group() as tasks:
            try:
                for stream, fd in zip(STREAMS, self.program.outputs, strict=False):
                    tasks.start_soon(self._pump, stream, fd)
                tasks.start_soon(self._feed)
                if self.live is not None:
                    self.live.begin(self.tree, self.program.input)
                    tasks.start_soon(self._watch_stop, self.live)
                if ready is not None:
                    tasks.start_soon(self._make_ready, ready)
                tasks.start_soon(self._watch_exit)
                tasks.start_soon(self.bounds.watch_time)
                await self.bounds.over.wait()
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
        return held

    def close(self) -> None:
        """Give back pipes and the process entry."""
        self.tree.close()
        self.program.close()
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
            self.bounds.fail(error)

    async def _watch_exit(self) -> None:
        await wait_ended(self.process)
        self.bounds.finish()

    async def _watch_stop(self, live: LiveProcess) -> None:
        await live.stopping.wait()
        self.bounds.finish()

    async def _pump(self, stream: Stream, fd: int) -> None:
        try:
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
            except OSError as error:
                if error.errno != errno.EIO:  # so a terminal says that nobody has it open
                    raise
                return
            if not chunk:
                return
            await self.bounds.take(stream, chunk)
            in_a_row += 1
            if in_a_row >= _CHUNKS_IN_A_ROW:
                in_a_row = 0
                await checkpoint()

    async def _feed(self) -> None:
        fd = self.program.input
        if fd is None:
            return
        os.set_blocking(fd, False)
        rest = memoryview(self.command.stdin)
        with suppress(BrokenPipeError, ConnectionResetError):
            while rest:
                try:
                    rest = rest[os.write(fd, rest) :]
                except BlockingIOError:
                    await anyio.wait_writable(fd)
        self.program.close_input()


def _tree(launch: Launch, pid: int, mark: str) -> CommandTree:
    if launch.tree is not None:
        return launch.tree(pid)
    return ProcessSpace(pid) if launch.own_processes else ProcessTree(pid, mark)


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
