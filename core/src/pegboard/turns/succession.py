"""The agents that answer a turn: the one it began with, and those it was handed over to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from pegboard.agent.prompt import date_note
from pegboard.agent.setup import Successor
from pegboard.contracts.clock import Clock
from pegboard.contracts.errors import UsageError
from pegboard.contracts.message import Message
from pegboard.contracts.result import Handoff
from pegboard.contracts.stream import Noticed
from pegboard.turns.setup import PrepareTurn, Turn, TurnParts

MOST: Final = 5
"""How often one turn is handed over: agents that hand it to and fro answer nobody."""


class Succession:
    """What the host provides for a turn, for each agent that has it in its turn.

    Args:
        turn: The turn as it began.
        prepare: Returns what the host provides for an agent: that of the turn's caller.
        clock: Time.

    Attributes:
        turn: The turn, as the agent that has it now answers it.
        before: What was said before the turn.
        user: The message that is answered.
    """

    def __init__(self, turn: Turn, prepare: PrepareTurn, clock: Clock) -> None:
        self.turn = turn
        self.before: Sequence[Message] = ()
        self.user: Message | None = None
        self._prepare = prepare
        self._clock = clock
        self._parts: list[TurnParts] = []

    async def begin(self) -> TurnParts:
        """Return what the host provides for the agent that the turn begins with.

        Raises:
            PegboardError: When the turn can't be run.
        """
        parts = await self._prepare(self.turn)
        self._parts.append(parts)
        return parts

    async def messages(self) -> list[Message]:
        """Return the conversation as the agent that has it now reads it."""
        parts = self._parts[-1]
        base = await parts.prompt.message(parts.deferred)
        said = [*self.before, *([] if self.user is None else [self.user])]
        return [base, date_note(self._clock.now()), *said]

    async def hand_over(self, control: Handoff) -> Successor:
        """Let another agent go on; it has its own prompt, route and tools, and the same person.

        Raises:
            UsageError: When the agent that has the turn can't hand it over to that one.
            PegboardError: When that one can't be run.
        """
        if len(self._parts) > MOST:
            raise UsageError(
                f"This turn was handed over {MOST} times already.", fix="Answer it yourself."
            )
        before = self.turn.caller.agent
        agent = self._parts[-1].heir(control.agent)
        turn = replace(self.turn, caller=replace(self.turn.caller, agent=agent))
        parts = await self._prepare(turn)
        self.turn = turn
        self._parts.append(parts)
        await turn.emit(Noticed(code="handed_over", text=f"{before} hands over to {agent}."))
        return Successor(
            messages=await self.messages(),
            note=_note(before, agent, control.message),
            route=parts.route,
            dispatch_step=parts.dispatch_step,
            declare=parts.declare,
            effort=parts.effort,
            digests=parts.digests,
        )

    def close(self, why: str) -> None:
        """End what the turn has started and that outlived it.

        Args:
            why: How the turn ended, as a sentence for whoever still waits for something of it.
        """
        for parts in self._parts:
            parts.close(why)


def _note(before: str, agent: str, message: str) -> str:
    """Return what the agent that goes on reads in place of the result of the call."""
    words = f" {before} says: {message}" if message.strip() else ""
    return f"You are {agent} and have this conversation now, from {before}; answer it.{words}"
