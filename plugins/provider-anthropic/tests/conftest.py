from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest
from pegboard_provider_anthropic.config import AnthropicSettings
from pegboard_provider_anthropic.provider import AnthropicProvider

from pegboard import SystemClock

KEY = "sk-ant-very-secret"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def key() -> str:
    return KEY


@pytest.fixture
async def messages() -> AsyncIterator[Callable[..., AnthropicProvider]]:
    """Make providers of the type `anthropic`: `messages(url, **settings)`."""
    async with AsyncExitStack() as opened:

        def make(url: str, *, key: str = KEY, **settings: Any) -> Any:
            made = AnthropicSettings(base_url=url, **settings)
            provider = AnthropicProvider(made, key, SystemClock())
            opened.push_async_callback(provider.aclose)
            return provider

        yield make
