"""The laws of providers, held against servers that nobody here wrote."""

from __future__ import annotations

import socket
from dataclasses import replace

import pytest

from counterparts.asking import ECHO, asking, shown_twice
from counterparts.chaos import Chaos
from counterparts.journal import Journal
from counterparts.llama import Llama
from pegboard import ChatRequest, Provider
from pegboard.testing import ProviderContract


class OverHttp(ProviderContract):
    """A provider at an address: a subclass says how to `make(url)` one, and mixes in a server."""

    url = ""

    def make(self, url: str) -> Provider:
        """Return the provider at an address."""
        raise AssertionError("a subclass says so")

    def make_provider(self) -> Provider:
        return self.make(self.url)

    def make_failing(self) -> Provider:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            return self.make(f"http://127.0.0.1:{taken.getsockname()[1]}")


class OnChaos:
    """Asks llmock, where a dialect is below `base`."""

    base = ""

    @pytest.fixture(autouse=True)
    def server(self, chaos: Chaos) -> None:
        self.url = f"{chaos.url}{self.base}"


class OnJournal:
    """Asks aimock."""

    @pytest.fixture(autouse=True)
    def server(self, journal: Journal) -> None:
        call = {"name": "echo", "arguments": '{"text": "hello"}'}
        said = {"content": "Hello there, and 🧩.", "reasoning": "A greeting."}
        journal.answer(
            {"match": {"userMessage": "/echo"}, "response": {"toolCalls": [call]}},
            {"match": {}, "response": said},
        )
        self.url = journal.url


class OnLlama:
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
