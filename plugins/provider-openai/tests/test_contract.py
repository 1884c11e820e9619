"""The laws of plugins and of providers, on servers that nobody here wrote."""

from __future__ import annotations

from counterparts.contracts import OnChaos, OnLlama, OverHttp
from pegboard_provider_openai.chat import ChatProvider
from pegboard_provider_openai.config import CompatibleSettings, OpenAISettings
from pegboard_provider_openai.responses import OpenAIProvider

from pegboard import Provider, SystemClock
from pegboard.testing import PluginContract

KEY = "sk-very-secret"


class TestPlugin(PluginContract):
    plugin = "provider-openai"


class OverChat(OverHttp):
    """Makes the provider for Chat Completions."""

    secrets = (KEY,)

    def make(self, url: str) -> Provider:
        settings = CompatibleSettings(server="other", base_url=f"{url}/v1")
        return ChatProvider(settings, KEY, SystemClock())


class OverResponses(OverHttp):
    """Makes the provider for Responses."""

    secrets = (KEY,)

    def make(self, url: str) -> Provider:
        return OpenAIProvider(OpenAISettings(base_url=f"{url}/v1"), KEY, SystemClock())


class TestChatOnChaos(OnChaos, OverChat):
    model = "gpt-4o"


class TestResponsesOnChaos(OnChaos, OverResponses):
    model = "gpt-5.5"


class TestChatOnLlama(OnLlama, OverChat):
    pass
