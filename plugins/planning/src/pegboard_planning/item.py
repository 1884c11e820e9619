"""One piece of work, and the list of them. Values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

Status = Literal["pending", "in_progress", "completed"]

MAX_ITEMS: Final = 100
MAX_SUBJECT: Final = 500
MAX_DESCRIPTION: Final = 8_000
MAX_OWNER: Final = 100
MAX_METADATA: Final = 4_000
"""Characters of an item's metadata as JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One piece of work.

    Args:
        id: Its number, as text; no other item of the list ever has it.
        subject: What is to be done, in a line; a step of a plan is only that.
        status: How far it is.
        description: What belongs to it, or "".
        active_form: What is being done while it is in progress, or "".
        owner: Who does it, or "".
        blocked_by: Ids of the items that must be completed before it.
        metadata: What else a model keeps with it.
    """

    id: str
    subject: str
    status: Status = "pending"
    description: str = ""
    active_form: str = ""
    owner: str = ""
    blocked_by: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkList:
    """The work of a conversation, in its order.

    Args:
        items: Every item.
        next: Number of the next one.
        explanation: Why the plan was last changed, or "".
    """

    items: tuple[Item, ...] = ()
    next: int = 1
    explanation: str = ""

    def find(self, id: str) -> Item | None:
        """Return an item, or None."""
        return next((item for item in self.items if item.id == id), None)

    def waits_for(self, item: Item) -> tuple[Item, ...]:
        """Return the items that must be completed before this one and are not."""
        return tuple(
            other
            for other in self.items
            if other.id in item.blocked_by and other.status != "completed"
        )

    def holds_up(self, item: Item) -> tuple[str, ...]:
        """Return the ids of the items that wait for this one."""
        return tuple(other.id for other in self.items if item.id in other.blocked_by)

    @property
    def open(self) -> tuple[Item, ...]:
        """The items that are not completed."""
        return tuple(item for item in self.items if item.status != "completed")


NOTHING: Final = WorkList()
