"""What the laws of a sandbox share: how one is opened, and how a shell line runs in it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio

from pegboard.contracts.sandbox import (
    Command,
    Completed,
    Grant,
    Sandbox,
    SandboxBackend,
    SandboxSpec,
)
from pegboard.testing.contracts.suite import LIMIT_S, Suite, missing


class SandboxSuite(Suite):
    """Base of the laws of a sandbox."""

    starts_within_s: float = 0.5
    """Seconds that a command may take until it runs; more for a sandbox that is slow to start."""

    def make_backend(self) -> SandboxBackend:
        """Return a fresh backend."""
        missing(self, "make_backend", "a SandboxBackend")

    @asynccontextmanager
    async def opened(
        self,
        folder: Path,
        *,
        grants: tuple[Grant, ...] = (),
        protected: tuple[Path, ...] = (),
        env: tuple[str, ...] = (),
    ) -> AsyncIterator[Sandbox]:
        """Open a sandbox whose workspace is `folder/workspace`, beside `folder/outside`."""
        workspace = folder / "workspace"
        workspace.mkdir(exist_ok=True)
        (folder / "outside").mkdir(exist_ok=True)
        (folder / "outside" / "kept.txt").write_text("kept")
        spec = SandboxSpec(workspace=workspace, grants=grants, protected=protected, env=env)
        sandbox = await self.make_backend().open(spec)
        try:
            with anyio.fail_after(LIMIT_S):
                yield sandbox
        finally:
            with anyio.CancelScope(shield=True):
                await sandbox.aclose()


async def sh(
    sandbox: Sandbox,
    source: str,
    *,
    timeout_s: float = 20.0,
    grace_s: float = 2.0,
    idle_s: float | None = None,
) -> Completed:
    """Run a shell line."""
    return await sandbox.run(
        Command(argv=("sh", "-c", source), timeout_s=timeout_s, grace_s=grace_s, idle_s=idle_s)
    )
