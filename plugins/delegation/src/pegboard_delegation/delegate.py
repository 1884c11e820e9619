"""From the arguments of a call to its report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pegboard import Capability, RunSpec, ToolContext, ToolResult
from pegboard_delegation.caps import Caps
from pegboard_delegation.report import report
from pegboard_delegation.tasks import Format, Task, system_prompt, task_prompt
from pegboard_delegation.workers import Assignment, Crew, Outcome

LENT: Final[tuple[Capability, ...]] = (
    "orch:read",
    "orch:web",
    "orch:analyze",
    "orch:skill",
    "orch:browse",
    "orch:mcp",
)
"""What a worker may do on its own, as far as the caller may: it writes to nobody, and plans, starts
and changes nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What one call wants.

    Args:
        tasks: The tasks.
        shared_context: What every worker has to know.
        result_format: How workers answer.
        max_concurrency: Workers at the same time; None = as usual.
        timeout_s: Seconds that each has.
        provider: Provider instance for this call, or "".
        model: Model for this call, or "".
        reasoning_effort: Effort for this call, or None.
    """

    tasks: Sequence[Task]
    shared_context: str
    result_format: Format
    max_concurrency: int | None
    timeout_s: float
    provider: str
    model: str
    reasoning_effort: str | None


async def delegate(ctx: ToolContext, wish: Wish, caps: Caps) -> ToolResult:
    """Give the tasks to workers, wait for all of them, and return what they found.

    Raises:
        PegboardError: When one thing stood in the way of every worker.
    """
    assignments = [Assignment(task=task, spec=_spec(ctx, wish, task, caps)) for task in wish.tasks]
    at_once = min(wish.max_concurrency or caps.at_once, caps.most_at_once)
    outcomes = await Crew(ctx, assignments, at_once=at_once).work()
    _raise_what_all_met(outcomes)
    return report(outcomes, budget=caps.result_bytes)


def _spec(ctx: ToolContext, wish: Wish, task: Task, caps: Caps) -> RunSpec:
    provider, model = wish.provider, wish.model
    effort = wish.reasoning_effort
    agent = task.get("agent", "")
    settings = ctx.plugin.config
    if not agent:  # a named agent has a route of its own
        effort = effort or settings.reasoning_effort
        if not provider and not model:
            provider, model = settings.provider, settings.model
    tools = task.get("tools")
    return RunSpec(
        prompt=task_prompt(task, wish.shared_context),
        system=system_prompt(wish.result_format),
        agent=agent,
        tools=None if tools is None else tuple(tools),
        capabilities=LENT,
        provider=provider,
        model=model,
        effort=effort,
        max_steps=caps.steps,
        timeout_s=wish.timeout_s,
        result_bytes=caps.result_bytes,
    )


def _raise_what_all_met(outcomes: Sequence[Outcome]) -> None:
    """Raise the refusal of all workers when it was one and the same: no provider, no capability."""
    refusals = [outcome.refusal for outcome in outcomes]
    first = refusals[0]
    if first is not None and all(
        refusal is not None and (refusal.code, refusal.message) == (first.code, first.message)
        for refusal in refusals
    ):
        raise first
