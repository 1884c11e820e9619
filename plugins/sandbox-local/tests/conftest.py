from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from pegboard_sandbox_local.sandbox import LocalBackend, LocalSandbox

from pegboard import Grant, SandboxSpec

Opener = Callable[..., Awaitable[LocalSandbox]]


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
    boxes: list[LocalSandbox] = []

    async def make(*grants: Grant, shell: bool = False, env: tuple[str, ...] = ()) -> LocalSandbox:
        backend = LocalBackend(allow_unconfined_shell=shell)
        spec = SandboxSpec(workspace=workspace, grants=grants, env=env)
        boxes.append(await backend.open(spec))
        return boxes[-1]

    yield make
    for box in boxes:
        await box.aclose()
