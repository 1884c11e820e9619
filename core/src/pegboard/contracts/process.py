"""A command that goes on while its caller does something else: in the background or a terminal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol, runtime_checkable

from pegboard.contracts.errors import SandboxError
from pegboard.contracts.sandbox import Ability, Command, Completed, Sandbox

DEFAULT_READ: Final = 65_536
LARGEST_SIDE: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class TerminalSize:
    """How large a terminal is, in characters.

    Args:
        rows: Lines, 1 to 1000.
        columns: Characters of a line, 1 to 1000.
    """

    rows: int = 24
    columns: int = 80

    def __post_init__(self) -> None:
        for side in (self.rows, self.columns):
            if not 1 <= side <= LARGEST_SIDE:
                raise ValueError(f"a terminal has 1 to {LARGEST_SIDE} rows and columns, not {side}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """A piece of what a process has written; both of its streams, in the order they came.

    Args:
        data: The bytes.
        start: Offset of the first of them in all that was written.
        total: Bytes written so far.
        lost: Bytes between the offset that was asked for and `start`, which are no longer kept.
    """

    data: bytes = b""
    start: int = 0
    total: int = 0
    lost: int = 0

    @property
    def end(self) -> int:
        """Offset to read on from."""
        return self.start + len(self.data)


class Process(Protocol):
    """A command that was started. It ends with its sandbox, and with the host however that ends.

    Args:
        id: Names it within its sandbox.
        command: What was started.
        terminal: Size of its terminal, or None when it has none.
    """

    id: str
    command: Command
    terminal: TerminalSize | None

    @property
    def ended(self) -> Completed | None:
        """How it ended, or None while it runs.

        Raises:
            SandboxError: When it could not go on; the message says why.
        """
        ...

    async def output(self, offset: int = 0, *, limit: int = DEFAULT_READ) -> Output:
        """Return what it has written.

        The start and the end of a long output are kept, and what was dropped is counted.

        Args:
            offset: Where to begin; below 0 = that many bytes before the end.
            limit: Bytes at most.
        """
        ...

    async def write(self, data: bytes, *, within_s: float = 5.0) -> int:
        """Write to its standard input, or type into its terminal.

        Returns:
            Bytes that it took within the time: fewer than given when it does not read.

        Raises:
            SandboxError: When it has ended, or its standard input is closed.
        """
        ...

    async def close_input(self) -> None:
        """Close its standard input; a terminal has none to close: type Ctrl-D."""
        ...

    async def signal(self, number: int) -> bool:
        """Send a signal to it and all that it started; False when it has ended already."""
        ...

    async def resize(self, size: TerminalSize) -> None:
        """Change the size of its terminal.

        Raises:
            SandboxError: When it has none.
        """
        ...

    async def wait(self, timeout_s: float | None = None) -> Completed | None:
        """Wait for its end; None when it still runs after that many seconds.

        Raises:
            SandboxError: When it could not go on; the message says why.
        """
        ...

    async def stop(self) -> Completed | None:
        """End it and all that it started: TERM, after the grace of its command KILL."""
        ...


@runtime_checkable
class StartsProcesses(Protocol):
    """The part of a sandbox whose `info.abilities` holds `background` or `terminal`."""

    async def start(self, command: Command, *, terminal: TerminalSize | None = None) -> Process:
        """Start a command and return at once.

        Args:
            command: What to run. `stdin` is fed first, then what is written to the process;
                `timeout_s` and `max_output` hold here too.
            terminal: Size of the terminal that it gets, or None for pipes.

        Raises:
            SandboxError: As for `Sandbox.run`.
        """
        ...


_DOES: Final[dict[Ability, str]] = {
    "background": "keep a command running in the background",
    "terminal": "give a command a terminal",
}


async def start_process(
    sandbox: Sandbox, command: Command, *, terminal: TerminalSize | None = None
) -> Process:
    """Start a command in a sandbox that is able to, and return at once.

    Args:
        sandbox: Where.
        command: What to run.
        terminal: Size of the terminal that it gets, or None for pipes.

    Raises:
        SandboxError: When the sandbox is not able to, or as for `Sandbox.run`.
    """
    ability: Ability = "background" if terminal is None else "terminal"
    if ability not in sandbox.info.abilities or not isinstance(sandbox, StartsProcesses):
        raise SandboxError(
            f"the sandbox {sandbox.info.id} can't {_DOES[ability]}",
            fix="Run a command that ends by itself.",
        )
    return await sandbox.start(command, terminal=terminal)
