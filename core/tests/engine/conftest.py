from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from pegboard.contracts.store import Store
from pegboard.engine.backend import EmbeddedBackend
from pegboard.engine.embedded import EmbeddedEngine
from pegboard.store.database import Database
from pegboard.testing import FakeClock

Opened = Callable[..., Any]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def opened(tmp_path: Path, clock: FakeClock) -> Opened:
    """Open an embedded backend on one folder, with a clock that stands still."""

    @asynccontextmanager
    async def open_backend(**options: Any) -> AsyncIterator[tuple[Store, EmbeddedEngine]]:
        backend = EmbeddedBackend(Database(tmp_path / "state"), **options)
        try:
            yield await backend.open({}, clock)
        finally:
            await backend.aclose()

    return open_backend
