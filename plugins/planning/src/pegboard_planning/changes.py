"""What the tools do to the list. Pure: a change that is refused leaves nothing behind."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from pegboard import ToolFailure
from pegboard_planning.item import MAX_ITEMS, MAX_METADATA, Item, Status, WorkList


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What becomes of an item; None = it stays as it is.

    Args:
        subject, description, active_form, owner: Its new texts.
        status: Its new status; `deleted` takes it off the list.
        add_blocks: Ids of items that wait for it from now on.
        add_blocked_by: Ids of items that it waits for from now on.
        metadata: What is added to its metadata; a value None takes the key out.
    """

    subject: str | None = None
    description: str | None = None
    active_form: str | None = None
    owner: str | None = None
    status: Status | Literal["deleted"] | None = None
    add_blocks: Sequence[str] = ()
    add_blocked_by: Sequence[str] = ()
    metadata: Mapping[str, Any] | None = None


def planned(work: WorkList, steps: Sequence[tuple[str, Status]], explanation: str) -> WorkList:
    """Return the list as a plan says it: these steps, in this order, and no others.

    A step with the text of one that is there is that one, with all that it has beside its status.

    Args:
        work: The list.
        steps: Text and status of each step.
        explanation: Why it changed, or "".

    Raises:
        ToolFailure: When a step comes twice or says nothing, or more than one is in progress.
    """
    texts = [" ".join(text.split()) for text, _ in steps]
    _check_steps(texts, [status for _, status in steps])
    known = {item.subject: item for item in reversed(work.items)}
    items, number = [], work.next
    for text, (_, status) in zip(texts, steps, strict=True):
        item = known.get(text)
        if item is None:
            item, number = Item(id=str(number), subject=text), number + 1
        items.append(replace(item, status=status))
    return _without_gone(replace(work, items=tuple(items), next=number, explanation=explanation))


def created(work: WorkList, item: Item) -> WorkList:
    """Return the list with one more item at its end, under the next number.

    Raises:
        ToolFailure: When the list is full, or the item says nothing or holds too much.
    """
    if len(work.items) >= MAX_ITEMS:
        raise ToolFailure(
            f"The list holds {MAX_ITEMS} tasks, and no more fit.",
            fix="Take completed ones off it: TaskUpdate with status deleted.",
            code="list_full",
        )
    new = replace(
        item, id=str(work.next), subject=_line(item.subject), metadata=_checked(item.metadata)
    )
    return replace(work, items=(*work.items, new), next=work.next + 1)


def changed(work: WorkList, id: str, change: Change) -> WorkList:
    """Return the list with one item changed, or without it.

    Raises:
        ToolFailure: When there is no such item, one that is named does not exist, or two would wait
            for each other.
    """
    item = found(work, id)
    if change.status == "deleted":
        left = tuple(other for other in work.items if other.id != item.id)
        return _without_gone(replace(work, items=left))
    texts: dict[str, Any] = {
        "subject": None if change.subject is None else _line(change.subject),
        "description": change.description,
        "active_form": change.active_form,
        "owner": None if change.owner is None else " ".join(change.owner.split()),
        "status": change.status,
    }
    new = replace(item, **{name: value for name, value in texts.items() if value is not None})
    if change.metadata is not None:
        merged = {**item.metadata, **change.metadata}
        kept = {key: value for key, value in merged.items() if value is not None}
        new = replace(new, metadata=_checked(kept))
    work = _with(work, new)
    for before, after in (
        *((other, item.id) for other in change.add_blocked_by),
        *((item.id, other) for other in change.add_blocks),
    ):
        work = _linked(work, number(before), number(after))
    return work


def found(work: WorkList, id: str) -> Item:
    """Return an item.

    Raises:
        ToolFailure: When there is none; says which there are.
    """
    item = work.find(number(id))
    if item is not None:
        return item
    known = ", ".join(f"#{other.id}" for other in work.items)
    raise ToolFailure(
        f"There is no task {id!r}.",
        fix=f"The list has {known}." if known else "The list is empty.",
        code="not_found",
    )


def number(id: str) -> str:
    """Return the id that a model means; many write it as it is shown."""
    return id.strip().removeprefix("#")


def _check_steps(texts: Sequence[str], statuses: Sequence[Status]) -> None:
    seen: set[str] = set()
    for text in texts:
        if not text:
            raise ToolFailure("A step has no text.", fix="Say what is to be done.", code="bad_plan")
        if text in seen:
            raise ToolFailure(
                f"The step {text!r} is there twice.",
                fix="Give each step a text of its own; nothing was changed.",
                code="bad_plan",
            )
        seen.add(text)
    if statuses.count("in_progress") > 1:
        raise ToolFailure(
            f"{statuses.count('in_progress')} steps are in_progress.",
            fix="Let one be in_progress and the others pending; nothing was changed.",
            code="bad_plan",
        )


def _line(text: str) -> str:
    line = " ".join(text.split())
    if not line:
        raise ToolFailure(
            "The task has no subject.", fix="Say what is to be done.", code="bad_task"
        )
    return line


def _checked(metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    size = len(json.dumps(metadata, ensure_ascii=False))
    if size > MAX_METADATA:
        raise ToolFailure(
            f"The metadata takes {size:,} characters; {MAX_METADATA:,} are kept.",
            fix="Put the rest into a file and name it here.",
            code="bad_task",
        )
    return metadata


def _linked(work: WorkList, before: str, after: str) -> WorkList:
    """Let the item `after` wait for the item `before`."""
    first, second = found(work, before), found(work, after)
    if _waits(work, first, second.id):
        raise ToolFailure(
            f"Task #{second.id} can't wait for #{first.id}, which waits for #{second.id} itself.",
            fix="Leave out one of the two; nothing was changed.",
            code="bad_task",
        )
    if first.id in second.blocked_by:
        return work
    return _with(work, replace(second, blocked_by=(*second.blocked_by, first.id)))


def _waits(work: WorkList, item: Item, id: str) -> bool:
    """Tell whether an item is another one, or waits for it, over however many in between."""
    seen, left = set[str](), [item.id]
    while left:
        current = left.pop()
        if current == id:
            return True
        if current not in seen:
            seen.add(current)
            here = work.find(current)
            left.extend(here.blocked_by if here else ())
    return False


def _with(work: WorkList, new: Item) -> WorkList:
    items = tuple(new if item.id == new.id else item for item in work.items)
    return replace(work, items=items)


def _without_gone(work: WorkList) -> WorkList:
    """Let nothing wait for what is not there."""
    known = {item.id for item in work.items}
    items = tuple(
        replace(item, blocked_by=tuple(id for id in item.blocked_by if id in known))
        for item in work.items
    )
    return replace(work, items=items)
