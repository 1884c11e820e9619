"""Keeps a list of the work of each conversation, by the tools that families of models know."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from pegboard import Plugin
from pegboard_planning.reminder import Reminder, without_plan
from pegboard_planning.tools.task_create import task_create
from pegboard_planning.tools.task_get import task_get
from pegboard_planning.tools.task_list import task_list
from pegboard_planning.tools.task_update import task_update
from pegboard_planning.tools.update_plan import update_plan

if TYPE_CHECKING:
    from pegboard import ChatRequest, ModelRequestEvent, PluginContext

plugin = Plugin(summary="Tools for a list of the work of a conversation: a plan, or tasks.")
plugin.add_tools(task_create, task_get, task_list, task_update, update_plan)
plugin.chat_command("plan", tool="TaskList", summary="show what is planned here, and how far it is")

_reminders: list[Reminder] = []
"""That of each host in this process; a hook is told of the request alone, not of its host."""


@plugin.lifespan
async def lifespan(context: PluginContext) -> AsyncIterator[None]:
    """Let the hook reach what is kept."""
    reminder = Reminder(context.storage)
    _reminders.append(reminder)
    try:
        yield
    finally:
        _reminders.remove(reminder)


@plugin.hook
async def pegboard_model_request(event: ModelRequestEvent) -> ChatRequest | None:
    """Show the list where the model no longer sees it, and remind of it when it is old.

    A worker, which can't replace the plan, is not offered to: what is then left are the tasks.
    """
    if event.caller.depth:
        return without_plan(event.request)
    if len(_reminders) != 1:  # which of them keeps this list can't be told: rather nobody's
        return None
    return await _reminders[0].reminded(event)
