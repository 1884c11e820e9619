"""The conversation as a chat command may touch it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from pegboard.contracts.caller import Caller
from pegboard.contracts.message import InboundMessage
from pegboard.contracts.turn import OutboxPart, Receipt, TurnRecord, TurnRef
from pegboard.conversations.key import ConversationKey
from pegboard.turns.setup import Turn, TurnServices


class Turns(Protocol):
    """What a command needs of the turns of a host."""

    services: TurnServices

    async def stop(self, key: ConversationKey, *, turn: str | None = None) -> Sequence[TurnRef]:
        """Stop what runs, waits and is queued in a conversation, or one turn of it."""
        ...

    async def new(self, key: ConversationKey) -> None:
        """Begin a conversation anew."""
        ...

    async def open_turns(self, key: ConversationKey) -> Sequence[TurnRecord]:
        """Return the open turns of a conversation."""
        ...

    async def background_turns(self, key: ConversationKey) -> Sequence[TurnRecord]:
        """Return the open turns of a chat that nobody waits for."""
        ...

    async def submit_background(
        self, key: ConversationKey, message: InboundMessage, caller: Caller
    ) -> Receipt:
        """Let a request be answered beside a conversation."""
        ...


class Conversation:
    """The conversation of a turn; implements `ConversationControl`.

    Args:
        turns: The turns of the host.
        turn: The turn that is a command.
    """

    def __init__(self, turns: Turns, turn: Turn) -> None:
        self._turns = turns
        self._turn = turn

    @property
    def key(self) -> str:
        """Key of the conversation."""
        return self._turn.key.text

    async def stop(self, task: str = "") -> int:
        """Stop what is open here, or one request in the background; return how many were."""
        if not task:
            return len(await self._turns.stop(self._turn.key))
        found = [turn for turn in await self.background() if turn.ref.turn.endswith(task)]
        if len(found) != 1:
            return 0
        ref, store = found[0].ref, self._turns.services.store
        key = ConversationKey.read(ref.key)
        stopped = await self._turns.stop(key, turn=ref.turn)
        record = await store.turn(ref.turn)
        if record is not None and record.state == "queued":
            await self._turns.new(key)  # no host reaches it to end it, and it is the only one there
        return len(stopped)

    async def new(self) -> None:
        """Stop what is open and forget what was said."""
        await self._turns.new(self._turn.key)

    async def open(self) -> Sequence[TurnRecord]:
        """Return the turns that have not ended, in order."""
        return await self._turns.open_turns(self._turn.key)

    async def background(self) -> Sequence[TurnRecord]:
        """Return the open turns that nobody waits for and that were begun from this chat."""
        return await self._turns.background_turns(self._turn.key)

    async def doubtful(self) -> Sequence[OutboxPart]:
        """Return the parts of replies of which nobody knows whether they were delivered."""
        return await self._turns.services.store.doubtful(self.key)

    async def submit_background(self, text: str) -> str:
        """Let a request be answered beside this conversation, and return the id of its turn."""
        turn = self._turn
        # another message than the one that is answered already
        message = replace(turn.message, text=text, external_id="")
        receipt = await self._turns.submit_background(turn.key, message, turn.caller)
        return receipt.ref.turn
