from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pegboard.contracts.effects import ALL_EFFECTS
from pegboard.contracts.sandbox import Grant, SandboxSpec
from pegboard.sandboxes import GrantTable, SandboxFiles

Opener = Callable[..., SandboxFiles]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.fixture
def workspace(home: Path) -> Path:
    folder = home / "ws"
    folder.mkdir()
    return folder


@pytest.fixture
def opened(home: Path, workspace: Path) -> Iterator[Opener]:
    tables: list[GrantTable] = []

    def make(*grants: Grant, protected: tuple[Path, ...] = ()) -> SandboxFiles:
        spec = SandboxSpec(workspace=workspace, grants=grants, protected=protected)
        table = GrantTable.open(spec, home=home)
        tables.append(table)
        return SandboxFiles(table, ALL_EFFECTS)

    yield make
    for table in tables:
        table.close()


@pytest.fixture
def files(opened: Opener) -> SandboxFiles:
    return opened()
