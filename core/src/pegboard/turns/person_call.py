"""A chat command that is a call of a tool: made once for its writer, whatever ends the host."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

import anyio

from pegboard.agent.setup import Approve, CallSetup, DispatchStep, Progress
from pegboard.agent.step import StepCalls
from pegboard.contracts.channel import Emit
from pegboard.contracts.clock import Clock
from pegboard.contracts.message import ToolCall
from pegboard.contracts.result import ToolResult
from pegboard.contracts.stream import StreamEvent
from pegboard.tools.fence import unfenced

CALL_ID: Final = "command"
"""Id of the call in the journal of its turn, which has no other."""
ENDED: Final = "the command that started it has ended"
STOPPED: Final = "the command that started it was stopped"


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonCall:
    """What a command makes of itself: one call, whose result is the reply.

    Args:
        tool: A name of the tool.
        arguments: What it is given; texts are read as a model's are.
    """

    tool: str
    arguments: Mapping[str, Any]


class CallParts(Protocol):
    """What the host provides for the call."""

    @property
    def dispatch_step(self) -> DispatchStep:
        """Runs it."""
        ...

    @property
    def close(self) -> Callable[[str], None]:
        """Ends what it has started and that outlived it, and tells that why."""
        ...


async def answered(
    asked: PersonCall,
    prepared: Awaitable[CallParts],
    *,
    clock: Clock,
    approve: Approve | None,
    emit: Emit | None,
    progress: Progress,
) -> str:
    """Make the call and return the reply.

    Args:
        asked: The call.
        prepared: What the host provides for it.
        clock: Time.
        approve: Asks a person, or None.
        emit: Takes its events, or None where it is answered beside a turn.
        progress: Where it is counted.

    Raises:
        Suspended: When it waits for a person.
    """
    parts, why = await prepared, ENDED
    call = ToolCall(CALL_ID, asked.tool, json.dumps(dict(asked.arguments), ensure_ascii=False))
    setup = CallSetup(
        dispatch_step=parts.dispatch_step,
        emit=emit or _nowhere,
        clock=clock,
        approve=approve,
        progress=progress,
    )
    step = StepCalls(setup, [call])
    try:
        await step.run()
    except anyio.get_cancelled_exc_class():
        why = STOPPED
        raise
    finally:
        parts.close(why)
    return shown(step.results[CALL_ID])


def shown(result: ToolResult) -> str:
    """Return a result as Markdown: what went wrong first, then the text that the tool wrote."""
    text = unfenced(result.text).strip("\n")  # only a model has to be told what is data
    if result.error is None:
        return _quoted(text)
    error = replace(result.error, message=unfenced(result.error.message).strip()).text()
    return f"{error}\n\n{_quoted(text)}" if text else error


def _quoted(text: str) -> str:
    """Return a text so that one of several lines stays as it was written."""
    if "\n" not in text:
        return text.strip()
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}\n{text}\n{fence}"


async def _nowhere(event: StreamEvent) -> None:
    """Tell nobody: the turn that is shown meanwhile is another one."""
