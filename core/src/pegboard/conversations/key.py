"""Which conversation a message belongs to."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, unquote

from pegboard.contracts.message import InboundMessage

MAIN: Final = "main"
"""Id of the agent that answers unless another one is named."""


@dataclass(frozen=True, slots=True, order=True)
class ConversationKey:
    """A conversation: its turns run one at a time and in order.

    Args:
        channel: Instance name of the channel.
        chat: The channel's own id of the chat.
        thread: Thread within the chat; "" is the chat itself, its root.
        agent: Id of the named agent.
    """

    channel: str
    chat: str
    thread: str = ""
    agent: str = MAIN

    @classmethod
    def of(cls, message: InboundMessage, agent: str = MAIN) -> ConversationKey:
        """Return the key of the conversation that `message` belongs to."""
        return cls(message.channel, message.chat, message.thread, agent)

    @classmethod
    def read(cls, text: str) -> ConversationKey:
        """Return the key whose `text` this is.

        Raises:
            ValueError: When it is none.
        """
        agent, rest = MAIN, text
        if text.startswith("@"):
            agent, _, rest = text[1:].partition("/")
        with suppress(UnicodeDecodeError):
            parts = [_plain(part) for part in (agent, *rest.split("/"))]
            if len(parts) in (3, 4):
                key = cls(parts[1], parts[2], "".join(parts[3:]), parts[0])
                if key.text == text:
                    return key
        raise ValueError(f"{text!r} is no key of a conversation")

    @property
    def text(self) -> str:
        """The key as one string, different for different keys: `slack/C1/170.5`.

        That of another agent than the main one begins with its id: `@research/slack/C1`.
        """
        parts = [_quoted(self.channel, "+~:"), _quoted(self.chat)]
        if self.thread:
            parts.append(_quoted(self.thread))
        if self.agent != MAIN:
            parts.insert(0, f"@{_quoted(self.agent)}")
        return "/".join(parts)

    def __str__(self) -> str:
        return self.text


def _quoted(part: str, safe: str = "@+~:") -> str:
    return quote(part, safe=safe, errors="surrogatepass")


def _plain(part: str) -> str:
    return unquote(part, errors="surrogatepass")
