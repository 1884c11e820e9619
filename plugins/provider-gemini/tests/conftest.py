from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest
from pegboard_provider_gemini.config import GeminiSettings
from pegboard_provider_gemini.provider import GeminiProvider

from pegboard import SystemClock

KEY = "AIza-very-secret"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def key() -> str:
    return KEY


@pytest.fixture
async def gemini() -> AsyncIterator[Callable[..., GeminiProvider]]:
    """Make providers of the type `gemini`: `gemini(url, **settings)`; made ids are numbers."""
    numbers = itertools.count(1)
    async with AsyncExitStack() as opened:

        def make(url: str, *, key: str = KEY, **settings: Any) -> Any:
            made = GeminiSettings(base_url=url, **settings)
            provider = GeminiProvider(made, key, SystemClock(), lambda: str(next(numbers)))
            opened.push_async_callback(provider.aclose)
            return provider

        yield make
