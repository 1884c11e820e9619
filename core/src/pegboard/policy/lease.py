"""Leases: what a run holds of its parent's capabilities, for how long, and until it is taken away.

The values are pure and frozen; `LeaseTable` is the one place where they change.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final, Literal

from pegboard.contracts.capability import Capability
from pegboard.contracts.errors import CapabilityDeniedError

LeaseKind = Literal["run", "fire"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """What one run, or one fire of a job, holds.

    Args:
        id: Its id; a `Caller` names it.
        root: The run or fire that began the chain; refusals are counted for it.
        parent: The lease that it came from, or "".
        kind: `run`, or `fire` for one firing of a scheduled job.
        capabilities: What it holds.
        expires: Monotonic time at which it ends, in seconds.
    """

    id: str
    root: str
    parent: str = ""
    kind: LeaseKind = "run"
    capabilities: frozenset[Capability] = frozenset()
    expires: float = math.inf

    def child(
        self, id: str, *, requested: Iterable[Capability] | None = None, expires: float = math.inf
    ) -> Lease:
        """Return a lease that holds at most what this one does, for at most as long.

        Args:
            id: Id of the new lease.
            requested: What it asks for; None = everything that this one holds.
            expires: Monotonic time at which it should end, in seconds.
        """
        return replace(
            self,
            id=id,
            parent=self.id,
            capabilities=meet(self.capabilities, requested),
            expires=min(self.expires, expires),
        )


def meet(
    held: frozenset[Capability], requested: Iterable[Capability] | None
) -> frozenset[Capability]:
    """Return what is both held and requested; None = all that is held is requested."""
    return held if requested is None else held & frozenset(requested)


@dataclass(frozen=True, slots=True)
class DenialBreaker:
    """Counts refusals in a row; open once there were too many, and then for good.

    Args:
        limit: Refusals in a row that open it.
        refused: Refusals in a row so far.
    """

    limit: int
    refused: int = 0

    @property
    def open(self) -> bool:
        """True when nothing may run any more."""
        return self.refused >= self.limit

    def after(self, *, denied: bool) -> DenialBreaker:
        """Return the breaker after one more decision."""
        if self.open:
            return self
        return replace(self, refused=self.refused + 1 if denied else 0)


@dataclass(frozen=True, slots=True, eq=False)
class Leases:
    """All leases at one moment. Never changes; compared by identity, which is quick.

    Args:
        live: Lease by id.
        stopped: Roots whose breaker is open.
    """

    live: Mapping[str, Lease] = field(default_factory=dict)
    stopped: frozenset[str] = frozenset()

    def aborted(self, id: str) -> bool:
        """Tell whether the run of a lease was stopped: its breaker is open."""
        lease = self.live.get(id)
        return lease is not None and lease.root in self.stopped

    def at(self, now: float) -> Leases:
        """Return the leases that have not ended by a monotonic time; these ones when all live."""
        live = {id: lease for id, lease in self.live.items() if now < lease.expires}
        return self if len(live) == len(self.live) else Leases(live, self.stopped)


NO_LEASES: Final = Leases()


class LeaseTable:
    """Issues leases and takes them away; every change makes new frozen `leases`.

    Args:
        new_id: Returns the id of a new lease.
        changed: Told of the leases after each change.
        longest_s: Seconds that a lease lives at most.
        refusals: Refusals in a row after which a run is stopped; None = never.
    """

    def __init__(
        self,
        *,
        new_id: Callable[[], str],
        changed: Callable[[Leases], None],
        longest_s: float = math.inf,
        refusals: int | None = None,
    ) -> None:
        self.leases = NO_LEASES
        self._new_id = new_id
        self._changed = changed
        self._longest_s = longest_s
        self._refusals = refusals
        self._breakers: dict[str, DenialBreaker] = {}

    @property
    def counts(self) -> bool:
        """True when refusals are counted, so that every run needs a lease."""
        return self._refusals is not None

    def issue(
        self,
        held: frozenset[Capability],
        *,
        now: float,
        lifetime_s: float = math.inf,
        parent: str = "",
        requested: Iterable[Capability] | None = None,
        kind: LeaseKind = "run",
    ) -> Lease:
        """Return a new lease.

        Args:
            held: What the operator's profile gives; no lease holds more.
            now: Monotonic time, in seconds.
            lifetime_s: Seconds that it should live.
            parent: The lease of the run that asks, or "" when it has none.
            requested: What it asks for; None = everything that may be had.
            kind: `run` or `fire`. A fire is its own root.

        Raises:
            CapabilityDeniedError: When the parent's lease has ended.
        """
        id = self._new_id()
        expires = now + min(lifetime_s, self._longest_s)
        live = dict(self.leases.at(now).live)
        above = live.get(parent)
        if parent and above is None:
            raise CapabilityDeniedError(
                "The lease of the run that asks has ended, so it can't start another.",
                fix="Start again in a new turn.",
            )
        if above is None:
            lease = Lease(id=id, root=id, kind=kind, capabilities=held, expires=math.inf)
            lease = replace(lease, capabilities=meet(held, requested), expires=expires)
        else:
            lease = above.child(id, requested=requested, expires=expires)
            lease = replace(lease, capabilities=lease.capabilities & held)
            if kind == "fire":
                lease = replace(lease, kind=kind, root=id)
        live[id] = lease
        self._exchange(live, self.leases.stopped)
        return lease

    def revoke(self, id: str) -> None:
        """End a lease and all that came from it; their runs may call nothing any more."""
        gone = set(_below(self.leases.live, id))
        live = {name: lease for name, lease in self.leases.live.items() if name not in gone}
        self._exchange(live, self.leases.stopped)

    def evict(self, id: str) -> None:
        """Take every capability from a lease and all that came from it; their runs go on."""
        live = dict(self.leases.live)
        for name in _below(live, id):
            live[name] = replace(live[name], capabilities=frozenset())
        self._exchange(live, self.leases.stopped)

    def note(self, id: str, *, denied: bool) -> None:
        """Count a decision about a call of a leased run."""
        lease = self.leases.live.get(id)
        if lease is None or self._refusals is None:
            return
        before = self._breakers.get(lease.root) or DenialBreaker(self._refusals)
        after = self._breakers[lease.root] = before.after(denied=denied)
        if after.open and not before.open:
            self._exchange(self.leases.live, self.leases.stopped | {lease.root})

    def _exchange(self, live: Mapping[str, Lease], stopped: frozenset[str]) -> None:
        roots = {lease.root for lease in live.values()}
        self._breakers = {root: item for root, item in self._breakers.items() if root in roots}
        self.leases = Leases(MappingProxyType(dict(live)), stopped & roots)
        self._changed(self.leases)


def _below(live: Mapping[str, Lease], id: str) -> Iterator[str]:
    """Yield a lease and all that came from it."""
    if id in live:
        yield id
    for name, lease in live.items():
        if lease.parent == id:
            yield from _below(live, name)
