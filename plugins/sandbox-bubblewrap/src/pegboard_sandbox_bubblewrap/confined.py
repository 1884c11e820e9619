"""What both sandboxes share: which commands may run at all, and what is said of their network."""

from __future__ import annotations

import re
from typing import Final

import anyio

from pegboard import Command, Completed, SandboxError, SandboxSpec
from pegboard.sandboxes import (
    CommandPlaces,
    OutputSink,
    Runs,
    SandboxFiles,
    lacks_effect,
)

NETWORK_EFFECTS: Final = frozenset({"net_read", "net_write"})
WRITE_EFFECTS: Final = frozenset({"fs_write", "state_write"})
_NO_NETWORK: Final = re.compile(
    rb"could not resolve|name or service not known|temporary failure in name resolution"
    rb"|network is unreachable|no route to host|connection refused|getaddrinfo|eai_again"
    rb"|name resolution|failed to (?:lookup|connect)|unable to resolve|dial (?:tcp|udp)"
    rb"|address family not supported|proxy",
    re.IGNORECASE,
)


class ConfinedFiles(SandboxFiles):
    """Files below the grants, and the questions that come before a command.

    Args:
        files: The file half.
        spec: What was asked for.
        places: What commands see of the grants; shared by every narrowed view.
        runs: What runs; shared as well.
        owner: Whether closing this view closes what is open.
    """

    def __init__(
        self,
        files: SandboxFiles,
        spec: SandboxSpec,
        *,
        places: CommandPlaces,
        runs: Runs,
        owner: bool = True,
    ) -> None:
        super().__init__(files.table, files.effects, durable=files.durable)
        self.workspace = files.table.grants[0].path
        self.spec = spec
        self.places = places
        self.runs = runs
        self.owner = owner

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
        if "exec" not in self.effects:
            raise lacks_effect("exec", self.effects)
        if not command.argv:
            raise SandboxError("the command is empty", fix="Name a program.")
        if any("\0" in text for text in (*command.argv, *command.env, *command.env.values())):
            raise SandboxError(
                "the command can't be started: it holds a NUL byte", fix="Write it without."
            )
        cwd = await self._folder(command.cwd)
        return await self.runs.run(lambda: self.confined(command, cwd, on_output))

    async def confined(self, command: Command, cwd: str, on_output: OutputSink | None) -> Completed:
        """Run a command in an absolute folder, each sandbox in its own way."""
        raise SandboxError("this sandbox runs no commands", fix="pegboard doctor")

    async def aclose(self) -> None:
        """End what still runs and close the grants."""
        if self.owner:
            await self.runs.end()
            self.table.close()

    async def _folder(self, path: str) -> str:
        if not path:
            return str(self.workspace)
        place = self.resolve(path)
        if not await anyio.Path(place).is_dir():
            raise SandboxError(
                f"the folder {path} does not exist", fix="Name a folder that exists.", path=path
            )
        return place


def seems_offline(done: Completed) -> bool:
    """Return whether a command has failed, and speaks of a network that it did not reach."""
    if done.exit_code == 0:
        return False
    streams = (done.stderr.head, done.stderr.tail, done.stdout.tail, done.stdout.head)
    return any(_NO_NETWORK.search(stream) is not None for stream in streams)
