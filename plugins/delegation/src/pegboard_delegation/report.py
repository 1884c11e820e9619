"""What a call returns of its workers: text for the model, data for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pegboard import ToolError, ToolResult, Usage
from pegboard_delegation.shares import beginning, fair_shares, size_of
from pegboard_delegation.tasks import title
from pegboard_delegation.workers import Outcome, counted


def report(outcomes: Sequence[Outcome], *, budget: int) -> ToolResult:
    """Return the result of a call; an error when not one worker has done its task.

    Args:
        outcomes: What became of the tasks, in their order.
        budget: Bytes of all answers together; beyond it the long ones are cut alike.
    """
    sizes = [size_of(outcome.result.text) for outcome in outcomes]
    kept = fair_shares(sizes, budget)
    texts = [
        beginning(outcome.result.text, share) if share < size else outcome.result.text
        for outcome, size, share in zip(outcomes, sizes, kept, strict=True)
    ]
    entries = [
        _entry(number, outcome, text)
        for number, (outcome, text) in enumerate(zip(outcomes, texts, strict=True), 1)
    ]
    parts = [counted(outcomes), *map(_section, entries)]
    structured = {"summary": _summary(outcomes), "results": entries}
    return ToolResult(
        output="\n\n".join(parts), structured=structured, error=_nothing_done(outcomes)
    )


def _entry(number: int, outcome: Outcome, text: str) -> dict[str, Any]:
    result = outcome.result
    cut = result.cut + size_of(result.text) - size_of(text)
    return {
        "task": number,
        "goal": title(outcome.task),
        "status": result.status,
        "output": text,
        "error": result.error or None,
        "cut_bytes": cut,
        "lacked_tools": list(result.lacked),
        "agent": result.agent,
        "run": result.run,
        "steps": result.steps,
        "tool_calls": result.tool_calls,
        "tokens": _tokens(result.usage),
        "duration_ms": round(result.duration_s * 1000),
    }


def _section(entry: dict[str, Any]) -> str:
    status = entry["status"].replace("_", " ")
    lines = [f"## {entry['task']}. {entry['goal']} ({status})"]
    if entry["error"]:
        lines.append(f"Error: {entry['error']}")
    if entry["lacked_tools"]:
        lines.append(f"It could not have these tools: {', '.join(entry['lacked_tools'])}.")
    if entry["output"]:
        unfinished = entry["status"] != "done"
        lines.append(f"It last said: {entry['output']}" if unfinished else entry["output"])
    if entry["cut_bytes"]:
        whole = size_of(entry["output"]) + entry["cut_bytes"]
        lines.append(
            f"[cut: the last {entry['cut_bytes']} of {whole} bytes are left out, because all "
            "answers together were too long]"
        )
    return "\n".join(lines)


def _summary(outcomes: Sequence[Outcome]) -> dict[str, int]:
    states = [outcome.result.status for outcome in outcomes]
    return {
        "requested": len(outcomes),
        "done": states.count("done"),
        "failed": states.count("failed"),
        "timed_out": states.count("timed_out"),
        "cancelled": states.count("cancelled"),
        "tokens": sum(_tokens(outcome.result.usage) for outcome in outcomes),
    }


def _nothing_done(outcomes: Sequence[Outcome]) -> ToolError | None:
    if any(outcome.result.status == "done" for outcome in outcomes):
        return None
    late = all(outcome.result.status == "timed_out" for outcome in outcomes)
    return ToolError(
        code="timeout" if late else "workers_failed",
        message="No worker has done its task.",
        fix="Give them smaller tasks or a larger timeout_s."
        if late
        else "See each error below; do the work here, or give it away in another form.",
        retryable=late,
    )


def _tokens(usage: Usage) -> int:
    return usage.input + usage.output
