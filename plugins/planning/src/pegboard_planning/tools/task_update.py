"""The tool `TaskUpdate`."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pegboard import Arg, ToolContext, ToolHelp, ToolResult, tool
from pegboard_planning.changes import Change, changed, found
from pegboard_planning.item import (
    MAX_DESCRIPTION,
    MAX_ITEMS,
    MAX_OWNER,
    MAX_SUBJECT,
    Status,
    WorkList,
)
from pegboard_planning.kept import Changed, change
from pegboard_planning.shown import facts, line

_IDS: Final = {"max_length": MAX_ITEMS}


@tool(
    name="TaskUpdate",
    effects={"state_write"},
    policy_class="read_only",  # as for update_plan
    category="planning",
    aliases=("task_update", "update_task"),
    on_interrupt="reconcile",
    help=ToolHelp(
        when_to_use="When work on a task begins (in_progress), when it is done (completed), and "
        "when it turns out to be another one.",
        examples=(
            '{"taskId": "2", "status": "in_progress", "owner": "reviewer"}',
            '{"taskId": "3", "addBlockedBy": ["1", "2"]}',
        ),
        failure_modes=(
            "not_found: there is no such task; the list is named",
            "bad_task: two tasks would wait for each other, or there is too much metadata",
        ),
    ),
)
async def task_update(
    ctx: ToolContext,
    taskId: Annotated[
        str, Arg("Number of the task.", min_length=1, max_length=20, aliases=("task_id", "id"))
    ],
    status: Annotated[
        Status | Literal["deleted"] | None,
        Arg("How far it is; deleted takes it off the list for good."),
    ] = None,
    subject: Annotated[
        str | None,
        Arg("What is to be done, in a few words.", max_length=MAX_SUBJECT, aliases=("title",)),
    ] = None,
    description: Annotated[
        str | None, Arg("What belongs to it, and when it is done.", max_length=MAX_DESCRIPTION)
    ] = None,
    activeForm: Annotated[
        str | None,
        Arg(
            "What is being done while it is in progress.",
            max_length=MAX_SUBJECT,
            aliases=("active_form",),
        ),
    ] = None,
    owner: Annotated[str | None, Arg("Who does it; empty = nobody.", max_length=MAX_OWNER)] = None,
    addBlocks: Annotated[
        list[str] | None,
        Arg("Numbers of tasks that wait for this one.", aliases=("add_blocks",), **_IDS),
    ] = None,
    addBlockedBy: Annotated[
        list[str] | None,
        Arg("Numbers of tasks that this one waits for.", aliases=("add_blocked_by",), **_IDS),
    ] = None,
    metadata: Annotated[
        dict[str, Any] | None,
        Arg("What to add to its metadata, by name; null takes a name out."),
    ] = None,
) -> ToolResult:
    """Change a task of the shared list of work: how far it is, what it is, what it waits for.

    What you leave out stays as it is.
    """
    wanted = Change(
        subject=subject,
        description=description,
        active_form=activeForm,
        owner=owner,
        status=status,
        add_blocks=addBlocks or (),
        add_blocked_by=addBlockedBy or (),
        metadata=metadata,
    )

    def make(work: WorkList) -> Changed:
        item = found(work, taskId)
        return Changed(changed(work, item.id, wanted), item.id)

    work, id = await change(ctx, make)
    return ToolResult(output=_told(work, id), structured={"task": id, **facts(work)})


def _told(work: WorkList, id: str) -> str:
    """Return what became of a task, and what can be begun now that it is done."""
    item = work.find(id)
    if item is None:
        return f"Task #{id} is off the list."
    lines = [line(work, item)]
    if item.status == "completed":
        free = [
            other for other in work.open if id in other.blocked_by and not work.waits_for(other)
        ]
        lines.extend(f"It waits for nothing any more: {line(work, other)}" for other in free)
    return "\n".join(lines)
