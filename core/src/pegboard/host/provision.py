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
from pegboard.host.model_choice import ModelChoice
from pegboard.host.parts import HostParts
from pegboard.host.places import Place
from pegboard.host.turn_options import TurnOptions
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
        turn_options = TurnOptions.of(turn)
        place = await spaces.workspace.at(turn_options.folder, run=turn.id)
        agents = place.agents
        agent = agents.get(caller.agent)
        model_choice = agent.model_choice
        if not (model_choice.provider or model_choice.model):
            model_choice = turn_options.model_choice(place, model_choice)
        scope = await self._scope(turn, place, model_choice)
        offered = self._parts.dispatcher.offered(caller, scope)
        return TurnParts(
            route=await self._parts.models.route(*model_choice),
            prompt=place.prompts.base(agent.id, caller.run_profile),
            dispatch_step=spaces.dispatch_step(scope, caller),
            declare=spaces.declare(scope, caller),
            deferred=self._parts.deferral.declared(offered).deferred,
            max_steps=agent.max_steps or place.config.get("agent.max_steps", 100),
            effort=turn_options.effort or agent.effort or place.config.get("agent.effort"),
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
        place = await spaces.workspace.at(TurnOptions.of(turn).folder, run=turn.id)
        scope = await self._scope(turn, place)
        return _OneCall(
            dispatch_step=spaces.dispatch_step(scope, turn.caller),
            close=partial(spaces.close, scope),
        )

    async def _scope(
        self, turn: Turn, place: Place, model_choice: ModelChoice | None = None
    ) -> RunScope:
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
            model_choice=model_choice,
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
