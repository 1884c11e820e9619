"""The backend and the opened sandbox of bubblewrap."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio

from pegboard import (
    Command,
    Completed,
    SandboxError,
    SandboxInfo,
    SandboxReport,
    SandboxSpec,
)
from pegboard.sandboxes import (
    CommandPlaces,
    ConfinedFiles,
    LiveProcess,
    OutputSink,
    Places,
    Runs,
    SandboxFiles,
    abilities,
    open_confined,
    run_process,
)
from pegboard_sandbox_bubblewrap.arguments import TMP, Network, View
from pegboard_sandbox_bubblewrap.binary import Binary
from pegboard_sandbox_bubblewrap.config import BubblewrapSettings
from pegboard_sandbox_bubblewrap.descriptors import Descriptors, StatusPipe
from pegboard_sandbox_bubblewrap.environment import inner_environment
from pegboard_sandbox_bubblewrap.host_system import HostSystem, look_at_host, machine_secrets
from pegboard_sandbox_bubblewrap.limits import Limits, apply_limits, limits_of
from pegboard_sandbox_bubblewrap.network import PROXY_URL, Broker, Gate
from pegboard_sandbox_bubblewrap.offline import seems_offline
from pegboard_sandbox_bubblewrap.profile import Wrapped, wrap
from pegboard_sandbox_bubblewrap.report import GUARDED, OFFLINE, bubblewrap_report
from pegboard_sandbox_bubblewrap.trial import setup_error, working_binary

if TYPE_CHECKING:
    from pegboard_netguard import Rules

INFO: Final = SandboxInfo(
    id="bubblewrap",
    confines_commands=True,
    preference=10,
    abilities=abilities(),
    files_here=True,
)
_RESOLVER: Final = "/etc/resolv.conf"


class BubblewrapBackend:
    """Opens sandboxes whose commands run in namespaces of their own.

    Args:
        settings: What the operator decides.
    """

    info = INFO

    def __init__(self, settings: BubblewrapSettings | None = None) -> None:
        self.settings = settings or BubblewrapSettings()

    async def probe(self) -> str | None:
        """Return None when a command was confined here once, else why not and what to do."""
        found = await working_binary()
        return None if isinstance(found, Binary) else found

    async def open(self, spec: SandboxSpec) -> BubblewrapSandbox:
        """Open the workspace and the grants.

        Raises:
            SandboxError: When bubblewrap does not work here, or a folder may not be granted.
        """
        binary = await working_binary()
        if not isinstance(binary, Binary):
            raise SandboxError(
                f"the sandbox bubblewrap does not work here: {binary}", fix="pegboard doctor"
            )
        is_open = self.settings.mode == "open"
        files, places = await open_confined(
            spec,
            durable=self.settings.durable_writes,
            everywhere=is_open,
            more=tuple(machine_secrets()) if is_open else (),
        )
        machine = Machine(binary, look_at_host(), self.settings)
        return BubblewrapSandbox(files, spec, machine=machine, places=places, runs=Runs())


class Machine:
    """What every command of one sandbox has in common.

    Args:
        binary: The program bwrap.
        system: What of the machine is shown.
        settings: What the operator decides.
    """

    def __init__(self, binary: Binary, system: HostSystem, settings: BubblewrapSettings) -> None:
        self.binary = binary
        self.system = system
        self.settings = settings
        self.limits: Limits = limits_of(settings)
        self.broker = Broker()
        self.rules = _rules(settings)

    def network(self, *, wanted: bool) -> Network:
        """Return which network a command gets."""
        if not wanted or self.settings.mode == "strict" or self.settings.allow_hosts == []:
            return "none"
        if self.settings.mode == "open" and self.settings.allow_hosts is None:
            return "shared"
        return "guarded"


class BubblewrapSandbox(ConfinedFiles):
    """Files below the grants of this machine; commands in namespaces of their own.

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
        machine: Machine,
        places: CommandPlaces,
        runs: Runs,
    ) -> None:
        super().__init__(files, spec, places=places, runs=runs)
        self._machine = machine

    async def confined(
        self, command: Command, cwd: str, on_output: OutputSink | None, live: LiveProcess | None
    ) -> Completed:
        """Run a command in namespaces of its own."""
        network = self._machine.network(wanted=self.may_reach_network)
        machine = self._machine
        gate = Gate(machine.rules, machine.broker) if network == "guarded" else None
        places = self.places.begin(writable=self.may_write)
        try:
            with Descriptors() as descriptors:
                view = self._view(places, command, cwd, network)
                wrapped = wrap(self._machine.binary.path, view, command.argv, descriptors)
                done = await self._go(wrapped, command, on_output, descriptors, gate, live)
        finally:
            held = self.places.end()
        refused = tuple(gate.refused) if gate is not None else ()
        return replace(done, notes=(*refused, *self._hints(done, network, refused), *held))

    def explain(self) -> SandboxReport:
        """Return what this sandbox enforces."""
        return bubblewrap_report(
            self._machine.binary, self._machine.settings, self.table.grants, self.table.notes
        )

    async def aclose(self) -> None:
        """End what still runs and close the grants."""
        await super().aclose()
        if self.owner:
            await self._machine.broker.aclose()

    def _hints(
        self, done: Completed, network: Network, refused: tuple[str, ...]
    ) -> tuple[str, ...]:
        if network == "shared" or refused or not seems_offline(done):
            return ()
        return (GUARDED if network == "guarded" else OFFLINE,)

    def _view(self, places: Places, command: Command, cwd: str, network: Network) -> View:
        machine = self._machine
        is_open = machine.settings.mode == "open"
        granted = (str(grant.path) for grant in places.grants)
        return View(
            system=machine.system,
            places=places,
            mode=machine.settings.mode,
            network=network,
            environment=inner_environment(
                self.spec.env,
                command.env,
                visible=("",) if is_open else (*machine.system.visible, *granted),
                home=str(Path.home()) if is_open else TMP,
                tmp=TMP,
                proxy=PROXY_URL if network == "guarded" else "",
            ),
            cwd=cwd,
            tmp_mb=machine.settings.tmp_mb,
            resolver=os.path.realpath(_RESOLVER) if network == "shared" else "",
        )

    async def _go(
        self,
        wrapped: Wrapped,
        command: Command,
        on_output: OutputSink | None,
        descriptors: Descriptors,
        gate: Gate | None,
        live: LiveProcess | None,
    ) -> Completed:
        """Run what was wrapped, and tell an end of bwrap from an end of the command."""
        status = StatusPipe(wrapped.status)
        outcome: Completed | Exception
        async with anyio.create_task_group() as tasks:

            async def ready(pid: int) -> Callable[[], None]:
                for descriptor in wrapped.given:
                    descriptors.shut(descriptor)
                first = await status.first_process()
                if first is not None:
                    apply_limits(first, self._machine.limits)
                    if gate is not None:
                        tasks.start_soon(gate.serve, await gate.listen(first))
                return lambda: descriptors.shut(wrapped.release)

            try:
                launch = replace(wrapped.launch, ready=ready)
                outcome = await run_process(launch, command, on_output=on_output, live=live)
            except Exception as error:  # told as it is, not as one of a group
                outcome = error
            tasks.cancel_scope.cancel()
        if isinstance(outcome, Exception):
            raise outcome
        if outcome.exit_code is not None and outcome.timed_out is None and not status.has_run():
            raise setup_error(outcome, command.argv[0])
        return outcome


def _rules(settings: BubblewrapSettings) -> Rules:
    from pegboard_netguard import Rules

    hosts = settings.allow_hosts
    return Rules(
        hosts=None if hosts is None else frozenset(hosts),
        ports=frozenset(settings.allow_ports),
        private=frozenset(settings.allow_private),
    )
