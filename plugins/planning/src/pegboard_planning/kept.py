"""The lists in the plugin's storage: one for each conversation, whoever works for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pegboard_planning.item import NOTHING, Item, WorkList

if TYPE_CHECKING:
    from pegboard import Storage, ToolContext

LISTS: Final = "lists"
OUTSIDE: Final = "@"
"""Key of the list of calls that belong to no conversation, before who made them."""
ANSWERED: Final = 200
"""Changes whose result is known when a call of them is made again."""


class Talk(NamedTuple):
    """The conversation that a list belongs to, since it was last begun anew.

    Args:
        key: Its key.
        epoch: How often it was begun anew.
    """

    key: str
    epoch: int = 0


class Changed(NamedTuple):
    """A list after a change.

    Args:
        work: The list.
        id: The item that the change was about, or "".
    """

    work: WorkList
    id: str = ""


def talk_of(ctx: ToolContext) -> Talk:
    """Return the conversation that a call is made for, also where a child run makes it."""
    key = ctx.call.owner.conversation
    return Talk(key, ctx.call.epoch) if key else Talk(f"{OUTSIDE}{ctx.caller.sender}")


async def read(storage: Storage, talk: Talk) -> WorkList:
    """Return the list of a conversation; an empty one when there is none."""
    return _work(await storage.get(LISTS, talk.key), talk)


async def change(ctx: ToolContext, make: Callable[[WorkList], Changed]) -> Changed:
    """Change the list of the conversation that a call is made for, once for each call.

    A call that is made again, because the host was killed before its result was known, changes
    nothing any more and is told of the same item.

    Args:
        ctx: The call.
        make: Returns the list as it shall be; it may be called twice.

    Raises:
        ToolFailure: As `make`; the list is then as it was.
    """
    talk, call = talk_of(ctx), ctx.call.idempotency_key
    told = ""

    def work(document: Any) -> Any:
        nonlocal told
        answered = dict(document["answered"]) if _is_of(document, talk) else {}
        if call and call in answered:
            told = answered[call]
            return document
        made = make(_work(document, talk))
        told = made.id
        answered[call] = told
        return {
            "epoch": talk.epoch,
            **_form(made.work),
            "answered": list(answered.items())[-ANSWERED:],
        }

    owner = ctx.call.owner
    lasting = owner.lasting() if owner.conversation else replace(owner, turn="")
    document = await ctx.plugin.storage.update(LISTS, talk.key, work, of=lasting)
    return Changed(_work(document, talk), told)


def _is_of(document: Any, talk: Talk) -> bool:
    return document is not None and document["epoch"] == talk.epoch


def _work(document: Any, talk: Talk) -> WorkList:
    if not _is_of(document, talk):
        return NOTHING
    items = tuple(
        replace(item, blocked_by=tuple(item.blocked_by))
        for item in (Item(**form) for form in document["items"])
    )
    return WorkList(items=items, next=document["next"], explanation=document["explanation"])


def _form(work: WorkList) -> dict[str, Any]:
    return {
        "items": [asdict(item) for item in work.items],
        "next": work.next,
        "explanation": work.explanation,
    }
