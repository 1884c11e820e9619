"""The laws of plugins and of providers, on servers that nobody here wrote."""

from __future__ import annotations

from uuid import uuid4

import pytest
from counterparts.contracts import OnChaos, OnJournal, OverHttp
from pegboard_provider_gemini.config import GeminiSettings
from pegboard_provider_gemini.provider import GeminiProvider

from pegboard import Provider, ProviderError, SystemClock
from pegboard.testing import PluginContract

KEY = "AIza-very-secret"


class TestPlugin(PluginContract):
    plugin = "provider-gemini"


class OverGenerate(OverHttp):
    """Makes the provider."""

    secrets = (KEY,)

    def make(self, url: str) -> Provider:
        settings = GeminiSettings(base_url=url)
        return GeminiProvider(settings, KEY, SystemClock(), lambda: uuid4().hex)


class TestOnChaos(OnChaos, OverGenerate):
    base = "/gemini"
    model = "gemini-2.5-pro"


class TestOnJournal(OnJournal, OverGenerate):
    model = "gemini-3.8-flash"

    async def test_models_are_listed_once(self) -> None:
        """aimock lists none in this dialect, and that is told."""
        with pytest.raises(ProviderError) as caught:
            await self.make_provider().models()
        assert caught.value.kind == "not_found"
