"""How a command is started: with its pipes, or in a terminal."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from pegboard.contracts.errors import SandboxError
from pegboard.contracts.sandbox import Command
from pegboard.sandboxes.live_process import LiveProcess, open_terminal
from pegboard.sandboxes.process_tree import MARK_NAME, CommandTree

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
        tree: Makes of its process id what ends and signals all of the command, where that does not
            run below the program; None = it does.
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
    tree: Callable[[int], CommandTree] | None = None
    start: Callable[[Start], subprocess.Popen[bytes]] | None = None
    ready: Ready | None = None


class Started:
    """A program that runs, and our ends of what it reads and writes.

    Args:
        process: The program.
        terminal: Our end of its terminal, or None.
    """

    def __init__(self, process: subprocess.Popen[bytes], terminal: int | None = None) -> None:
        self.process = process
        self._terminal = terminal

    @property
    def outputs(self) -> list[int]:
        """Descriptors to read from: of both streams, or of the terminal."""
        if self._terminal is not None:
            return [self._terminal]
        pipes = (self.process.stdout, self.process.stderr)
        return [pipe.fileno() for pipe in pipes if pipe is not None]

    @property
    def input(self) -> int | None:
        """Descriptor to write to, or None."""
        if self._terminal is not None:
            return self._terminal
        pipe = self.process.stdin
        return None if pipe is None or pipe.closed else pipe.fileno()

    def close_input(self) -> None:
        """Say that no more comes, where nobody else may write."""
        if self.process.stdin is not None:
            self.process.stdin.close()

    def close(self) -> None:
        """Close all that is ours."""
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        if self._terminal is not None:
            os.close(self._terminal)
            self._terminal = None


def check_command(command: Command) -> None:
    """Refuse what no system can start.

    Raises:
        SandboxError: When it is empty, holds what is no text of this system, or sets a variable
            whose name is none.
    """
    if not command.argv:
        raise SandboxError("the command is empty", fix="Name a program.")
    for text in (*command.argv, *command.env, *command.env.values()):
        if "\0" in text:
            raise SandboxError("the command holds a NUL byte", fix="Write it without.")
        try:
            os.fsencode(text)
        except UnicodeEncodeError:
            raise SandboxError(
                "the command is not valid text", fix="Write it without lone surrogates."
            ) from None
    wrong = next((name for name in command.env if not name or "=" in name or name[0] == "-"), None)
    if wrong is not None:
        raise SandboxError(
            f"{wrong!r} is no name of a variable", fix="Name it with letters, digits and _."
        )


def start_program(
    launch: Launch, command: Command, mark: str, live: LiveProcess | None = None
) -> Started:
    """Start a command.

    Args:
        launch: How.
        command: Its input.
        mark: Value of the variable by which its children are found, or "".
        live: What writes to it later, and its terminal; or None.

    Raises:
        SandboxError: When it can't be started.
    """
    check_command(command)
    argv = list(launch.argv)
    env = {**launch.env, MARK_NAME: mark} if mark else dict(launch.env)
    if live is not None and live.terminal is not None:
        ours, theirs = open_terminal(live.terminal)
        try:
            # a leader of a session could not take another terminal: `setsid` makes it one inside
            process = _popen(
                launch, argv, env, (theirs, theirs, theirs), new_session=launch.own_processes
            )
        except BaseException:
            os.close(ours)
            raise
        finally:
            os.close(theirs)
        return Started(process, ours)
    feeds = command.stdin or live is not None
    stdin = subprocess.PIPE if feeds else subprocess.DEVNULL
    return Started(_popen(launch, argv, env, (stdin, subprocess.PIPE, subprocess.PIPE)))


def _popen(
    launch: Launch,
    argv: list[str],
    env: dict[str, str],
    streams: tuple[int, int, int],
    *,
    new_session: bool = True,
) -> subprocess.Popen[bytes]:
    def start() -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            argv,
            cwd=launch.cwd,
            env=env,
            stdin=streams[0],
            stdout=streams[1],
            stderr=streams[2],
            bufsize=0,
            start_new_session=new_session,
            pass_fds=tuple(launch.pass_fds),
        )

    try:
        return start() if launch.start is None else launch.start(start)
    except ValueError as error:
        raise SandboxError(
            f"the command can't be started: {error}", fix="Write it in plain text."
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
