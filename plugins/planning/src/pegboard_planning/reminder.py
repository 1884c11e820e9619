"""What a model is told of the list without having asked: where it stands, and that it is old."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from pegboard import ChatRequest, Message, Text
from pegboard_planning.item import WorkList
from pegboard_planning.kept import Talk, read
from pegboard_planning.shown import checklist

if TYPE_CHECKING:
    from pegboard import ModelRequestEvent, Storage

STEPS: Final = 10
"""Answers of the model without a change of the list, after which it is reminded."""
CHANGES: Final = frozenset(
    {
        "update_plan", "write_todos", "set_plan", "planning__update_plan",
        "TaskCreate", "task_create", "create_task", "planning__TaskCreate",
        "TaskUpdate", "task_update", "update_task", "planning__TaskUpdate",
    }
)  # fmt: skip
"""Every name of a tool that changes the list."""
WHOLE: Final = frozenset({"update_plan", "planning__update_plan"})
"""The names under which the tool that replaces the plan is declared."""
LOOKS: Final = frozenset({"TaskList", "task_list", "list_tasks", "planning__TaskList"})
"""Every name of one that shows all of it."""
_SHOWN: Final = "[The list of work of this conversation, as it is now.]"
_OLD: Final = (
    f"[The list of work was not changed for {STEPS} steps. If it is no longer true, bring it up to "
    "date: complete what is done, take off what is not needed. Do not mention this note.]"
)
_REMEMBERED: Final = 64


class Reminder:
    """Adds to requests what the model must know of the list.

    Args:
        storage: Where the lists are.
    """

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._shown: dict[Talk, str] = {}

    async def reminded(self, event: ModelRequestEvent) -> ChatRequest | None:
        """Return the request with what is to be added, or None when nothing is."""
        request, talk = event.request, Talk(event.conversation, event.epoch)
        if not event.conversation or CHANGES.isdisjoint(tool.name for tool in request.tools):
            return None
        messages = request.messages
        if answers_since(messages, CHANGES | LOOKS) is None:
            text = await self._now(talk, event.step, messages)
            return replace(request, messages=shown_in(messages, text)) if text else None
        self._shown.pop(talk, None)
        if not is_old(messages):
            return None
        work = await read(self._storage, talk)
        if not work.open:
            return None
        note = with_note(messages[-1], f"{_OLD}\n{checklist(work)}")
        return replace(request, messages=(*messages[:-1], note))

    async def _now(self, talk: Talk, step: int, messages: Sequence[Message]) -> str:
        """Return the list for a model that can't see it, the same in every step of a turn."""
        known = self._shown.get(talk)
        if step > 1 and known is not None:
            return known
        begun = any(message.role == "assistant" for message in messages)
        # before the first answer nobody can have made a list
        text = _text(await read(self._storage, talk)) if begun else ""
        self._shown.pop(talk, None)
        self._shown[talk] = text
        if len(self._shown) > _REMEMBERED:
            del self._shown[next(iter(self._shown))]
        return text


def without_plan(request: ChatRequest) -> ChatRequest | None:
    """Return a request without the tool that replaces the whole plan, or None when it has none.

    Whether a tool is available is only asked of one that was called before.
    """
    left = tuple(tool for tool in request.tools if tool.name not in WHOLE)
    return None if len(left) == len(request.tools) else replace(request, tools=left)


def answers_since(messages: Sequence[Message], names: Collection[str]) -> int | None:
    """Return how many answers came since the last one that called one of these tools, or None."""
    count = 0
    for message in reversed(messages):
        if message.role == "assistant":
            if any(call.name in names for call in message.calls):
                return count
            count += 1
    return None


def is_old(messages: Sequence[Message]) -> bool:
    """Tell whether now is the time to remind a model that sees the list.

    Not after an answer of its own: what paused goes on where it stopped.
    """
    if not messages or not (messages[-1].role == "user" or messages[-1].results):
        return False
    count = answers_since(messages, CHANGES)
    return count is not None and count > 0 and count % STEPS == 0


def shown_in(messages: Sequence[Message], text: str) -> tuple[Message, ...]:
    """Return the messages with the list behind the person's last words.

    There it stays where it is while a turn goes on, so that what a provider has read can be cached.
    """
    asked = [index for index, message in enumerate(messages) if message.role == "user"]
    if not asked:
        return tuple(messages)
    place = asked[-1]
    return (*messages[:place], with_note(messages[place], text), *messages[place + 1 :])


def with_note(message: Message, text: str) -> Message:
    """Return a message of the person, or results, with a note at its end.

    A message of its own would be a second one of the same side, which some models refuse.
    """
    if message.role != "tool":
        return replace(message, parts=(*message.parts, Text(text)))
    *others, last = message.results
    return replace(message, results=(*others, replace(last, parts=(*last.parts, Text(text)))))


def _text(work: WorkList) -> str:
    return f"{_SHOWN}\n{checklist(work)}" if work.open else ""
