"""What model calls cost."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """What one model call cost.

    Args:
        at: When.
        turn: The turn, or "".
        key: Conversation, or "".
        channel: Instance name of the channel, or "".
        sender: Who the turn acts for, or "".
        agent: Id of the named agent.
        plugin: Plugin that asked, or "" for the host.
        provider: Instance name of the provider.
        model: The model that answered.
        input: Input tokens, those read from a cache included.
        output: Output tokens.
        cached: Those of the input that were read from a cache.
        cost: In US dollars; None = unknown.
    """

    at: float
    turn: str = ""
    key: str = ""
    channel: str = ""
    sender: str = ""
    agent: str = "main"
    plugin: str = ""
    provider: str = ""
    model: str = ""
    input: int = 0
    output: int = 0
    cached: int = 0
    cost: float | None = None
