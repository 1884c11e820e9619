"""The laws of plugins and of providers, with real inference."""

from __future__ import annotations

from pathlib import Path

import pytest
from counterparts import asking
from pegboard_provider_local.config import LocalSettings
from pegboard_provider_local.provider import LocalProvider

from pegboard import ChatRequest, Provider, SystemClock
from pegboard.testing import PluginContract, ProviderContract


class TestPlugin(PluginContract):
    plugin = "provider-local"


class TestProvider(ProviderContract):
    @pytest.fixture(autouse=True)
    def places(self, weights: Path, tmp_path: Path) -> None:
        self.weights, self.folder = weights, tmp_path

    def make_provider(self) -> Provider:
        return self.make(self.weights)

    def make_failing(self) -> Provider:
        return self.make(self.folder / "missing.gguf")

    def make(self, model: Path) -> Provider:
        settings = LocalSettings(
            model=str(model),
            context=1_024,
            threads=1,
            temperature=0,
        )
        return LocalProvider(settings, self.folder, SystemClock())

    def text_request(self) -> ChatRequest:
        return asking("Say hello", max_output=16)
