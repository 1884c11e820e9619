from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def state() -> Iterator[Path]:
    """A state folder with a short path."""
    with tempfile.TemporaryDirectory(prefix="pb-", dir="/tmp") as folder:
        yield Path(folder)
