"""The tool `undo_changes`: what `pegboard undo` calls."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Final

from pegboard import Arg, OutputLimits, ToolContext, ToolFailure, ToolHelp, ToolResult, tool
from pegboard_files.history import History, PastRun, Room
from pegboard_files.names import plural, shown, size_text
from pegboard_files.recovery import recover
from pegboard_files.undo import UndoStep, plan_undo, undo

_MOST_RUNS: Final = 1000
_WORDS: Final = {
    "restore": "restored",
    "remove": "removed",
    "nothing": "left",
    "refused": "refused",
}


@tool(
    effects={"read", "fs_write"},
    category="file",
    capability="orch:write",
    audience="owner",
    exposure="deferred",
    limits=OutputLimits(chars=10_000, keep="both"),
    help=ToolHelp(
        when_to_use="To take back what the file tools did in an earlier run of this conversation.",
        examples=("{}", '{"run": "last", "dry_run": true}'),
        failure_modes=(
            "no_such_run: no run of that id changed files, or it was too long ago",
            "refused: files were changed since by somebody else; `force` gives that up",
            "not_here: a run that another one started takes nothing back",
        ),
    ),
)
async def undo_changes(
    ctx: ToolContext,
    run: Annotated[
        str,
        Arg("Id of a run, the beginning of one, or `last`; empty lists the runs."),
    ] = "",
    force: Annotated[bool, Arg("Give up what others have changed since.")] = False,
    dry_run: Annotated[bool, Arg("Only say what would be done.")] = False,
    limit: Annotated[int, Arg("Runs to list.", ge=1, le=1000)] = 20,
) -> ToolResult:
    """List the runs that changed files, or give files back what they held before a run.

    Only what the file tools did is known, not what commands did.
    """
    if ctx.caller.depth:  # it has no conversation that would tell what is its own
        raise ToolFailure(
            "A run that another one started takes nothing back.",
            fix="Say in the answer what shall be taken back.",
            code="not_here",
        )
    history = History(ctx.plugin)
    recovered = () if dry_run else await recover(ctx)
    # a model takes back what its own conversation did; a person's own call may be about any run
    conversation = ctx.call.conversation or None
    if not run:
        runs = await history.runs(conversation=conversation, limit=limit)
        return _listed(runs, await history.room(), recovered)
    found = await _find(history, conversation, run)
    steps = await plan_undo(ctx, history, found.run, force=force)
    if not dry_run:
        await undo(ctx, history, found.run, steps)
    return _result(found, steps, dry_run, recovered)


async def _find(history: History, conversation: str | None, name: str) -> PastRun:
    runs = await history.runs(conversation=conversation, limit=_MOST_RUNS)
    if name == "last":
        matching = [item for item in runs if not item.undone][:1]
    else:
        matching = [item for item in runs if item.run == name] or [
            item for item in runs if item.run.startswith(name)
        ]
    if len(matching) == 1:
        return matching[0]
    if matching:
        raise ToolFailure(
            f"{name} is the beginning of several runs: "
            f"{', '.join(item.run for item in matching[:5])}.",
            fix="Write more of it.",
            code="several_runs",
        )
    raise ToolFailure(
        f"No run {name} is kept that changed files."
        if name != "last"
        else "No run is kept that changed files and was not taken back.",
        fix="pegboard undo",
        code="no_such_run",
    )


def _listed(runs: Sequence[PastRun], room: Room, recovered: Sequence[str]) -> ToolResult:
    bound = (
        f"Kept for {plural(room.days, 'day')}, {size_text(room.most_bytes)} at most; "
        f"now {size_text(room.bytes)}."
    )
    lines = [
        f"{item.run}  {_time(item.at)}  {plural(item.files, 'file')}"
        f"{'  taken back' if item.undone else ''}  {shown(item.workspace)}"
        for item in runs
    ]
    facts = {
        "runs": [
            {
                "run": item.run,
                "at": item.at,
                "files": item.files,
                "undone": item.undone,
                "workspace": item.workspace,
                "conversation": item.conversation,
            }
            for item in runs
        ],
        "bytes": room.bytes,
        "most_bytes": room.most_bytes,
        "days": room.days,
    }
    return ToolResult(
        output="\n".join(
            [*(f"[{note}]" for note in recovered), *(lines or ["No run changed files."]), bound]
        ),
        structured=facts,
        details=facts,
    )


def _result(
    found: PastRun, steps: Sequence[UndoStep], dry_run: bool, recovered: Sequence[str]
) -> ToolResult:
    refused = [step for step in steps if step.action == "refused"]
    lines = [f"[{note}]" for note in recovered] + [_line(step, dry_run) for step in steps]
    if refused:
        lines.append(
            f"[{plural(len(refused), 'file')} refused; with force they are given back as well, and "
            "what was changed since is lost]"
        )
    facts: dict[str, Any] = {
        "run": found.run,
        "workspace": found.workspace,
        "dry_run": dry_run,
        "files": [
            {
                "path": step.path,
                "action": step.action,
                "why": step.why,
                "loses_changes": step.forced,
            }
            for step in steps
        ],
        "refused": len(refused),
    }
    return ToolResult(output="\n".join(lines), structured=facts, details=facts)


def _line(step: UndoStep, dry_run: bool) -> str:
    word = f"would be {_WORDS[step.action]}" if dry_run else _WORDS[step.action]
    why = step.why or ("what was changed since is lost" if step.forced else "")
    return f"{word}: {shown(step.path)}{f' ({why})' if why else ''}"


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%SZ")
