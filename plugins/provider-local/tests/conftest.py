from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from counterparts.places import MODEL, no_llama
from pegboard_provider_local.config import LocalSettings
from pegboard_provider_local.provider import LocalProvider

from pegboard import SystemClock


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def weights() -> Path:
    """The file of a real model of 135 million weights."""
    reason = no_llama()
    if reason is not None:
        pytest.skip(reason)
    return MODEL


@pytest.fixture
async def local(tmp_path: Path) -> AsyncIterator[Callable[..., LocalProvider]]:
    """Make providers: `local(model, **settings)`; what is added is in `tmp_path`."""
    async with AsyncExitStack() as opened:

        def make(model: Path | str, **settings: Any) -> LocalProvider:
            given = {"context": 1_024, "temperature": 0.0, "threads": 1} | settings
            provider = LocalProvider(
                LocalSettings(model=str(model), **given), tmp_path, SystemClock()
            )
            opened.push_async_callback(provider.aclose)
            return provider

        yield make
