from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest
from pegboard_provider_openai.chat import ChatProvider
from pegboard_provider_openai.config import CompatibleSettings, OpenAISettings
from pegboard_provider_openai.responses import OpenAIProvider

from pegboard import SystemClock

KEY = "sk-very-secret"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def key() -> str:
    return KEY


@pytest.fixture
async def chat() -> AsyncIterator[Callable[..., ChatProvider]]:
    """Make providers of the type `openai-compatible`: `chat(url, **settings)`."""
    async with AsyncExitStack() as opened:

        def make(url: str, *, key: str = KEY, server: str = "other", **settings: Any) -> Any:
            chosen = {"server": server, "base_url": f"{url}/v1", "model": "m-1"} | settings
            made = CompatibleSettings(**chosen)
            provider = ChatProvider(made, key, SystemClock())
            opened.push_async_callback(provider.aclose)
            return provider

        yield make


@pytest.fixture
async def responses() -> AsyncIterator[Callable[..., OpenAIProvider]]:
    """Make providers of the type `openai`: `responses(url, **settings)`."""
    async with AsyncExitStack() as opened:

        def make(url: str, *, key: str = KEY, **settings: Any) -> Any:
            made = OpenAISettings(base_url=f"{url}/v1", **settings)
            provider = OpenAIProvider(made, key, SystemClock())
            opened.push_async_callback(provider.aclose)
            return provider

        yield make
