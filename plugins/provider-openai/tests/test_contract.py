"""The laws of plugins and of providers, on servers that nobody here wrote."""

from __future__ import annotations

import socket
from dataclasses import replace

import pytest
from counterparts import ECHO, Chaos, Llama, asking, shown_twice
from pegboard_provider_openai.chat import ChatProvider
from pegboard_provider_openai.config import CompatibleSettings, OpenAISettings
from pegboard_provider_openai.responses import OpenAIProvider

from pegboard import ChatRequest, Provider, SystemClock
from pegboard.testing import PluginContract, ProviderContract

KEY = "sk-very-secret"


class TestPlugin(PluginContract):
    plugin = "provider-openai"


def nobody() -> str:
    """Return the address of a port at which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return f"http://127.0.0.1:{taken.getsockname()[1]}"


class OverChat:
    """Makes the provider for Chat Completions."""

    url = ""

    def make(self, url: str) -> Provider:
        settings = CompatibleSettings(server="other", base_url=f"{url}/v1")
        return ChatProvider(settings, KEY, SystemClock())

    def make_provider(self) -> Provider:
        return self.make(self.url)

    def make_failing(self) -> Provider:
        return self.make(nobody())


class OverResponses(OverChat):
    """Makes the provider for Responses."""

    def make(self, url: str) -> Provider:
        return OpenAIProvider(OpenAISettings(base_url=f"{url}/v1"), KEY, SystemClock())


class OnChaos:
    """Asks llmock."""

    @pytest.fixture(autouse=True)
    def server(self, chaos: Chaos) -> None:
        self.url = chaos.url


class OnLlama:
    """Asks a real, very small model."""

    @pytest.fixture(autouse=True)
    def server(self, llama: Llama) -> None:
        self.url = llama.url

    def text_request(self) -> ChatRequest:
        return asking("Say hello", model="tiny", max_output=40)

    def tool_request(self) -> ChatRequest:
        shown = asking(*shown_twice(), "Echo hello", model="tiny", max_output=60)
        return replace(shown, tools=(ECHO,))


class TestChatOnChaos(OnChaos, OverChat, ProviderContract):
    model = "gpt-4o"
    secrets = (KEY,)


class TestResponsesOnChaos(OnChaos, OverResponses, ProviderContract):
    model = "gpt-5.5"
    secrets = (KEY,)


class TestChatOnLlama(OnLlama, OverChat, ProviderContract):
    model = "tiny"
    secrets = (KEY,)
