"""The laws of plugins and of providers, on servers that nobody here wrote."""

from __future__ import annotations

import socket
from uuid import uuid4

import pytest
from counterparts import Chaos, Journal
from pegboard_provider_gemini.config import GeminiSettings
from pegboard_provider_gemini.provider import GeminiProvider

from pegboard import Provider, ProviderError, SystemClock
from pegboard.testing import PluginContract, ProviderContract

KEY = "AIza-very-secret"


class TestPlugin(PluginContract):
    plugin = "provider-gemini"


class OverGenerate(ProviderContract):
    """Makes the provider."""

    url = ""
    secrets = (KEY,)

    def make_provider(self) -> Provider:
        return self.make(self.url)

    def make_failing(self) -> Provider:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            return self.make(f"http://127.0.0.1:{taken.getsockname()[1]}")

    def make(self, url: str) -> Provider:
        settings = GeminiSettings(base_url=url)
        return GeminiProvider(settings, KEY, SystemClock(), lambda: uuid4().hex)


class TestOnChaos(OverGenerate):
    """Asks llmock."""

    model = "gemini-2.5-pro"

    @pytest.fixture(autouse=True)
    def server(self, chaos: Chaos) -> None:
        self.url = f"{chaos.url}/gemini"


class TestOnJournal(OverGenerate):
    """Asks aimock."""

    model = "gemini-3.8-flash"

    @pytest.fixture(autouse=True)
    def server(self, journal: Journal) -> None:
        call = {"name": "echo", "arguments": '{"text": "hello"}'}
        journal.answer(
            {"match": {"userMessage": "/echo"}, "response": {"toolCalls": [call]}},
            {
                "match": {},
                "response": {"content": "Hello there, and 🧩.", "reasoning": "A greeting."},
            },
        )
        self.url = journal.url

    async def test_models_are_listed_once(self) -> None:
        """aimock lists none in this dialect, and that is told."""
        with pytest.raises(ProviderError) as caught:
            await self.make_provider().models()
        assert caught.value.kind == "not_found"
