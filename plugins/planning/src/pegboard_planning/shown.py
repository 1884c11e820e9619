"""The list as models and people read it, and as programs do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pegboard_planning.item import Item, Status, WorkList

EMPTY: Final = "The list is empty."
_MARKS: Final[Mapping[Status, str]] = {"pending": "[ ]", "in_progress": "[>]", "completed": "[x]"}


def checklist(work: WorkList) -> str:
    """Return the whole list, a line for each item, below how much of it is done."""
    if not work.items:
        return EMPTY
    done = len(work.items) - len(work.open)
    return "\n".join(
        [f"{done} of {len(work.items)} done", *(line(work, item) for item in work.items)]
    )


def line(work: WorkList, item: Item) -> str:
    """Return an item in one line."""
    facts = [item.owner] if item.owner else []
    waits = ", ".join(f"#{other.id}" for other in work.waits_for(item))
    if waits:
        facts.append(f"waits for {waits}")
    behind = f" ({'; '.join(facts)})" if facts else ""
    return f"{_MARKS[item.status]} #{item.id} {item.subject}{behind}"


def details(work: WorkList, item: Item) -> str:
    """Return all that is known of an item."""
    lines = [line(work, item), f"status: {item.status}"]
    if item.active_form:
        lines.append(f"while it is in progress: {item.active_form}")
    if item.blocked_by:
        lines.append(f"blocked by: {_numbers(item.blocked_by)}")
    if work.holds_up(item):
        lines.append(f"blocks: {_numbers(work.holds_up(item))}")
    lines.extend(f"{key}: {value}" for key, value in item.metadata.items())
    if item.description:
        lines.extend(["", item.description])
    return "\n".join(lines)


def facts(work: WorkList) -> dict[str, Any]:
    """Return the whole list as data."""
    found: dict[str, Any] = {"items": [fact(work, item) for item in work.items]}
    if work.explanation:
        found["explanation"] = work.explanation
    return found


def fact(work: WorkList, item: Item) -> dict[str, Any]:
    """Return an item as data."""
    optional = {
        "description": item.description,
        "activeForm": item.active_form,
        "owner": item.owner,
        "blockedBy": list(item.blocked_by),
        "blocks": list(work.holds_up(item)),
        "metadata": dict(item.metadata),
    }
    return {
        "id": item.id,
        "subject": item.subject,
        "status": item.status,
        **{name: value for name, value in optional.items() if value},
    }


def _numbers(ids: tuple[str, ...]) -> str:
    return ", ".join(f"#{id}" for id in ids)
