"""A conversation as the store keeps it, and what was said in it."""

from __future__ import annotations

from dataclasses import dataclass

from pegboard.contracts.turn import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """A conversation, for lists.

    Args:
        key: Its key.
        channel: Instance name of the channel.
        chat: The channel's own id of the chat.
        thread: Thread within the chat, or "".
        agent: Id of the named agent.
        title: Beginning of the first message.
        turns: Number of its turns.
        open: Number of those that have not ended.
        epoch: How often it was begun anew.
        created_at: When it began.
        updated_at: When something last came in or went out.
    """

    key: str
    channel: str
    chat: str
    thread: str = ""
    agent: str = "main"
    title: str = ""
    turns: int = 0
    open: int = 0
    epoch: int = 0
    created_at: float = 0.0
    updated_at: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnMessages:
    """What one turn added to the history, or the summary that stands for older turns.

    Args:
        seq: Place of the turn in the conversation; of the last one that a summary stands for.
        messages: In order; calls and their results are never apart.
        summary: True for a summary.
        turn: Id of the turn, "" for a summary.
        at: When it was committed.
    """

    seq: int
    messages: tuple[Json, ...]
    summary: bool = False
    turn: str = ""
    at: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """What the model is given of a conversation.

    Args:
        turns: A summary if there is one, then the turns since, the oldest first.
        tokens: Tokens of the last request, as the provider reported them; None = not known.
    """

    turns: tuple[TurnMessages, ...] = ()
    tokens: int | None = None
