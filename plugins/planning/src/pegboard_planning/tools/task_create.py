"""The tool `TaskCreate`."""

from __future__ import annotations

from typing import Annotated, Any

from pegboard import Arg, ToolContext, ToolHelp, ToolResult, tool
from pegboard_planning.changes import created
from pegboard_planning.item import MAX_DESCRIPTION, MAX_SUBJECT, Item, WorkList
from pegboard_planning.kept import Changed, change
from pegboard_planning.shown import facts


@tool(
    name="TaskCreate",
    effects={"state_write"},
    policy_class="read_only",  # as for update_plan
    category="planning",
    aliases=("task_create", "create_task"),
    on_interrupt="reconcile",
    help=ToolHelp(
        when_to_use="For work of several steps: one call for each, before the first of them.",
        examples=('{"subject": "Run the tests", "description": "make test; all must pass"}',),
        failure_modes=("list_full: the list holds no more tasks", "bad_task: too much metadata"),
    ),
)
async def task_create(
    ctx: ToolContext,
    subject: Annotated[
        str,
        Arg(
            "What is to be done, in a few words.",
            min_length=1,
            max_length=MAX_SUBJECT,
            aliases=("title",),
        ),
    ],
    description: Annotated[
        str, Arg("What belongs to it, and when it is done.", max_length=MAX_DESCRIPTION)
    ] = "",
    activeForm: Annotated[
        str,
        Arg(
            "What is being done while it is in progress, as in: Running the tests.",
            max_length=MAX_SUBJECT,
            aliases=("active_form",),
        ),
    ] = "",
    metadata: Annotated[dict[str, Any] | None, Arg("What else to keep with it, by name.")] = None,
) -> ToolResult:
    """Put a task on the list of work that everybody in this conversation shares.

    It is pending, belongs to nobody and waits for nothing; TaskUpdate changes that.
    """
    item = Item(
        id="",
        subject=subject,
        description=description,
        active_form=activeForm,
        metadata=metadata or {},
    )

    def make(work: WorkList) -> Changed:
        return Changed(created(work, item), str(work.next))

    work, id = await change(ctx, make)
    new = work.find(id)
    said = f"Task #{id} is on the list" + (f": {new.subject}" if new else ".")
    return ToolResult(output=said, structured={"task": id, **facts(work)})
