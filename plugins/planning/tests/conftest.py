from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pegboard import ChannelInfo, Delivery, InboundMessage, OutboundMessage
from pegboard.testing import Call, HostFactory, HostUnderTest, ScriptedModel


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Chat:
    """A channel with chat commands that shows no events."""

    def __init__(self) -> None:
        self.info = ChannelInfo(surface="chat", local=True, slash_commands=True)
        self.texts: list[str] = []

    async def run(self, inbox: Any) -> None:
        """Return at once: messages come from the test."""

    async def send(self, message: OutboundMessage) -> Delivery:
        """Keep a reply."""
        self.texts.append(message.text)
        return Delivery()


class Talk:
    """A person who talks with a model that does what the script says."""

    def __init__(self, running: HostUnderTest, model: ScriptedModel) -> None:
        self.running = running
        self.model = model
        self.chat = Chat()

    async def say(self, *script: Any, chat: str = "1", text: str = "Go on.") -> None:
        """Let the person write something, which the model answers by the script."""
        self.model._script.extend(script or ("Fine.",))
        caller = self.running.host.local_caller()
        message = InboundMessage(channel="chat", chat=chat, sender="me", text=text)
        outcome = await self.running.host.submit(message, self.chat, caller=caller)
        assert outcome.status == "done", outcome.error

    async def command(self, text: str, chat: str = "1") -> str:
        """Write a chat command and return what it says."""
        message = InboundMessage(channel="chat", chat=chat, sender="me", text=text)
        caller = replace(self.running.host.local_caller(), slash_commands=True)
        await self.running.host.submit(message, self.chat, caller=caller)
        return self.chat.texts[-1]

    async def call(self, tool: str, /, chat: str = "1", **arguments: Any) -> str:
        """Let the model call a tool, and return what it read."""
        await self.say(Call(tool, **arguments), "I did.", chat=chat)
        return self.model.requests[-1].messages[-1].results[0].text

    async def list(self, chat: str = "1") -> list[str]:
        """Return the lines of the list."""
        return (await self.call("TaskList", chat=chat)).splitlines()


@pytest.fixture
def talking() -> type[Talk]:
    """Return what makes talks, for tests that open hosts of their own."""
    return Talk


@pytest.fixture
async def talk(host: HostFactory) -> Any:
    model = ScriptedModel()
    async with host("planning", "delegation", model=model) as running:
        yield Talk(running, model)
