"""Doing the tasks of one call: some at a time, each on its own, none able to spoil the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import anyio

from pegboard import PegboardError, RunResult, RunSpec, StreamEvent, ToolContext
from pegboard_delegation.tasks import Task, title


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """A task and the run that is to do it."""

    task: Task
    spec: RunSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of a task.

    Args:
        task: The task.
        result: What its worker came to.
        refusal: Why there was no worker, or None.
    """

    task: Task
    result: RunResult
    refusal: PegboardError | None = None


class Crew:
    """The workers of one call.

    Args:
        ctx: The call.
        assignments: What there is to do.
        at_once: Workers that work at the same time.
    """

    def __init__(
        self, ctx: ToolContext, assignments: Sequence[Assignment], *, at_once: int
    ) -> None:
        self._ctx = ctx
        self._assignments = assignments
        self._limiter = anyio.CapacityLimiter(at_once)
        self._outcomes: list[Outcome | None] = [None for _ in assignments]

    async def work(self) -> list[Outcome]:
        """Do all tasks and return what became of them, in their order.

        Cancelling this cancels every worker and waits until it has ended.
        """
        async with anyio.create_task_group() as group:
            for place in range(len(self._assignments)):
                group.start_soon(self._one, place)
        return [outcome for outcome in self._outcomes if outcome is not None]

    async def _one(self, place: int) -> None:
        async with self._limiter:
            await self._tell(place, f"begins: {title(self._assignments[place].task)}")
            outcome = self._outcomes[place] = await self._outcome(place)
            result = outcome.result
            await self._tell(place, f"{result.status.replace('_', ' ')} ({_steps(result.steps)})")

    async def _outcome(self, place: int) -> Outcome:
        task, spec = self._assignments[place].task, self._assignments[place].spec

        async def watch(event: StreamEvent) -> None:
            if event.type == "tool_started":
                await self._tell(place, f"calls {event.to_dict()['name']}")

        try:
            result = await self._ctx.runs.start(spec, watch=watch)
        except PegboardError as error:
            # whatever stands in the way of one, the others' work is not lost
            return Outcome(task=task, result=_failed(_said(error)), refusal=error)
        except Exception as error:
            self._ctx.plugin.log.warning("a worker crashed", exc_info=error)
            return Outcome(task=task, result=_failed(f"the worker crashed: {error!r}"))
        return Outcome(task=task, result=result)

    async def _tell(self, place: int, what: str) -> None:
        total = len(self._assignments)
        ended = sum(outcome is not None for outcome in self._outcomes)
        await self._ctx.progress(f"worker {place + 1} of {total} {what}", fraction=ended / total)


def counted(outcomes: Sequence[Outcome]) -> str:
    """Return how many workers there were and how they ended, as one line."""
    states = Counter(outcome.result.status.replace("_", " ") for outcome in outcomes)
    ended = ", ".join(f"{count} {state}" for state, count in states.most_common())
    return f"{len(outcomes)} {'worker' if len(outcomes) == 1 else 'workers'}: {ended}."


def _steps(count: int) -> str:
    return f"{count} {'step' if count == 1 else 'steps'}"


def _failed(why: str) -> RunResult:
    return RunResult(text="", status="failed", steps=0, error=why)


def _said(error: PegboardError) -> str:
    return " ".join(filter(None, (error.message, error.fix)))
