"""The sandbox that a host's tools work in: chosen once, never weaker than asked for."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final, TypeVar

import anyio

from pegboard.config.load import Config
from pegboard.contracts.errors import PegboardError, SandboxError
from pegboard.contracts.sandbox import Grant, Sandbox, SandboxBackend, SandboxInfo, SandboxSpec
from pegboard.host.control.place import socket_folder
from pegboard.host.instances import CLOSE_S, Instances
from pegboard.plugins.building.isolation import is_plugin_fault, one_line
from pegboard.plugins.running.guard_stdout import quiet
from pegboard.sandboxes.missing import INSTALL, NO_SANDBOX, MissingSandbox

ANSWER_S: Final = 20.0
"""Seconds that a sandbox may take to be tried, or to be opened."""
_log = logging.getLogger(__name__)
T = TypeVar("T")


class Workspace:
    """The folder of a host's runs, and the sandbox over it.

    Args:
        folder: The folder.
        config: The settings; `[sandbox]` says which sandbox and what it may reach.
        instances: Where sandboxes come from.
    """

    def __init__(self, folder: Path, config: Config, instances: Instances) -> None:
        self.folder = folder
        self._config = config
        self._instances = instances
        self._backend: SandboxBackend | None = None
        self._sandbox: Sandbox | None = None
        self._spec_used: SandboxSpec | None = None
        self._before: list[Sandbox] = []
        self._settled = False
        self._lock = anyio.Lock()

    async def sandbox(self) -> Sandbox:
        """Return the opened sandbox.

        When none can be opened it is one whose every method says why: the agent gets less, never
        something unconfined instead.
        """
        async with self._lock:
            if self._sandbox is None or not self._settled:
                self._sandbox = await self._settle()
                self._settled = True
            return self._sandbox

    def forget(self) -> None:
        """Choose again at the next run: sandboxes came or went.

        What runs now keeps the one it has, and so does what comes, if it is chosen again.
        """
        self._settled = False

    def take(self, config: Config) -> None:
        """Go by other settings from the next run on."""
        self._config = config
        self.forget()

    async def aclose(self) -> None:
        """Close the sandbox."""
        opened = [*self._before, *([self._sandbox] if self._sandbox else [])]
        self._before, self._sandbox, self._backend = [], None, None
        for sandbox in reversed(opened):
            try:
                await _answer(sandbox.info.id, sandbox.aclose, within_s=CLOSE_S)
            except SandboxError as error:
                _log.warning("%s", error.message)

    async def _settle(self) -> Sandbox:
        try:
            backend = await self._choose()
            spec = self._spec()
            same = backend is self._backend and spec == self._spec_used
            if self._sandbox is not None and same:
                return self._sandbox
            opened = await _answer(backend.info.id, lambda: backend.open(spec))
        except _NoSandbox as error:
            missing = MissingSandbox(self.folder, reason=error.message, fix=error.fix)
            return self._replaced(missing, None)
        except PegboardError as error:
            _log.warning("no sandbox: %s", error.message)
            missing = MissingSandbox(
                self.folder, reason=error.message, fix=error.fix or "pegboard doctor"
            )
            return self._replaced(missing, None)
        self._spec_used = spec
        return self._replaced(opened, backend)

    def _replaced(self, sandbox: Sandbox, backend: SandboxBackend | None) -> Sandbox:
        if self._sandbox is not None:
            self._before.append(self._sandbox)
        self._backend = backend
        return sandbox

    async def _choose(self) -> SandboxBackend:
        wanted = self._config.get("sandbox.use", "auto")
        if wanted != "auto":
            return await _works(await self._backend_of(wanted))
        reasons = []
        backends: list[SandboxBackend] = []
        for item in self._instances.configured("sandbox").instances:
            try:
                backends.append(await self._backend_of(item.name))
            except PegboardError as error:  # one that is broken takes nothing from the others
                reasons.append(error.message)
        for backend in sorted(backends, key=lambda item: item.info.preference):
            try:
                chosen = await _works(backend)
            except SandboxError as error:
                reasons.append(error.message)
                continue
            for reason in reasons:
                _log.warning("passed over for the sandbox %s: %s", chosen.info.id, reason)
            return chosen
        if not reasons:
            why = self._instances.why_none("sandbox")
            if why is None:
                raise _NoSandbox(NO_SANDBOX, fix=INSTALL)
            raise _NoSandbox(why.message, fix=why.fix)
        raise SandboxError("; ".join(reasons), fix="pegboard doctor")

    async def _backend_of(self, name: str) -> SandboxBackend:
        backend: SandboxBackend = await self._instances.get("sandbox", name)
        if not isinstance(getattr(backend, "info", None), SandboxInfo):
            raise SandboxError(f"The sandbox {name} does not say what it is: it has no `info`")
        return backend

    def _spec(self) -> SandboxSpec:
        grants = tuple(
            Grant(self._place(item["path"]), item.get("mode", "ro"))
            for item in self._config.get("sandbox.grants", ())
        )
        paths = self._config.paths
        return SandboxSpec(
            workspace=self.folder,
            grants=grants,
            protected=(
                *(paths.config, paths.state, paths.data, paths.cache),
                *socket_folder(paths.state),
            ),
            env=tuple(self._config.get("sandbox.env", ())),
        )

    def _place(self, path: str) -> Path:
        """Return a granted path; a relative one counts from the workspace."""
        try:
            return self.folder / Path(path).expanduser()
        except RuntimeError as error:
            raise SandboxError(
                f"sandbox.grants: {path}: {error}",
                fix="mend `path` in [[sandbox.grants]] of the config file",
            ) from error


async def _works(backend: SandboxBackend) -> SandboxBackend:
    why = await _answer(backend.info.id, backend.probe)
    if why is not None:
        raise SandboxError(f"The sandbox {backend.info.id} does not work here: {why}")
    return backend


async def _answer(name: str, ask: Callable[[], Awaitable[T]], *, within_s: float = ANSWER_S) -> T:
    """Return what a sandbox answers; what it raises instead is told as the fault that it is.

    Raises:
        SandboxError: When it fails, or does not answer in time.
    """
    try:
        with anyio.fail_after(within_s), quiet(name):
            return await ask()
    except BaseException as error:
        if isinstance(error, PegboardError) or not is_plugin_fault(error):
            raise
        late = isinstance(error, TimeoutError)
        why = f"no answer within {within_s:g} s" if late else one_line(error)
        raise SandboxError(f"The sandbox {name} failed: {why}", fix="pegboard doctor") from error


class _NoSandbox(SandboxError):
    """No plugin that can be used brings a sandbox: nothing went wrong here."""
