"""The sandbox that a host's tools work in: chosen once, never weaker than asked for."""

from __future__ import annotations

import logging
from pathlib import Path

import anyio

from pegboard.config.load import Config
from pegboard.contracts.errors import PegboardError, SandboxError
from pegboard.contracts.sandbox import Grant, Sandbox, SandboxBackend, SandboxSpec
from pegboard.host.instances import Instances
from pegboard.sandboxes.missing import MissingSandbox

_log = logging.getLogger(__name__)


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
        self._sandbox: Sandbox | None = None
        self._lock = anyio.Lock()

    async def sandbox(self) -> Sandbox:
        """Return the opened sandbox.

        When none can be opened it is one whose every method says why: the agent gets less, never
        something unconfined instead.
        """
        async with self._lock:
            if self._sandbox is None:
                self._sandbox = await self._open()
            return self._sandbox

    async def aclose(self) -> None:
        """Close the sandbox."""
        if self._sandbox is not None:
            await self._sandbox.aclose()
            self._sandbox = None

    async def _open(self) -> Sandbox:
        try:
            backend = await self._choose()
            return await backend.open(self._spec())
        except _NoSandboxInstalled:
            return MissingSandbox(self.folder)
        except PegboardError as error:
            _log.warning("no sandbox: %s", error.message)
            return MissingSandbox(
                self.folder, reason=error.message, fix=error.fix or "pegboard doctor"
            )

    async def _choose(self) -> SandboxBackend:
        wanted = self._config.get("sandbox.use", "auto")
        if wanted != "auto":
            return await self._works(await self._instances.get("sandbox", wanted))
        names = [item.name for item in self._instances.configured("sandbox").instances]
        if not names:
            raise _NoSandboxInstalled("no sandbox is installed")
        backends: list[SandboxBackend] = [
            await self._instances.get("sandbox", name) for name in names
        ]
        reasons = []
        for backend in sorted(backends, key=lambda item: item.info.preference):
            try:
                return await self._works(backend)
            except SandboxError as error:
                reasons.append(error.message)
        raise SandboxError("; ".join(reasons), fix="pegboard doctor")

    @staticmethod
    async def _works(backend: SandboxBackend) -> SandboxBackend:
        why = await backend.probe()
        if why is not None:
            raise SandboxError(f"The sandbox {backend.info.id} does not work here: {why}")
        return backend

    def _spec(self) -> SandboxSpec:
        grants = tuple(
            Grant(Path(item["path"]).expanduser(), item.get("mode", "rw"))
            for item in self._config.get("sandbox.grants", ())
        )
        paths = self._config.paths
        return SandboxSpec(
            workspace=self.folder,
            grants=grants,
            protected=(paths.config, paths.state, paths.data, paths.cache),
            env=tuple(self._config.get("sandbox.env", ())),
        )


class _NoSandboxInstalled(SandboxError):
    """No plugin brings a sandbox."""
