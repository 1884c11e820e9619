"""One task of a call, and what the worker that does it is told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final, Literal, NotRequired

# pydantic can read those of `typing` only from Python 3.12 on
from typing_extensions import TypedDict

from pegboard import Arg

Format = Literal["concise", "detailed", "structured"]

_WORKER: Final = """\
You are a worker of another agent, for one narrow task and no longer. You can't talk to the person,
and the agent reads only your answer: it sees none of your tool calls and can't answer questions.
What you were not told you have to find out. You can read, search, look things up and run commands,
but change no files. Use as few tool calls as you can, and stop as soon as the task is done or it is
clear that it can't be. Say what you could not find out; never fill a gap with a guess."""
_FORMATS: Final[Mapping[Format, str]] = {
    "concise": "Answer in a few short sentences: what the task asks for, and nothing around it.",
    "detailed": "Answer in full: every finding with what it rests on (file and line, address, "
    "command and its output), what you tried without success, and what is in doubt.",
    "structured": "Answer under these headings, leaving out those with nothing to say: Result; "
    "Evidence (file and line, address, command and its output); Not found; In doubt.",
}


class Task(TypedDict):
    """Work for one worker."""

    goal: Annotated[
        str,
        Arg(
            "What to find out or do, complete in itself: the worker sees nothing of this talk.",
            min_length=1,
        ),
    ]
    context: NotRequired[Annotated[str, Arg("What it has to know for that.")]]
    tools: NotRequired[
        Annotated[list[str], Arg("Names of the only tools it may use; without it, all of yours.")]
    ]
    agent: NotRequired[
        Annotated[str, Arg("A named agent to do it, of those that you were told of.")]
    ]


def system_prompt(result_format: Format) -> str:
    """Return what every worker of a call is told about itself and its answer."""
    return f"{_WORKER}\n{_FORMATS[result_format]}"


def task_prompt(task: Task, shared_context: str = "") -> str:
    """Return the message that gives a worker its task."""
    context = "\n\n".join(
        text.strip() for text in (shared_context, task.get("context", "")) if text.strip()
    )
    goal = task["goal"].strip()
    return f"{goal}\n\nWhat you have to know:\n{context}" if context else goal


def title(task: Task, most: int = 80) -> str:
    """Return a task in one line, for lists and progress."""
    line = " ".join(task["goal"].split())
    return line if len(line) <= most else f"{line[: most - 3].rstrip()}..."
