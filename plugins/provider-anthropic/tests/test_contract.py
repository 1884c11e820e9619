"""The laws of plugins and of providers, on servers that nobody here wrote."""

from __future__ import annotations

import socket
from dataclasses import replace

import pytest
from counterparts import ECHO, Chaos, Journal, Llama, asking, shown_twice
from pegboard_provider_anthropic.config import AnthropicSettings
from pegboard_provider_anthropic.provider import AnthropicProvider

from pegboard import ChatRequest, Provider, SystemClock
from pegboard.testing import PluginContract, ProviderContract

KEY = "sk-ant-very-secret"


class TestPlugin(PluginContract):
    plugin = "provider-anthropic"


class OverMessages(ProviderContract):
    """Makes the provider."""

    url = ""
    secrets = (KEY,)

    def make_provider(self) -> Provider:
        return self.make(self.url)

    def make_failing(self) -> Provider:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            return self.make(f"http://127.0.0.1:{taken.getsockname()[1]}")

    def make(self, url: str) -> Provider:
        return AnthropicProvider(AnthropicSettings(base_url=url), KEY, SystemClock())


class TestOnChaos(OverMessages):
    """Asks llmock."""

    model = "claude-sonnet-4-6"

    @pytest.fixture(autouse=True)
    def server(self, chaos: Chaos) -> None:
        self.url = f"{chaos.url}/anthropic"


class TestOnJournal(OverMessages):
    """Asks aimock."""

    model = "claude-sonnet-5-5"

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


class TestOnLlama(OverMessages):
    """Asks a real, very small model."""

    model = "tiny"

    @pytest.fixture(autouse=True)
    def server(self, llama: Llama) -> None:
        self.url = llama.url

    def text_request(self) -> ChatRequest:
        return asking("Say hello", model="tiny", max_output=40)

    def tool_request(self) -> ChatRequest:
        shown = asking(*shown_twice(), "Echo hello", model="tiny", max_output=60)
        return replace(shown, tools=(ECHO,))
