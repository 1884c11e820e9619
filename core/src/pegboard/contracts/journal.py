"""What a run writes of its calls, so that none is lost or made twice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from pegboard.contracts.effects import Effects
from pegboard.contracts.news import NewsItem
from pegboard.contracts.provider import ChatRequest, Done
from pegboard.contracts.result import ToolResult
from pegboard.contracts.tool import RegisteredTool


class Journal(Protocol):
    """A record of a run's calls: an intent before each, a result after.

    It may hold what an earlier attempt of the same run did, before its host was killed. A call that
    was begun and has no result was interrupted; so a cancelled call needs no word of its own.

    Whatever it raises ends the run: `FencedError` at once, wherever it comes up.
    """

    async def known(
        self, call: str, name: str, arguments: str | Mapping[str, Any]
    ) -> ToolResult | None:
        """Return the result of a call that must not run (again), or None.

        That is what it returned in an earlier attempt; or, for one that was interrupted and may not
        be repeated, that it may have run. What was recorded for another tool, or for other
        arguments, is no answer to this call.

        Args:
            call: Id of the call. That of a call which another one makes is the other one's with a
                number: `<outer>.<n>`.
            name: The name that was used.
            arguments: The arguments as they came in.
        """
        ...

    def attempt(self, call: str) -> int:
        """Return the number of the attempt that would begin now, from 1."""
        ...

    def idempotency_key(self, call: str) -> str:
        """Return the key of a call: the same for every attempt of it, and no other's."""
        ...

    async def intent(
        self, call: str, tool: RegisteredTool, arguments: Mapping[str, Any], effects: Effects
    ) -> None:
        """Write that the call is about to run; it was asked for with `known` before.

        Args:
            call: Id of the call.
            tool: What runs.
            arguments: The arguments that it runs with.
            effects: What this call may do.
        """
        ...

    async def result(self, call: str, result: ToolResult) -> None:
        """Write what it returned."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """What a model answered at one step of a run.

    Args:
        done: The end of its stream.
        hop: Instance name of the provider that answered: only there its state means something.
        model: The model that was asked; "" = the provider's default.
        news: What it was told for the first time when it was asked.
    """

    done: Done
    hop: str = ""
    model: str = ""
    news: tuple[NewsItem, ...] = ()


class ModelJournal(Protocol):
    """A record of a run's model calls."""

    async def answered(self, step: int) -> Answered | None:
        """Return what the model answered at a step in an earlier attempt, or None."""
        ...

    async def done(
        self,
        step: int,
        answer: Answered,
        *,
        request: ChatRequest,
        results: Mapping[str, ToolResult],
    ) -> None:
        """Write what the model answered at a step.

        Args:
            step: Number of the step, from 1.
            answer: The answer.
            request: What it answers.
            results: What the calls of the step before came to, by id. Some were refused and so have
                no record: an attempt that finds this answer must not judge them anew.
        """
        ...
