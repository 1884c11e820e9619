"""The backend and the opened sandbox of Landlock, for machines that refuse user namespaces."""

from __future__ import annotations

import os
import platform
from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import Final

from anyio import to_thread

from pegboard import Command, Completed, SandboxError, SandboxInfo, SandboxReport, SandboxSpec
from pegboard.sandboxes import (
    CommandPlaces,
    ConfinedFiles,
    Launch,
    LiveProcess,
    OutputSink,
    Places,
    Runs,
    SandboxFiles,
    ScratchFolder,
    abilities,
    open_confined,
    run_process,
)
from pegboard_sandbox_bubblewrap.config import LandlockSettings
from pegboard_sandbox_bubblewrap.environment import inner_environment
from pegboard_sandbox_bubblewrap.host_system import HostSystem, look_at_host
from pegboard_sandbox_bubblewrap.landlock_rules import Ruleset, version
from pegboard_sandbox_bubblewrap.landlock_thread import in_restricted_thread, why_not
from pegboard_sandbox_bubblewrap.limits import Limits, limited, limits_of, start_failure
from pegboard_sandbox_bubblewrap.offline import seems_offline
from pegboard_sandbox_bubblewrap.report import OFFLINE, landlock_report
from pegboard_sandbox_bubblewrap.syscall_filter import filter_program

INFO: Final = SandboxInfo(
    id="landlock",
    confines_commands=True,
    preference=20,
    abilities=abilities(),
    files_here=True,
)
PREFIX: Final = "pegboard-commands-"
"""Of the folder for temporary files."""
_DEVICES: Final = ("null", "zero", "full", "random", "urandom")


class LandlockBackend:
    """Opens sandboxes whose commands give up rights before they start.

    Args:
        settings: What the operator decides.
    """

    info = INFO

    def __init__(self, settings: LandlockSettings | None = None) -> None:
        self.settings = settings or LandlockSettings()

    async def probe(self) -> str | None:
        """Return None when rights could be given up here, else why not and what to do."""
        return await to_thread.run_sync(why_not)

    async def open(self, spec: SandboxSpec) -> LandlockSandbox:
        """Open the workspace and the grants.

        Raises:
            SandboxError: When Landlock does not work here, or a folder may not be granted.
        """
        unfit = await self.probe()
        if unfit:
            raise SandboxError(
                f"the sandbox landlock does not work here: {unfit}", fix="pegboard doctor"
            )
        files, places = await open_confined(spec, durable=self.settings.durable_writes)
        try:
            folder = await to_thread.run_sync(ScratchFolder, PREFIX)
        except BaseException:
            files.table.close()
            raise
        machine = LandlockMachine(self.settings, folder)
        return LandlockSandbox(files, spec, machine=machine, places=places, runs=Runs())


class LandlockMachine:
    """What every command of one sandbox has in common.

    Args:
        settings: What the operator decides.
        folder: For temporary files.
    """

    def __init__(self, settings: LandlockSettings, folder: ScratchFolder) -> None:
        self.settings = settings
        self.folder = folder
        self.tmp = str(folder.path)
        self.abi = version()
        self.system: HostSystem = look_at_host()
        self.limits: Limits = limits_of(settings, own_users=False)

    @property
    def readable(self) -> tuple[str, ...]:
        """What commands may read beside the grants."""
        comforts = self.system.comforts if self.settings.mode == "standard" else ()
        return (*self.system.folders, *comforts, "/proc")


class LandlockSandbox(ConfinedFiles):
    """Files below the grants of this machine; commands that have given up rights.

    Args:
        files: The file half.
        spec: What was asked for.
        machine: What commands have in common; shared by every narrowed view, like `places` and
            `runs`.
        places: What commands see of the grants.
        runs: What runs.
    """

    info = INFO

    def __init__(
        self,
        files: SandboxFiles,
        spec: SandboxSpec,
        *,
        machine: LandlockMachine,
        places: CommandPlaces,
        runs: Runs,
    ) -> None:
        super().__init__(files, spec, places=places, runs=runs)
        self._machine = machine

    async def confined(
        self, command: Command, cwd: str, on_output: OutputSink | None, live: LiveProcess | None
    ) -> Completed:
        """Run a command that has given up its rights."""
        places = self.places.begin(writable=self.may_write)
        try:
            _require_open(places)
            rules = self._rules(places)
            try:
                done = await run_process(
                    self._launch(places, command, cwd, rules),
                    command,
                    on_output=on_output,
                    live=live,
                )
            finally:
                rules.close()
        finally:
            held = self.places.end()
        failure = start_failure(done, command.argv[0])
        if failure is not None:
            raise failure
        hints = (OFFLINE,) if seems_offline(done) else ()
        return replace(done, notes=(*done.notes, *hints, *held))

    def explain(self) -> SandboxReport:
        """Return what this sandbox enforces."""
        return landlock_report(
            self._machine.settings, self._machine.abi, self.table.grants, self.table.notes
        )

    async def aclose(self) -> None:
        """End what still runs, close the grants and remove temporary files."""
        await super().aclose()
        if self.owner:
            await to_thread.run_sync(self._machine.folder.close)

    def _launch(self, places: Places, command: Command, cwd: str, rules: Ruleset) -> Launch:
        tmp = self._machine.tmp
        granted = (str(grant.path) for grant in places.grants)
        environment = inner_environment(
            self.spec.env,
            command.env,
            visible=(*self._machine.system.visible, *granted),
            home=tmp,
            tmp=tmp,
        )
        return Launch(
            argv=limited(command.argv, self._machine.limits),
            cwd=cwd,
            env=environment,
            start=lambda start: in_restricted_thread(
                start, rules.descriptor, no_sockets(), self._machine.limits
            ),
        )

    def _rules(self, places: Places) -> Ruleset:
        rules = Ruleset(self._machine.abi)
        try:
            for path in self._machine.readable:
                rules.allow_read(path)
            for name in _DEVICES:
                with suppress(FileNotFoundError):
                    rules.allow_write(f"/dev/{name}")
            rules.allow_write(self._machine.tmp)
            for grant in places.grants:
                allow = rules.allow_write if grant.mode == "rw" else rules.allow_read
                allow(str(grant.path))
        except BaseException:
            rules.close()
            raise
        return rules


@cache
def no_sockets() -> bytes:
    """Return the filter of system calls: no network, and no socket that another program listens on.

    A namespace would close the network and leave sockets to programs; there is none here.
    """
    return filter_program(platform.machine(), families=())


def _require_open(places: Places) -> None:
    """Refuse commands where rules, which only ever add, can't keep to what was granted.

    Raises:
        SandboxError: When a grant holds what is to be hidden, or only to be read.
    """
    hidden = (place.path for place in places.closed if place.why in ("own", "secret"))
    fixed = (str(grant.path) for grant in places.grants if grant.mode == "ro")
    writable = [grant for grant in places.grants if grant.mode == "rw"]
    for path, holders, verb in (
        *((path, places.grants, "hide") for path in hidden),
        *((path, writable, "keep commands from changing") for path in fixed),
    ):
        holder = next((one for one in holders if path.startswith(f"{one.path}{os.sep}")), None)
        if holder is not None:
            raise SandboxError(
                f"commands are refused: the sandbox landlock can't {verb} {path}, which is inside "
                f"{holder.path}",
                fix="Work in a folder that does not hold it, or install bubblewrap.",
            )
