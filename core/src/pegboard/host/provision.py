"""What the host provides for each turn: a route, a prompt, tools, a record of its calls."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import NamedTuple

from pegboard.agent.setup import DispatchStep
from pegboard.contracts.archive import Scope
from pegboard.contracts.caller import Caller
from pegboard.contracts.clock import Clock
from pegboard.contracts.turn import Begun
from pegboard.host.asks import Asks
from pegboard.host.parts import HostParts
from pegboard.host.places import Place
from pegboard.host.wishes import TurnWishes
from pegboard.tools.run_scope import RunScope
from pegboard.turns.journal import TurnJournal
from pegboard.turns.person_call import CallParts
from pegboard.turns.setup import Turn, TurnParts


class _OneCall(NamedTuple):
    """What the host provides for one call; implements `CallParts`."""

    dispatch_step: DispatchStep
    close: Callable[[str], None]


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
        scope = await self._scope(turn, place, asks)
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

    async def call_of(self, turn: Turn) -> CallParts:
        """Return what a chat command that is one call needs; no model is chosen for it.

        Raises:
            PegboardError: When a plugin that it needs is broken.
        """
        spaces = self._parts.spaces
        place = await spaces.workspace.at(TurnWishes.of(turn).folder, run=turn.id)
        scope = await self._scope(turn, place)
        return _OneCall(
            dispatch_step=spaces.dispatch_step(scope, turn.caller),
            close=partial(spaces.close, scope),
        )

    async def _scope(self, turn: Turn, place: Place, asks: Asks | None = None) -> RunScope:
        return await self._parts.spaces.scope(
            turn.caller,
            run=turn.id,
            turn=turn.id if turn.begun is not None else "",
            conversation=turn.conversation,
            epoch=await self._epoch(turn),
            reply=turn.reply,
            emit=turn.emit,
            journal=turn.journal,
            kept=None if turn.journal is None else turn.journal.kept,
            filter=place.filter,
            place=place,
            asks=asks,
        )

    async def _epoch(self, turn: Turn) -> int:
        """Return how often the conversation was begun anew; also for what is no turn of it."""
        if turn.begun is not None:
            return turn.begun.turn.epoch
        found = await self._parts.archive.conversations(Scope(key=turn.conversation))
        return found[0].epoch if found else 0

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
