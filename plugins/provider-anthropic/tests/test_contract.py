"""The laws of plugins and of providers, on servers that nobody here wrote."""

from __future__ import annotations

from counterparts.contracts import OnChaos, OnJournal, OnLlama, OverHttp
from pegboard_provider_anthropic.config import AnthropicSettings
from pegboard_provider_anthropic.provider import AnthropicProvider

from pegboard import Provider, SystemClock
from pegboard.testing import PluginContract

KEY = "sk-ant-very-secret"


class TestPlugin(PluginContract):
    plugin = "provider-anthropic"


class OverMessages(OverHttp):
    """Makes the provider."""

    secrets = (KEY,)

    def make(self, url: str) -> Provider:
        return AnthropicProvider(AnthropicSettings(base_url=url), KEY, SystemClock())


class TestOnChaos(OnChaos, OverMessages):
    base = "/anthropic"
    model = "claude-sonnet-4-6"


class TestOnJournal(OnJournal, OverMessages):
    model = "claude-sonnet-5-5"


class TestOnLlama(OnLlama, OverMessages):
    pass
