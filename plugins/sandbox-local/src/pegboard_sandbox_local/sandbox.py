"""The backend and the opened sandbox of this machine."""

from __future__ import annotations

import os
from typing import Final

from pegboard import (
    Command,
    Completed,
    Process,
    SandboxError,
    SandboxInfo,
    SandboxReport,
    SandboxSpec,
    TerminalSize,
)
from pegboard.sandboxes import (
    Effects,
    Enforcement,
    GrantTable,
    Launch,
    LiveProcess,
    OutputSink,
    Runs,
    SandboxFiles,
    abilities,
    command_environment,
    lacks_effect,
    run_process,
    start_live,
)

INFO: Final = SandboxInfo(
    id="local",
    confines_commands=False,
    preference=90,
    abilities=abilities(),
    files_here=True,
)
ALLOW: Final = "pegboard config set sandboxes.local.allow_unconfined_shell true"

_REFUSED = (
    "Commands are refused: this sandbox can't confine them. To let them run with all the rights of "
    f"your user: {ALLOW}"
)
_UNCONFINED = (
    "Commands run UNCONFINED, with all the rights of your user: they read and write what you can, "
    "and reach the network. Only file tools stay below the grants."
)


class LocalBackend:
    """Opens sandboxes on this machine.

    Args:
        allow_unconfined_shell: The operator's word that commands may run without confinement.
        durable: Whether a write waits until it is on the disk.
    """

    info = INFO

    def __init__(self, *, allow_unconfined_shell: bool = False, durable: bool = True) -> None:
        self.allow_unconfined_shell = allow_unconfined_shell
        self.durable = durable

    async def probe(self) -> str | None:
        """Return None on a system whose paths can be held open, else why not."""
        if os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW"):
            return None
        return "this system can't open files below a folder safely; it works on Linux and macOS"

    async def open(self, spec: SandboxSpec) -> LocalSandbox:
        """Open the workspace and the grants.

        Raises:
            SandboxError: When the system is unfit, or a folder may not be granted.
        """
        unfit = await self.probe()
        if unfit:
            raise SandboxError(
                f"the local sandbox does not work here: {unfit}",
                fix="Run Pegboard on Linux, macOS or WSL.",
            )
        table = GrantTable.open(spec)
        files = SandboxFiles(table, spec.effects, durable=self.durable)
        return LocalSandbox(files, spec, shell=self.allow_unconfined_shell, runs=Runs())


class LocalSandbox(SandboxFiles):
    """Files below the grants of this machine; commands only with the operator's word.

    Args:
        files: The file half.
        spec: What was asked for.
        shell: Whether commands may run.
        runs: Shared by every narrowed view.
        owner: Whether closing this view closes what is open; narrowed views only borrow it.
    """

    info = INFO

    def __init__(
        self,
        files: SandboxFiles,
        spec: SandboxSpec,
        *,
        shell: bool,
        runs: Runs,
        owner: bool = True,
    ) -> None:
        super().__init__(files.table, files.effects, durable=files.durable)
        self.workspace = files.table.grants[0].path
        self._spec = spec
        self._shell = shell
        self._runs = runs
        self._owner = owner

    async def run(self, command: Command, *, on_output: OutputSink | None = None) -> Completed:
        """Run a command to its end, unconfined, if the operator allowed that.

        Raises:
            SandboxError: When it is not allowed, or can't be started.
        """
        return await self._run(command, on_output)

    async def start(self, command: Command, *, terminal: TerminalSize | None = None) -> Process:
        """Start a command and return at once, as `run` would run it.

        Raises:
            SandboxError: When it is not allowed, or can't be started.
        """
        return await start_live(self._runs, command, terminal, self._run)

    async def _run(
        self, command: Command, on_output: OutputSink | None, live: LiveProcess | None = None
    ) -> Completed:
        if command.lacks_exec(self.effects):
            raise lacks_effect("exec", self.effects)
        if not self._shell:
            raise SandboxError(
                'commands are refused: the sandbox "local" can\'t confine them',
                fix=f"To let them run with all the rights of your user: {ALLOW}",
            )
        if "fs_write" not in self.effects and not command.vetted:
            raise SandboxError(
                'commands are refused here: the sandbox "local" can\'t keep them from writing, '
                "which this run may not",
                fix="Use the tools for files; for one that confines commands: "
                "pegboard config set sandbox.use auto",
            )
        launch = Launch(
            argv=tuple(command.argv),
            cwd=await self.folder(command.cwd),
            env=command_environment(self._spec.env, extra=command.env),
        )
        return await self._runs.run(
            lambda: run_process(launch, command, on_output=on_output, live=live)
        )

    def narrowed(self, effects: Effects) -> LocalSandbox:
        """Return the same sandbox with fewer effects; the two share what is open."""
        return LocalSandbox(
            super().narrowed(effects),
            self._spec,
            shell=self._shell,
            runs=self._runs,
            owner=False,
        )

    def explain(self) -> SandboxReport:
        """Return what this sandbox enforces."""
        files: Enforcement = "partial" if self._shell else "yes"
        commands: Enforcement = "no" if self._shell else "yes"
        return SandboxReport(
            sandbox=INFO.id,
            enforced={
                "fs_read": files,
                "fs_write": files,
                "net": commands,
                "signals": commands,
                "pids": commands,
                "tree_kill": "partial" if self._shell else "yes",
            },
            grants=self.table.grants,
            notes=(_UNCONFINED if self._shell else _REFUSED, *self.table.notes),
        )

    async def aclose(self) -> None:
        """End what still runs and close the grants."""
        if self._owner:
            await self._runs.end()
            self.table.close()
