"""The base of sandboxes that confine commands to the grants of this machine."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from copy import copy
from pathlib import Path
from typing import Final, Self

from anyio import to_thread

from pegboard.contracts.effects import Effects
from pegboard.contracts.process import Process, TerminalSize
from pegboard.contracts.sandbox import Command, Completed, OutputSink, SandboxSpec
from pegboard.sandboxes.command_places import CommandPlaces
from pegboard.sandboxes.explain import lacks_effect
from pegboard.sandboxes.files import SandboxFiles
from pegboard.sandboxes.grants import GrantTable
from pegboard.sandboxes.launch import check_command
from pegboard.sandboxes.live_process import LiveProcess, start_live
from pegboard.sandboxes.runs import Runs

NETWORK_EFFECTS: Final = frozenset({"net_read", "net_write"})
WRITE_EFFECTS: Final = frozenset({"fs_write", "state_write"})


async def open_confined(
    spec: SandboxSpec, *, durable: bool, everywhere: bool = False, more: Iterable[Path] = ()
) -> tuple[SandboxFiles, CommandPlaces]:
    """Open the workspace and the grants, for files and for commands.

    Args:
        spec: What a run asks for.
        durable: Whether a write waits until it is on the disk.
        everywhere: Whether commands see more than the grants.
        more: Further secrets to hide from them.

    Raises:
        SandboxError: When a folder may not be granted.
    """
    table = GrantTable.open(spec)
    try:
        places = CommandPlaces(table, everywhere=everywhere, more=more)
        await to_thread.run_sync(places.look)
    except BaseException:
        table.close()
        raise
    return SandboxFiles(table, spec.effects, durable=durable), places


class ConfinedFiles(SandboxFiles, ABC):
    """Files below the grants, and the questions that come before a command.

    Args:
        files: The file half.
        spec: What was asked for.
        places: What commands see of the grants; shared by every narrowed view.
        runs: What runs; shared as well.
    """

    def __init__(
        self,
        files: SandboxFiles,
        spec: SandboxSpec,
        *,
        places: CommandPlaces,
        runs: Runs,
    ) -> None:
        super().__init__(files.table, files.effects, durable=files.durable)
        self.workspace = files.table.grants[0].path
        self.spec = spec
        self.places = places
        self.runs = runs
        self.owner = True
        """Whether closing this view closes what is open; narrowed ones only borrow it."""

    def narrowed(self, effects: Effects) -> Self:
        """Return the same sandbox with fewer effects; the two share what is open."""
        made = copy(self)
        made.effects = self.effects & effects
        made.owner = False
        return made

    @property
    def may_write(self) -> bool:
        """Whether commands may change what is granted `rw`."""
        return bool(self.effects & WRITE_EFFECTS)

    @property
    def may_reach_network(self) -> bool:
        """Whether commands need a network."""
        return bool(self.effects & NETWORK_EFFECTS)

    async def run(self, command: Command, *, on_output: OutputSink | None = None) -> Completed:
        """Run a command to its end, confined.

        Raises:
            SandboxError: When it may not run, can't be confined, or can't be started.
        """
        return await self._run(command, on_output)

    async def start(self, command: Command, *, terminal: TerminalSize | None = None) -> Process:
        """Start a command and return at once, confined as `run` confines it.

        Raises:
            SandboxError: When it may not run, can't be confined, or can't be started.
        """
        return await start_live(self.runs, command, terminal, self._run)

    async def _run(
        self, command: Command, on_output: OutputSink | None, live: LiveProcess | None = None
    ) -> Completed:
        if command.lacks_exec(self.effects):
            raise lacks_effect("exec", self.effects)
        check_command(command)
        cwd = await self.folder(command.cwd)
        return await self.runs.run(lambda: self.confined(command, cwd, on_output, live))

    @abstractmethod
    async def confined(
        self, command: Command, cwd: str, on_output: OutputSink | None, live: LiveProcess | None
    ) -> Completed:
        """Run a command in an absolute folder, each sandbox in its own way."""

    async def aclose(self) -> None:
        """End what still runs and close the grants."""
        if self.owner:
            await self.runs.end()
            self.table.close()
