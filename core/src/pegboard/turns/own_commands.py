"""The chat commands that every host has."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from pegboard.contracts.turn import TurnRecord
from pegboard.turns.commands import Command, CommandCall, CommandData

SHOWN_CHARS: Final = 60
TASK_CHARS: Final = 8
"""Characters by which a person names a request in the background: the last of the turn's id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnCommand:
    """A command that is a function; implements `Command`.

    Args:
        name: The word after the slash.
        summary: What it does.
        answer: Carries it out.
        operator: True when only the owner may use it.
        argument: What follows it, or "".
        bypass: True when it is answered at once.
        everywhere: True when channels without other commands have it.
    """

    name: str
    summary: str
    answer: Callable[[CommandCall], Awaitable[str]]
    operator: bool = True
    argument: str = ""
    bypass: bool = True
    everywhere: bool = False

    async def run(self, call: CommandCall) -> str:
        """Carry it out and return the reply."""
        return await self.answer(call)


def own_commands(data: CommandData) -> list[Command]:
    """Return the commands that every host has, in the order of `/help`.

    Args:
        data: What they tell about the host.
    """

    async def rescan(call: CommandCall) -> str:
        return await data.rescan()

    async def why(call: CommandCall) -> str:
        return await data.why(call.argument, call.caller)

    return [
        OwnCommand(
            name="tools",
            summary="list the tools you can use here",
            operator=False,
            answer=partial(_tools, data),
        ),
        OwnCommand(
            name="whoami",
            summary="tell whom the host takes you for",
            operator=False,
            answer=_whoami,
        ),
        OwnCommand(
            name="status",
            summary="tell what is going on in this conversation",
            answer=partial(_status, data),
        ),
        OwnCommand(name="new", summary="begin a new conversation", answer=_new),
        OwnCommand(name="clear", summary="the same as /new", answer=_new),
        OwnCommand(
            name="stop",
            summary="stop what runs and waits here, or a request in the background",
            argument="[TASK]",
            answer=_stop,
        ),
        OwnCommand(
            name="background",
            summary="let a request be answered while the conversation goes on",
            argument="TEXT",
            answer=_background,
        ),
        OwnCommand(name="tasks", summary="list the requests in the background", answer=_tasks),
        OwnCommand(
            name="plugins",
            summary="list the plugins and their state",
            answer=partial(_plugins, data),
        ),
        OwnCommand(
            name="rescan",
            summary="take over packages that were installed or removed",
            answer=rescan,
        ),
        OwnCommand(
            name="why",
            summary="tell why a tool may or may not be used",
            argument="NAME",
            answer=why,
        ),
    ]


async def _tools(data: CommandData, call: CommandCall) -> str:
    tools = await data.tools(call.caller)
    return "\n".join(f"- `{name}`: {text}" for name, text in tools) or "There are no tools here."


async def _whoami(call: CommandCall) -> str:
    caller, message = call.caller, call.message
    trust = "owner and administrator" if caller.admin else caller.trust
    facts = {
        "trust": "owner" if trust == "operator" else trust,
        "agent": caller.agent,
        "sender": caller.sender or message.sender,
        "channel": message.channel,
        "surface": caller.surface or "unknown",
    }
    return "\n".join(f"- {name}: {value}" for name, value in facts.items())


async def _status(data: CommandData, call: CommandCall) -> str:
    open_turns, doubtful = await call.conversation.open(), await call.conversation.doubtful()
    background = await call.conversation.background()
    lines = [f"- provider: {await data.provider()}", f"- open turns: {_states(open_turns)}"]
    children = await data.children(call.conversation.key)
    if children:
        lines.append(f"- at work for this conversation: {len(children)}")
        lines.extend(f"  - {agent}: {_shown(task)}" for agent, task in children)
    if background:
        lines.append(f"- in the background: {_states(background)}")
    if doubtful:
        shown = _shown(doubtful[0].message.get("text"))
        lines.append(f"- replies that may not have reached you: {len(doubtful)} ({shown})")
    return "\n".join(lines)


async def _plugins(data: CommandData, call: CommandCall) -> str:
    lines = [
        f"- `{id}`: {state}{f' ({reason})' if reason else ''}"
        for id, state, reason in await data.plugins()
    ]
    return "\n".join(lines) or "No plugin is installed."


async def _new(call: CommandCall) -> str:
    await call.conversation.new()
    return "A new conversation begins here."


async def _stop(call: CommandCall) -> str:
    stopped = await call.conversation.stop(call.argument)
    if stopped > 1:
        waited = f"{stopped - 1} more" if stopped > 2 else "one more"
        return f"Stopped, and {waited} that waited."
    if stopped:
        return "Stopped."
    return f"There is no request {call.argument}." if call.argument else "Nothing is running here."


async def _background(call: CommandCall) -> str:
    turn = await call.conversation.submit_background(call.argument)
    name = turn[-TASK_CHARS:]
    return f"It is being worked on; the answer comes here. `/tasks` lists it as `{name}`."


async def _tasks(call: CommandCall) -> str:
    tasks = await call.conversation.background()
    lines = [
        f"- `{task.ref.turn[-TASK_CHARS:]}` {task.state}: {_shown(task.message.get('text'))}"
        for task in tasks
    ]
    return "\n".join(lines) or "Nothing is being done in the background."


def _states(turns: Sequence[TurnRecord]) -> str:
    counts: dict[str, int] = {}
    for turn in turns:
        counts[turn.state] = counts.get(turn.state, 0) + 1
    return ", ".join(f"{count} {state}" for state, count in counts.items()) or "none"


def _shown(text: object) -> str:
    line = " ".join(str(text or "").split())
    return line if len(line) <= SHOWN_CHARS else f"{line[:SHOWN_CHARS].rstrip()}..."
