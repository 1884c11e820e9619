"""The backend and the opened sandbox of containers."""

from __future__ import annotations

import os
import secrets
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

from anyio import to_thread

from pegboard import Command, Completed, SandboxError, SandboxInfo, SandboxReport, SandboxSpec
from pegboard.sandboxes import (
    FIXED,
    CommandPlaces,
    ConfinedFiles,
    Enforcement,
    Launch,
    LiveProcess,
    OutputSink,
    Runs,
    SandboxFiles,
    command_environment,
    open_confined,
    run_process,
)
from pegboard_sandbox_docker.arguments import TMP, Container, run_arguments
from pegboard_sandbox_docker.config import DockerSettings
from pegboard_sandbox_docker.engine import LIMITS, Engine, find_engine, this_host
from pegboard_sandbox_docker.lifeline import Lifeline

INFO: Final = SandboxInfo(
    id="docker",
    confines_commands=True,
    preference=40,
    abilities=frozenset({"background"}),
    files_here=True,
)
_OF_THE_HOST: Final = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "XDG_RUNTIME_DIR")
"""Variables whose values name places of this machine, or people of it."""


class DockerBackend:
    """Opens sandboxes whose commands run in containers.

    Args:
        settings: What the operator decides.
    """

    info = INFO

    def __init__(self, settings: DockerSettings | None = None) -> None:
        self.settings = settings or DockerSettings()

    async def probe(self) -> str | None:
        """Return None when an engine answers and has the image, else why not and what to do."""
        found = await find_engine(self.settings)
        return found if isinstance(found, str) else None

    async def open(self, spec: SandboxSpec) -> DockerSandbox:
        """Open the workspace and the grants.

        Raises:
            SandboxError: When no engine works here, or a folder may not be granted.
        """
        engine = await find_engine(self.settings)
        if isinstance(engine, str):
            raise SandboxError(
                f"the sandbox docker does not work here: {engine}", fix="pegboard doctor"
            )
        await engine.sweep()
        files, places = await open_confined(spec, durable=self.settings.durable_writes)
        return DockerSandbox(
            files, spec, engine=engine, settings=self.settings, places=places, runs=Runs()
        )


class DockerSandbox(ConfinedFiles):
    """Files below the grants of this machine; each command in a container of its own.

    Args:
        files: The file half.
        spec: What was asked for.
        engine: Runs containers; shared by every narrowed view, like `places` and `runs`.
        settings: What the operator decides.
        places: What commands see of the grants.
        runs: What runs.
    """

    info = INFO

    def __init__(
        self,
        files: SandboxFiles,
        spec: SandboxSpec,
        *,
        engine: Engine,
        settings: DockerSettings,
        places: CommandPlaces,
        runs: Runs,
    ) -> None:
        super().__init__(files, spec, places=places, runs=runs)
        self._engine = engine
        self._settings = settings

    async def confined(
        self, command: Command, cwd: str, on_output: OutputSink | None, live: LiveProcess | None
    ) -> Completed:
        """Run a command in a container of its own."""
        name = f"pegboard-{secrets.token_hex(8)}"
        places = self.places.begin(writable=self.may_write)
        try:
            lifeline = await to_thread.run_sync(Lifeline)
            try:
                container = Container(
                    name=name,
                    host=this_host(),
                    settings=self._settings,
                    places=places,
                    network=self.may_reach_network and self._settings.network == "bridge",
                    cwd=cwd,
                    lifeline=lifeline.folder,
                    environment={"HOME": TMP, "TMPDIR": TMP, **FIXED, **command.env},
                    passed=_passed(self.spec.env, command.env),
                    user=None if self._engine.rootless else (os.getuid(), os.getgid()),
                    limits=_hard_limits(),
                    controls=self._engine.limits,
                )
                done = await self._go(container, command, on_output, live, lifeline)
                if done.exit_code is not None and done.timed_out is None:
                    begun = await to_thread.run_sync(lifeline.has_begun)
                    if not begun:
                        raise _not_run(done)
            finally:
                lifeline.close()
        finally:
            held = self.places.end()
        return replace(done, notes=(*done.notes, *held))

    def explain(self) -> SandboxReport:
        """Return what this sandbox enforces."""
        settings = self._settings
        net: Enforcement = "partial" if self._network_notes else "yes"
        return SandboxReport(
            sandbox=INFO.id,
            enforced={
                "fs_read": "yes",
                "fs_write": "yes",
                "net": net,
                "signals": "yes",
                "pids": "yes",
                "tree_kill": "yes",
            },
            grants=self.table.grants,
            notes=(
                f"Commands run in {self._engine.shown}, in the image {settings.image}: they have "
                "its programs, not those of this machine.",
                *(self._network_notes or ("No command has any network.",)),
                f"/tmp is a folder of {settings.tmp_mb} MB that is empty at each command, and "
                "nothing that a command starts outlives it.",
                *self._limit_notes,
                *self._engine.advice,
                *self.table.notes,
            ),
        )

    @property
    def _limit_notes(self) -> tuple[str, ...]:
        names = {"memory": "memory", "pids": "number of processes"}
        left = " and the ".join(names[limit] for limit in sorted(LIMITS - self._engine.limits))
        shown = self._engine.shown
        return (f"{shown} can't limit the {left} of a command here.",) if left else ()

    @property
    def _network_notes(self) -> tuple[str, ...]:
        """What a command may reach all the same."""
        engine = self._engine
        shared = (
            "Calls that may use the network have the engine's own, and all that it reaches, "
            "services of this machine and of your own network too. Docker can't limit it to some "
            "hosts; bubblewrap can: pegboard config set sandbox.use bubblewrap"
        )
        vsock = f"The filter of {engine.shown} may let commands open vsock sockets."
        return (
            *((shared,) if self._settings.network == "bridge" else ()),
            *((vsock,) if engine.podman else ()),
        )

    async def _go(
        self,
        container: Container,
        command: Command,
        on_output: OutputSink | None,
        live: LiveProcess | None,
        lifeline: Lifeline,
    ) -> Completed:
        engine = self._engine
        launch = Launch(
            argv=(engine.program, *run_arguments(container, command.argv)),
            cwd=None,
            env=dict(os.environ),  # the engine's program is the host's own, and finds itself so
            find_strays=False,
            tree=lambda pid: ContainerTree(engine, container.name, lifeline, pid),
        )
        return await run_process(launch, command, on_output=on_output, live=live)


class ContainerTree:
    """A command in a container.

    Args:
        engine: Runs it.
        name: Name of the container.
        lifeline: Reaches what runs inside.
        client: Process id of the engine's program, which is also its group.
    """

    def __init__(self, engine: Engine, name: str, lifeline: Lifeline, client: int) -> None:
        self._engine = engine
        self._name = name
        self._lifeline = lifeline
        self._client = client

    def signal(self, number: int) -> None:
        """Send a signal to all that runs inside."""
        self._lifeline.signal(number)

    async def kill(self) -> None:
        """End the container, and the program that waits for it."""
        if not self._has_exited():
            await self._engine.end(self._name)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._client, signal.SIGKILL)

    def _has_exited(self) -> bool:
        """Tell whether the program ended by itself, as it does when the container is gone."""
        try:
            ended = os.waitid(os.P_PID, self._client, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return False
        return ended is not None and ended.si_code == os.CLD_EXITED

    def remember(self) -> None:
        """Do nothing: it has a name."""

    def close(self) -> None:
        """Do nothing: this holds nothing open."""


def _passed(names: Sequence[str], given: Mapping[str, str]) -> tuple[str, ...]:
    """Return which variables of this process a command gets as they are."""
    allowed = command_environment(names)
    return tuple(
        name
        for name in allowed
        if name not in given
        and name not in FIXED
        and (name in names or name not in _OF_THE_HOST)
        and name in os.environ
    )


def _hard_limits() -> tuple[int, int]:
    """Return how many open files and processes this process may give; -1 = any number."""
    import resource  # here, for Windows has none

    files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    processes = resource.getrlimit(resource.RLIMIT_NPROC)[1]
    none = resource.RLIM_INFINITY
    return (-1 if files == none else files, -1 if processes == none else processes)


def _not_run(done: Completed) -> SandboxError:
    said = done.stderr.text().strip().splitlines()
    return SandboxError(
        f"the container could not be run: {said[-1] if said else 'the engine says nothing'}",
        fix="pegboard sandbox explain",
    )
