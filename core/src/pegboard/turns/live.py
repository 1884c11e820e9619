"""The turns that somebody in this process follows, or that run in it."""

from __future__ import annotations

from dataclasses import dataclass, field

import anyio

from pegboard.contracts.channel import Channel, Emit, TurnOutcome
from pegboard.contracts.turn import TurnRef
from pegboard.turns.emitted_events import EmittedEvents


@dataclass(slots=True, eq=False)
class LiveTurn:
    """What this process holds of a turn beside what the store keeps.

    Args:
        channel: The channel it came from, when it is not one that the host runs.
        sinks: What takes its events, beside the channel's own `stream`.
        waited: True when a call waits for it: the turn ends with the call.
        given_up: True when that call was cancelled.
        emitted: What those who watch it were told of it.
        unsent: Parts of its reply that were tried and certainly not sent.
        tried_since: When its reply was first tried here, by a clock that nobody sets, or None.
        scope: The attempt that runs now, or None.
        outcome: How it ended.
        ended: Set once it has.
    """

    channel: Channel | None = None
    sinks: list[Emit] = field(default_factory=list)
    waited: bool = False
    given_up: bool = False
    emitted: EmittedEvents = field(default_factory=EmittedEvents)
    unsent: set[int] = field(default_factory=set)
    tried_since: float | None = None
    scope: anyio.CancelScope | None = None
    outcome: TurnOutcome | None = None
    ended: anyio.Event = field(default_factory=anyio.Event)


class LiveTurns:
    """The live turns, by id of the turn."""

    def __init__(self) -> None:
        self._turns: dict[str, LiveTurn] = {}
        self._refs: dict[str, TurnRef] = {}

    @property
    def running(self) -> tuple[TurnRef, ...]:
        """The turns that run now."""
        return tuple(
            self._refs[id] for id, live in self._turns.items() if live.scope and id in self._refs
        )

    def follow(self, turn: str, live: LiveTurn) -> None:
        """Let somebody follow a turn from its start."""
        self._turns[turn] = live

    def get(self, turn: str) -> LiveTurn | None:
        """Return a live turn, or None."""
        return self._turns.get(turn)

    def begun(self, ref: TurnRef) -> LiveTurn:
        """Return the live turn of an attempt that begins."""
        self._refs[ref.turn] = ref
        return self._turns.setdefault(ref.turn, LiveTurn())

    def leave(self, turn: str) -> None:
        """Forget a turn that is not over, unless somebody waits for it."""
        live = self._turns.get(turn)
        if live is not None and not live.sinks and not live.waited:
            self._drop(turn)

    def end(self, turn: str, outcome: TurnOutcome) -> None:
        """Tell who waits for a turn how it ended."""
        live = self._turns.get(turn)
        if live is not None:
            live.outcome = outcome
            live.ended.set()
            self._drop(turn)

    def end_all(self, outcome: TurnOutcome) -> None:
        """Let go of everybody who waits: this host delivers no more turns."""
        for turn in tuple(self._turns):
            self.end(turn, outcome)

    def _drop(self, turn: str) -> None:
        self._turns.pop(turn, None)
        self._refs.pop(turn, None)
