"""What decides when and where a turn runs. The truth about turns is in the store."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol

from pegboard.contracts.archive import Archive
from pegboard.contracts.clock import Clock
from pegboard.contracts.store import Store
from pegboard.contracts.turn import TurnRef


class After(Enum):
    """What an engine does with a turn after a delivery of it."""

    DONE = "done"
    """It is over, for this engine: never deliver it again."""
    BUSY = "busy"
    """It can't be begun yet: deliver it again in a short while."""
    FENCED = "fenced"
    """Another attempt owns it: drop this delivery."""


@dataclass(frozen=True, slots=True)
class Later:
    """Deliver the turn again at a time, or when its conversation is poked.

    Args:
        at: Seconds since the epoch; None = only when poked.
    """

    at: float | None = None


Outcome = After | Later


@dataclass(slots=True)
class Lease:
    """A delivery, for as long as it runs.

    Args:
        key: Key of the conversation.
        poked: Called when somebody pokes the key while the turn runs; the handler may set it. It
            must return at once and raise nothing.
        due: The time of the `Later` after which this delivery comes, where it was waited for in
            full; None = it was not. The clock may have been set back meanwhile: what was due by
            then is due all the same.
    """

    key: str
    poked: Callable[[], None] = field(default=lambda: None)
    due: float | None = None


Handler = Callable[[TurnRef, Lease], Awaitable[Outcome]]
"""Runs a turn. What it raises is logged; the turn is delivered again in a while.

One that has begun a turn ends its attempt whatever happens, also when it fails or is cancelled:
`Store.finish`, `wait` or `release`.
"""
Accepts = Callable[[TurnRef], bool]
"""Tells which turns a host delivers: those of the channels that it runs."""


def accept_all(ref: TurnRef) -> bool:
    """Accept every turn."""
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineStats:
    """What an engine does now.

    Args:
        running: Deliveries that run.
        waiting: Turns that are ready and wait for a slot or for their conversation.
        later: Turns that wait for a time or for a poke.
        keys: Conversations that have a turn in the engine.
        background: Those of `running` that nobody waits for.
    """

    running: int = 0
    waiting: int = 0
    later: int = 0
    keys: int = 0
    background: int = 0


class Engine(Protocol):
    """Dispatches turns: at least once each, one at a time for a key, in order while all goes well.

    The host checks order and ownership with every `Store.begin`, so neither is required of an
    engine after a crash. Different keys run side by side; a key with many waiting turns does not
    delay others, and what nobody waits for never takes the last slots from a person. A host that
    dies leaves its turns to another that accepts them, or to its next start.
    """

    async def submit(self, ref: TurnRef) -> None:
        """Take a turn that was ingested; the same one twice is harmless."""
        ...

    async def serve(self, handler: Handler, *, slots: int) -> None:
        """Deliver turns until cancelled or closed, at most `slots` at a time.

        Begins with what is open in the store. What it had not begun when it ends stays open there.
        """
        ...

    async def poke(self, key: str) -> None:
        """Tell a conversation that something changed: wake what waits, tell what runs.

        Not lost when it comes while a handler is about to answer `Later`.
        """
        ...

    def stats(self) -> EngineStats:
        """Return what it does now."""
        ...

    async def close(self, grace_s: float) -> None:
        """Deliver no more; let what runs finish for `grace_s` seconds, then cancel it."""
        ...


class Backend(Protocol):
    """A place to keep the truth, and an engine on it: a contribution of the kind `backend`.

    Several backends on one place work together, each for a host of its own. What else a host keeps
    stays in files of its own on its machine: the audit log, blobs, and what plugins keep. How a
    place is copied and checked is its own tools' business.
    """

    @property
    def archive(self) -> Archive:
        """What was said there, to be found, exported, erased and to expire; once it is open."""
        ...

    async def open(
        self, settings: Mapping[str, Any], clock: Clock, *, accepts: Accepts = accept_all
    ) -> tuple[Store, Engine]:
        """Open store and engine.

        Args:
            settings: What the config file says about it, `[backends.NAME]`.
            clock: The host's clock.
            accepts: Tells which turns this host delivers; the others are left to other hosts.

        Raises:
            StoreError: When that can't be done; says why and how to mend it.
        """
        ...

    async def aclose(self) -> None:
        """Close both; a second time does nothing."""
        ...
