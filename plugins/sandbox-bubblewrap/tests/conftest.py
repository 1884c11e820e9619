from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import cache
from pathlib import Path

import anyio
import pytest
from pegboard_sandbox_bubblewrap.config import BubblewrapSettings
from pegboard_sandbox_bubblewrap.landlock_sandbox import LandlockBackend
from pegboard_sandbox_bubblewrap.sandbox import BubblewrapBackend, BubblewrapSandbox

from pegboard import Grant, SandboxSpec

Opener = Callable[..., Awaitable[BubblewrapSandbox]]
ANYWHERE = ("test_arguments", "test_syscall_filter", "test_trial", "TestPlugin")


@cache
def why_not(sandbox: str) -> str | None:
    backend = LandlockBackend() if sandbox == "landlock" else BubblewrapBackend()
    return anyio.run(backend.probe)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what this machine can't run, and say why; where all must run, let it fail."""
    if os.environ.get("PEGBOARD_CI"):
        return
    for item in items:
        if Path(__file__).parent not in item.path.parents or any(
            name in item.nodeid for name in ANYWHERE
        ):
            continue
        reason = why_not("landlock" if "andlock" in item.nodeid else "bubblewrap")
        if reason is not None:
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "ws"
    folder.mkdir()
    return folder


@pytest.fixture
async def opened(workspace: Path) -> AsyncIterator[Opener]:
    boxes: list[BubblewrapSandbox] = []

    async def make(
        *grants: Grant,
        at: Path = workspace,
        protected: tuple[Path, ...] = (),
        env: tuple[str, ...] = (),
        **settings,
    ) -> BubblewrapSandbox:
        backend = BubblewrapBackend(BubblewrapSettings(**settings))
        spec = SandboxSpec(workspace=at, grants=grants, protected=protected, env=env)
        boxes.append(await backend.open(spec))
        return boxes[-1]

    yield make
    for box in boxes:
        await box.aclose()
