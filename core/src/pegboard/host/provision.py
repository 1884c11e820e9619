"""What the host provides for each turn: a route, a prompt, tools, a record of its calls."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import partial

from pegboard.contracts.caller import Caller
from pegboard.contracts.clock import Clock
from pegboard.contracts.turn import Begun
from pegboard.host.parts import HostParts
from pegboard.host.wishes import TurnWishes
from pegboard.turns.journal import TurnJournal
from pegboard.turns.setup import Turn, TurnParts


class TurnProvision:
    """Provides for turns out of the host's rooms.

    Args:
        parts: The rooms, joined.
        clock: Time.
    """

    def __init__(self, parts: HostParts, clock: Clock) -> None:
        self._parts = parts
        self._clock = clock

    async def parts_of(self, turn: Turn) -> TurnParts:
        """Return what a turn needs, for the folder and the agent that it is for.

        Raises:
            PegboardError: When there is no provider, or a plugin that it needs is broken.
        """
        spaces, caller = self._parts.spaces, turn.caller
        wishes = TurnWishes.of(turn)
        place = await spaces.workspace.at(wishes.folder, run=turn.id)
        agents = place.agents
        agent = agents.get(caller.agent)
        asks = agent.asks
        if not (asks.provider or asks.model):
            asks = wishes.asks(place, asks)
        scope = await spaces.scope(
            caller,
            run=turn.id,
            conversation=turn.conversation,
            reply=turn.reply,
            emit=turn.emit,
            journal=turn.journal,
            kept=None if turn.journal is None else turn.journal.kept,
            filter=place.filter,
            place=place,
            asks=asks,
        )
        offered = self._parts.dispatcher.offered(caller, scope)
        return TurnParts(
            route=await self._parts.models.route(*asks),
            prompt=place.prompts.base(agent.id, caller.run_profile),
            dispatch_step=spaces.dispatch_step(scope, caller),
            declare=spaces.declare(scope, caller),
            deferred=self._parts.deferral.declared(offered).deferred,
            max_steps=agent.max_steps or place.config.get("agent.max_steps", 100),
            effort=wishes.effort or agent.effort or place.config.get("agent.effort"),
            timeout_s=agent.timeout_s,
            heir=lambda name: agents.heir(agent.id, name).id,
            digests=spaces.digests(scope, caller),
            blobs=spaces.blobs,
            close=partial(spaces.close, scope),
        )

    def leased(self, caller: Caller) -> AbstractContextManager[Caller]:
        """Give a caller what it holds for the time of a run."""
        if not self._parts.leases.counts:
            return nullcontext(caller)
        return self._parts.spaces.leased(caller)

    def journal(self, begun: Begun) -> TurnJournal:
        """Return the record of an attempt's calls."""
        turn = begun.turn
        return TurnJournal(
            self._parts.store,
            turn.ref.turn,
            turn.fence,
            begun.calls,
            blobs=self._parts.spaces.blobs,
            clock=self._clock,
        )
