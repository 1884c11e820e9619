"""The tool `update_plan`."""

from __future__ import annotations

from typing import Annotated, Final

# pydantic can read those of `typing` only from Python 3.12 on
from typing_extensions import TypedDict

from pegboard import Arg, ToolContext, ToolFailure, ToolHelp, ToolResult, tool
from pegboard_planning.changes import planned
from pegboard_planning.item import MAX_ITEMS, MAX_SUBJECT, Status
from pegboard_planning.kept import Changed, change
from pegboard_planning.shown import checklist, facts

_NOT_YOURS: Final = "the plan is that of the agent which gave you this work"


class Step(TypedDict):
    """One step of a plan."""

    step: Annotated[
        str,
        Arg(
            "What is to be done.",
            min_length=1,
            max_length=MAX_SUBJECT,
            aliases=("content", "description", "text"),
        ),
    ]
    status: Annotated[Status, Arg("How far it is; at most one step is in_progress.")]


def not_yours(ctx: ToolContext) -> str | None:
    """Return why the whole plan can't be replaced, or None.

    A worker knows its own part only: what it would leave out is the plan of whoever gave it work.
    """
    return _NOT_YOURS if ctx.caller.depth else None


@tool(
    effects={"state_write"},
    # it is a note that the agent writes for itself; nothing of anybody else's changes
    policy_class="read_only",
    category="planning",
    aliases=("write_todos", "set_plan"),
    on_interrupt="reconcile",
    available=not_yours,
    help=ToolHelp(
        when_to_use="For work of several steps: before the first one, and whenever one is done or "
        "the plan turns out otherwise. What is a single step needs no plan.",
        examples=(
            '{"plan": [{"step": "Find the cause", "status": "completed"}, {"step": "Mend it", '
            '"status": "in_progress"}, {"step": "Run the tests", "status": "pending"}]}',
        ),
        failure_modes=("bad_plan: a step is there twice, or more than one is in_progress",),
    ),
)
async def update_plan(
    ctx: ToolContext,
    plan: Annotated[
        list[Step],
        Arg(
            "Every step, in order; it replaces the plan.", max_length=MAX_ITEMS, aliases=("todos",)
        ),
    ],
    explanation: Annotated[str, Arg("Why the plan changed.", max_length=2_000)] = "",
) -> ToolResult:
    """Write down the plan of the work, or bring it up to date.

    The steps that you give are the whole plan from now on. Each has a text of its own.
    """
    if ctx.caller.depth:
        raise ToolFailure(f"You can't do that: {_NOT_YOURS}.", fix="Use TaskUpdate.", code="denied")
    steps = [(step["step"], step["status"]) for step in plan]
    work, _ = await change(ctx, lambda work: Changed(planned(work, steps, explanation)))
    return ToolResult(output=checklist(work), structured=facts(work))
