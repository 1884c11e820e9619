"""The child runs of a host that run now: none is in it that has ended, however it ended."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import anyio


@dataclass(slots=True, kw_only=True, eq=False)
class Child:
    """One child run that runs now.

    Args:
        run: Its id.
        parent: Id of the run that started it.
        conversation: Key of the conversation that the parent belongs to, or "".
        epoch: How often that conversation was begun anew.
        agent: Id of the named agent that does the work.
        prompt: What it shall do.
        began: Monotonic time, in seconds.
        why: Why it was stopped, or "".
    """

    run: str
    parent: str
    conversation: str = ""
    epoch: int = 0
    agent: str = "main"
    prompt: str = ""
    began: float = 0.0
    why: str = ""
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)

    def stop(self, why: str) -> None:
        """End it; the call that waits for it is told why."""
        self.why = self.why or why
        self.scope.cancel()


class ChildTable:
    """Child runs by id, for as long as they run."""

    def __init__(self) -> None:
        self._children: dict[str, Child] = {}

    def __iter__(self) -> Iterator[Child]:
        """Yield those that run now, the oldest first."""
        return iter(tuple(self._children.values()))

    def __len__(self) -> int:
        """Return how many run now."""
        return len(self._children)

    def of(self, parent: str) -> tuple[Child, ...]:
        """Return those that a run has started."""
        return tuple(child for child in self if child.parent == parent)

    def stop(self, run: str, why: str) -> bool:
        """End one; False when there is none of that id, for it has ended meanwhile."""
        child = self._children.get(run)
        if child is None:
            return False
        child.stop(why)
        return True

    def stop_of(self, parent: str, why: str) -> int:
        """End all that a run has started and that outlived it; return how many there were.

        Args:
            parent: Id of the run, which is over.
            why: How it ended, for whoever still waits for one of them.
        """
        orphans = self.of(parent)
        for child in orphans:
            child.stop(why)
        return len(orphans)

    @contextmanager
    def running(self, child: Child) -> Iterator[None]:
        """Hold a child for the time of the block, in which it can be stopped."""
        self._children[child.run] = child
        try:
            with child.scope:
                yield
        finally:
            del self._children[child.run]
