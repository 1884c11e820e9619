"""Which conversation a message belongs to."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote

from pegboard.contracts.message import InboundMessage


@dataclass(frozen=True, slots=True, order=True)
class ConversationKey:
    """A conversation: its turns run one at a time and in order.

    Args:
        channel: Instance name of the channel.
        chat: The channel's own id of the chat.
        thread: Thread within the chat; "" is the chat itself, its root.
    """

    channel: str
    chat: str
    thread: str = ""

    @classmethod
    def of(cls, message: InboundMessage) -> ConversationKey:
        """Return the key of the conversation that `message` belongs to."""
        return cls(message.channel, message.chat, message.thread)

    @property
    def text(self) -> str:
        """The key as one string, different for different keys: `slack/C1/170.5`."""
        parts = [self.channel, self.chat, *([self.thread] if self.thread else [])]
        return "/".join(quote(part, safe="@+~:", errors="surrogatepass") for part in parts)

    def __str__(self) -> str:
        return self.text
