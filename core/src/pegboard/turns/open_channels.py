"""The channels through which this host reaches people now."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pegboard.contracts.channel import Channel
from pegboard.contracts.turn import TurnRef
from pegboard.conversations.key import ConversationKey


class OpenChannels:
    """Channels by instance name, and channels that were lent for one conversation.

    A turn is delivered by a host that reaches its chat; others leave it alone.
    """

    def __init__(self) -> None:
        self._named: dict[str, list[Channel]] = {}
        self._lent: dict[str, list[Channel]] = {}

    @contextmanager
    def named(self, name: str, channel: Channel) -> Iterator[None]:
        """Hold a channel open under its instance name for the time of the block."""
        with _held(self._named, name, channel):
            yield

    @contextmanager
    def lent(self, key: ConversationKey, channel: Channel) -> Iterator[bool]:
        """Hold a channel open for one conversation; yields whether it was not reached before."""
        new = self._find(key.channel, key.chat, key.text) is None
        with _held(self._lent, key.text, channel):
            yield new

    def accepts(self, ref: TurnRef) -> bool:
        """Tell whether a turn's chat is reached."""
        return self.of(ref) is not None

    def of(self, ref: TurnRef) -> Channel | None:
        """Return the channel of a turn's chat, or None."""
        try:
            key = ConversationKey.read(ref.key)
        except ValueError:
            return None
        return self._find(ref.channel, key.chat, ref.key)

    def _find(self, name: str, chat: str, key: str) -> Channel | None:
        for channel in reversed(self._lent.get(key, [])):
            return channel
        for channel in reversed(self._named.get(name, [])):
            takes: Callable[[str], bool] | None = getattr(channel, "takes", None)
            if takes is None or takes(chat):
                return channel
        return None


@contextmanager
def _held(table: dict[str, list[Channel]], name: str, channel: Channel) -> Iterator[None]:
    table.setdefault(name, []).append(channel)
    try:
        yield
    finally:
        # not `remove`: channels may be equal to one another
        held = table[name]
        del held[next(n for n in reversed(range(len(held))) if held[n] is channel)]
        if not held:
            del table[name]
