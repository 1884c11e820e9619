"""The backend and the opened sandbox of another machine."""

from __future__ import annotations

import secrets
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from pegboard import Command, Completed, SandboxError, SandboxInfo, SandboxReport, SandboxSpec
from pegboard.sandboxes import (
    FIXED,
    Effects,
    GrantTable,
    OutputSink,
    Parts,
    Runs,
    check_command,
    command_environment,
    lacks_effect,
    split,
)
from pegboard_sandbox_ssh.config import SshSettings
from pegboard_sandbox_ssh.connection import Connection, RemoteProcess, connect
from pegboard_sandbox_ssh.remote_command import LIFELINE, Place, run_remote
from pegboard_sandbox_ssh.remote_files import RemoteFiles

INFO: Final = SandboxInfo(id="ssh", confines_commands=False, preference=95)
_NOT_SET: Final = "no machine is named: pegboard config set sandboxes.ssh.host HOST"


class SshBackend:
    """Opens sandboxes on another machine.

    Args:
        settings: What the operator decides.
    """

    info = INFO

    def __init__(self, settings: SshSettings | None = None) -> None:
        self.settings = settings or SshSettings()

    async def probe(self) -> str | None:
        """Return None when the machine lets us in, else why not and what to do."""
        if not self.settings.host:
            return _NOT_SET
        try:
            connection = await connect(self.settings)
        except SandboxError as error:
            return f"{error.message}: {error.fix}"
        await connection.aclose()
        return None

    async def open(self, spec: SandboxSpec) -> SshSandbox:
        """Connect, and find the workspace and the grants there.

        Raises:
            SandboxError: When the machine does not let us in, or a folder may not be granted.
        """
        if not self.settings.host:
            raise SandboxError(f"the sandbox ssh does not work: {_NOT_SET}", fix="pegboard doctor")
        connection = await connect(self.settings)
        try:
            table = await _table(connection, self.settings, spec)
            session = secrets.token_hex(6)
            words = ["sh", "-c", LIFELINE, "sh", session]
            lifeline = await connection.start(shlex.join(words))
        except BaseException:
            await connection.aclose()
            raise
        return SshSandbox(
            RemoteFiles(connection, table, spec.effects),
            spec,
            session=session,
            lifeline=lifeline,
            runs=Runs(),
        )


class SshSandbox(RemoteFiles):
    """Files below the grants of another machine; commands with all the rights of its user.

    Args:
        files: The file half.
        spec: What was asked for.
        session: Beginning of the marks of its commands.
        lifeline: Ends the commands when the connection ends.
        runs: What runs; shared by every narrowed view.
        owner: Whether closing this view closes the connection.
    """

    info = INFO

    def __init__(
        self,
        files: RemoteFiles,
        spec: SandboxSpec,
        *,
        session: str,
        lifeline: RemoteProcess,
        runs: Runs,
        owner: bool = True,
    ) -> None:
        super().__init__(files.connection, files.table, files.effects)
        self.workspace = files.table.grants[0].path
        self._spec = spec
        self._session = session
        self._lifeline = lifeline
        self._runs = runs
        self._owner = owner

    async def run(self, command: Command, *, on_output: OutputSink | None = None) -> Completed:
        """Run a command to its end on the other machine.

        Raises:
            SandboxError: When it may not run, can't be started, or the connection is lost.
        """
        if command.lacks_exec(self.effects):
            raise lacks_effect("exec", self.effects)
        if "fs_write" not in self.effects:
            raise SandboxError(
                'commands are refused here: the sandbox "ssh" can\'t keep them from writing, '
                "which this run may not",
                fix="Use the tools for files; for one that confines commands: "
                "pegboard config set sandbox.use auto",
            )
        check_command(command)
        place = Place(await self._folder(command.cwd), self._environment(command), self._session)
        return await self._runs.run(lambda: run_remote(self.connection, command, place, on_output))

    def narrowed(self, effects: Effects) -> SshSandbox:
        """Return the same sandbox with fewer effects; the two share the connection."""
        return SshSandbox(
            RemoteFiles(self.connection, self.table, self.effects & effects),
            self._spec,
            session=self._session,
            lifeline=self._lifeline,
            runs=self._runs,
            owner=False,
        )

    def explain(self) -> SandboxReport:
        """Return what this sandbox enforces."""
        return SandboxReport(
            sandbox=INFO.id,
            enforced={
                "fs_read": "partial",
                "fs_write": "partial",
                "net": "no",
                "signals": "no",
                "pids": "no",
                "tree_kill": "partial",
            },
            grants=self.table.grants,
            notes=(
                f"Files and commands are those of {self.connection.title}; nothing runs here.",
                "Commands have all the rights of that user there: they read and write what it can, "
                "and reach its network. Only file tools stay below the grants.",
                "A process that wipes its environment outlives its command.",
            ),
        )

    async def aclose(self) -> None:
        """End what still runs, and the connection."""
        if self._owner:
            await self._runs.end()
            self._lifeline.close()
            await self.connection.aclose()

    async def _folder(self, path: str) -> str:
        if not path:
            return str(self.workspace)
        found = await self.stat(path)
        if found is None or found.kind != "dir":
            raise SandboxError(
                f"the folder {path} does not exist", fix="Name a folder that exists.", path=path
            )
        return self.resolve(path)

    def _environment(self, command: Command) -> Mapping[str, str]:
        """Return what is set there beside what a login sets."""
        allowed = command_environment(self._spec.env)
        named = {name: allowed[name] for name in self._spec.env if name in allowed}
        return {**FIXED, **named, **command.env}


async def _table(connection: Connection, settings: SshSettings, spec: SandboxSpec) -> GrantTable:
    home = await _resolved(connection, ".")
    same = not settings.workspace
    workspace = str(spec.workspace) if same else settings.workspace
    root = await _resolved(connection, workspace)
    if root is None or not await connection.sftp.isdir(workspace):
        raise SandboxError(
            f"the workspace {workspace} is no folder of {connection.title}",
            fix="pegboard config set sandboxes.ssh.workspace FOLDER",
        )
    wanted = [(grant.path, grant.mode) for grant in settings.grants]
    if same:
        wanted += [(str(grant.path), grant.mode) for grant in spec.grants]
    places: list[tuple[Parts, str]] = [(root, "rw")]
    for path, mode in wanted:
        found = await _resolved(connection, path)
        if found is not None:
            places.append((found, mode))
    protected = [split(str(place)) for place in spec.protected] if same else []
    return GrantTable.elsewhere(places, home=home or (), protected=protected)  # type: ignore[arg-type]


async def _resolved(connection: Connection, path: str) -> Parts | None:
    """Return a place with its links resolved, or None when there is nothing."""
    if not await connection.sftp.exists(path):
        return None
    return split(str(await connection.sftp.realpath(str(Path(path)))))
