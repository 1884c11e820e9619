"""The tools `subagents` and `subagents_ultra`."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pegboard import Arg, OutputLimits, ToolContext, ToolHelp, ToolResult, tool
from pegboard_delegation.caps import LEAST_TIMEOUT_S, MOST_TIMEOUT_S, TIMEOUT_S, ULTRA, USUAL, Caps
from pegboard_delegation.delegate import Wish, delegate
from pegboard_delegation.tasks import Format, Task

_HELP: Final = ToolHelp(
    when_to_use="For parts of a request that do not need each other: looking into several files, "
    "sources or questions at the same time, or much reading for a short answer. What is one call "
    "of another tool is quicker done without a worker.",
    examples=(
        '{"tasks": [{"goal": "Which functions of core/store.py open a transaction? Name each with '
        'its line."}, {"goal": "Which tests cover core/store.py?", "tools": ["content_search", '
        '"file_read"]}]}',
        '{"tasks": [{"goal": "Summarise the changes of version 2"}], "shared_context": "The '
        'project is in the folder api.", "result_format": "concise", "timeout_s": 120}',
    ),
    failure_modes=(
        "A worker that fails, is late or is stopped takes nothing from the others; its status and "
        "its error say so.",
        "workers_failed, timeout: not one worker has done its task",
        "capability_denied: this run may not start others; workers themselves never may",
        "When all answers together are too long, the longest are cut, and that is said.",
    ),
)


def _facts(caps: Caps) -> dict[str, Any]:
    return {
        # what a worker may do beside reading: the most that a call can come to
        "effects": {"read", "exec", "net_read", "net_write"},
        # each worker has at most the classes of whoever calls, so delegating needs none of its own
        "policy_class": "read_only",
        "category": "agents",
        "audience": "owner",
        "capability": "orch:spawn",
        "on_interrupt": "tell",
        # a report is an agent's words; what its worker read from outside was fenced there
        "outside": False,
        "limits": OutputLimits(chars=caps.result_chars),
        "timeout_s": caps.longest_s,
        "help": _HELP,
    }


_Shared = Annotated[str, Arg("What every worker has to know.")]
_ResultFormat = Annotated[
    Format,
    Arg("How workers answer: in a few sentences, in full, or under headings with evidence."),
]
_Timeout = Annotated[
    float, Arg("Seconds that each worker has.", ge=LEAST_TIMEOUT_S, le=MOST_TIMEOUT_S)
]
_Provider = Annotated[str, Arg("Provider instance for this call; without it, the usual one.")]
_Model = Annotated[str, Arg("Model for this call; without it, the usual one.")]
_Effort = Annotated[
    Literal["low", "medium", "high"] | None,
    Arg("How much workers think before they answer, in this call."),
]


@tool(**_facts(USUAL))
async def subagents(
    ctx: ToolContext,
    tasks: Annotated[
        list[Task], Arg("The tasks, 10 at most.", min_length=1, max_length=USUAL.tasks)
    ],
    shared_context: _Shared = "",
    result_format: _ResultFormat = "structured",
    max_concurrency: Annotated[
        int, Arg("Workers that work at the same time.", ge=1, le=USUAL.most_at_once)
    ] = USUAL.at_once,
    timeout_s: _Timeout = TIMEOUT_S,
    provider: _Provider = "",
    model: _Model = "",
    reasoning_effort: _Effort = None,
) -> ToolResult:
    """Have workers do several tasks at the same time, and return what each found.

    A worker is an agent for one task. It has your tools but can't change files, sees nothing of
    this conversation, can't ask anybody and can't start workers. Put all that it needs into its
    goal and context.
    """
    wish = Wish(
        tasks=tasks,
        shared_context=shared_context,
        result_format=result_format,
        max_concurrency=max_concurrency,
        timeout_s=timeout_s,
        provider=provider,
        model=model,
        reasoning_effort=reasoning_effort,
    )
    return await delegate(ctx, wish, USUAL)


@tool(**_facts(ULTRA), attended="ultra")
async def subagents_ultra(
    ctx: ToolContext,
    tasks: Annotated[
        list[Task], Arg("The tasks, 50 at most.", min_length=1, max_length=ULTRA.tasks)
    ],
    shared_context: _Shared = "",
    result_format: _ResultFormat = "structured",
    max_concurrency: Annotated[
        int, Arg("Workers that work at the same time.", ge=1, le=ULTRA.most_at_once)
    ] = ULTRA.at_once,
    timeout_s: _Timeout = TIMEOUT_S,
    provider: _Provider = "",
    model: _Model = "",
    reasoning_effort: _Effort = None,
) -> ToolResult:
    """Have many workers do tasks at the same time, in a turn that the owner wants exhaustive.

    Like `subagents`, with up to 50 tasks, 12 of them at once.
    """
    wish = Wish(
        tasks=tasks,
        shared_context=shared_context,
        result_format=result_format,
        max_concurrency=max_concurrency,
        timeout_s=timeout_s,
        provider=provider,
        model=model,
        reasoning_effort=reasoning_effort,
    )
    return await delegate(ctx, wish, ULTRA)
