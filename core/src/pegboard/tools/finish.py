"""From what a tool returned to what the model reads: valid, short enough, and fenced."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from pegboard.contracts import json_text
from pegboard.contracts.result import AddTools, File, Image, Part, Text, ToolError, ToolResult
from pegboard.contracts.tool import OutputLimits, RegisteredTool
from pegboard.tools.elision import elision_note
from pegboard.tools.fence import fenced, new_id
from pegboard.tools.kept_results import KeptResult
from pegboard.tools.limits import Cut, cut, line_count
from pegboard.tools.outcome import Outcome, Words, broken_down
from pegboard.tools.run_scope import CallRequest
from pegboard.tools.text_repair import repaired

NO_OUTPUT: Final = "(no output)"
_ERROR_LIMITS: Final = OutputLimits(chars=4_000, keep="both")
_OUTSIDE_EFFECTS: Final = frozenset({"net_read", "net_write", "gui"})


def is_outside(tool: RegisteredTool) -> bool:
    """Tell whether a tool's results hold text from outside, unless one says otherwise.

    Only a first-party tool may state that they do not.
    """
    spec = tool.spec
    if tool.kind == "mcp" or not tool.first_party:
        return True
    if spec.outside is not None:
        return spec.outside
    return spec.effects is None or not _OUTSIDE_EFFECTS.isdisjoint(spec.effects)


def as_it_is(tool: RegisteredTool, outcome: Outcome) -> ToolResult | None:
    """Return a result to which nothing has to be done, the case of nearly every call, or None."""
    result = outcome.result
    outside = is_outside(tool)
    if result.outside is not None and tool.first_party and tool.kind != "mcp":
        outside = result.outside
    if not _is_plain(result, tool.spec.limits, outside):
        return None
    return result if result.output or result.error else replace(result, output=NO_OUTPUT)


async def finished(
    request: CallRequest,
    tool: RegisteredTool,
    outcome: Outcome,
    *,
    may_recall: Callable[[], bool],
) -> ToolResult:
    """Return a result that can be shown to the model and kept; first try `as_it_is`.

    Args:
        request: The call.
        tool: What ran.
        outcome: What became of it.
        may_recall: Tells whether the caller may use `tool_result_recall`; asked when it matters.
    """
    result = outcome.result
    outside = is_outside(tool)
    if result.outside is not None and tool.first_party and tool.kind != "mcp":
        outside = result.outside
    wrong = _wrong(result)
    if wrong:
        return broken_down(tool, wrong)
    try:
        structured = _whole_structured(result.structured)
    except (TypeError, ValueError, RecursionError) as fault:
        return broken_down(tool, f"its structured result is no JSON value: {fault}")
    details = _plain_details(result.details)
    output, spilled = await _shortened(request, tool, result.output, outside, may_recall)
    if spilled is not None:
        details = {**details, "spilled": spilled}
    if outside:
        output = _fenced_output(output, tool.wire_name)
    if not output and result.error is None:
        output = NO_OUTPUT
    error = result.error
    if error is not None:
        error = _short_error(error)
        if outside and outcome.words is not Words.HOST:
            error = _fenced_error(error, tool, advice=outcome.words is Words.TOOL)
    # made anew and not with `replace`, which takes four times as long
    return ToolResult(
        output=output,
        structured=structured,
        details=details,
        artifacts=result.artifacts,
        error=error,
        outside=outside,
        control=result.control,
    )


def _is_plain(result: ToolResult, limits: OutputLimits, outside: bool) -> bool:
    """Tell whether nothing has to be done: the case of nearly every call."""
    output = result.output
    return (
        not outside
        and type(output) is str
        and output.isascii()
        and len(output) <= limits.chars
        and (limits.lines is None or line_count(output) <= limits.lines)
        and result.structured is None
        and result.error is None
        and result.control is None
        and result.details == {}
    )


def _wrong(result: Any) -> str:
    """Return what of a result is not what its type says, or "". Plugins are not type-checked."""
    output, error, control = result.output, result.error, result.control
    if not isinstance(output, str) and not (
        isinstance(output, Sequence)
        and all(isinstance(part, (Text, Image, File)) for part in output)
    ):
        return f"its output is a {type(output).__name__}, neither text nor parts"
    if not isinstance(result.details, dict):
        return f"its details are a {type(result.details).__name__}, not a dict"
    if error is not None and not isinstance(error, ToolError):
        return f"its error is a {type(error).__name__}, not a ToolError"
    if error is not None and not _texts(error.code, error.message, error.fix or ""):
        return "its error does not consist of texts"
    if isinstance(control, AddTools) and not (
        isinstance(control.names, Sequence) and _texts(*control.names)
    ):
        return "it adds tools by something else than names"
    return ""


def _whole_structured(value: Any) -> Any:
    """Return a structured result with half characters replaced: text from outside may hold them.

    Raises:
        TypeError, ValueError, RecursionError: When it is no JSON value.
    """
    if value is None:
        return None
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    whole = repaired(text)
    return value if whole == text else json.loads(whole)


def _texts(*values: object) -> bool:
    return all(isinstance(value, str) for value in values)


def _plain_details(details: dict[str, Any]) -> dict[str, Any]:
    """Return details that can be written as JSON; what can't becomes text."""
    if not details or _is_json(details):
        return details
    return {repaired(str(key)): _as_json(value) for key, value in details.items()}


def _is_json(value: Any) -> bool:
    try:
        json_text.check(value)
    except ValueError:
        return False
    return True


def _as_json(value: Any) -> Any:
    if isinstance(value, str):
        return repaired(value)
    if _is_json(value):
        return value
    try:
        return repr(value)[:1_000]
    except Exception:  # a fault of its own, or nested too deeply
        return f"<{type(value).__name__}>"


async def _shortened(
    request: CallRequest,
    tool: RegisteredTool,
    output: str | Sequence[Part],
    outside: bool,
    may_recall: Callable[[], bool],
) -> tuple[str | Sequence[Part], dict[str, Any] | None]:
    """Repair and cut the text of an output; keep the whole when something was cut."""
    if isinstance(output, str):
        text = repaired(output)
        shorter = cut(text, tool.spec.limits)
        if shorter is None:
            return text, None
        spilled = await _keep(request, tool, text, outside)
        return shorter.text(_how_to_read(request, shorter, bool(spilled) and may_recall())), spilled
    text = "\n".join(repaired(part.text) for part in output if isinstance(part, Text))
    others = [part for part in output if not isinstance(part, Text)]
    shorter = cut(text, tool.spec.limits)
    if shorter is None:
        return [_repaired_part(part) for part in output], None
    spilled = await _keep(request, tool, text, outside)
    note = _how_to_read(request, shorter, bool(spilled) and may_recall())
    return [Text(shorter.text(note)), *others], spilled


def _repaired_part(part: Part) -> Part:
    return Text(repaired(part.text)) if isinstance(part, Text) else part


async def _keep(
    request: CallRequest, tool: RegisteredTool, text: str, outside: bool
) -> dict[str, Any] | None:
    """Store the whole text for the run; a full disk costs the text, not the call."""
    run = request.run
    try:
        blob = await run.blobs.put(
            text.encode(), media_type="text/plain", name=f"{tool.spec.name}.txt"
        )
    except OSError:
        return None
    kept = KeptResult(
        call=request.id,
        tool=tool.wire_name,
        blob=blob,
        chars=len(text),
        lines=line_count(text),
        outside=outside,
    )
    run.kept.add(kept)
    return {"blob": blob.id, "chars": kept.chars, "lines": kept.lines}


def _how_to_read(request: CallRequest, shorter: Cut, recall: bool) -> str:
    if not recall:
        return ""
    line = shorter.head.count("\n") + 1
    return f'Read them with tool_result_recall(call_id="{request.id}", offset={line}).'


def _fenced_output(output: str | Sequence[Part], source: str) -> str | Sequence[Part]:
    if isinstance(output, str):
        note = elision_note(output)
        whole = fenced(output, source) if output else output
        return f"{whole}\n{note}" if note else whole
    mark = new_id()
    parts = [
        Text(fenced(part.text, source, mark)) if isinstance(part, Text) and part.text else part
        for part in output
    ]
    notes = (elision_note(part.text) for part in output if isinstance(part, Text))
    return [*parts, *(Text(note) for note in list(filter(None, notes))[:1])]


def _short_error(error: ToolError) -> ToolError:
    fix = None if error.fix is None else _short(error.fix)
    return replace(error, message=_short(error.message), fix=fix)


def _short(text: str) -> str:
    whole = repaired(text)
    shorter = cut(whole, _ERROR_LIMITS)
    return whole if shorter is None else shorter.text("")


def _fenced_error(error: ToolError, tool: RegisteredTool, *, advice: bool) -> ToolError:
    message, fix = error.message, error.fix
    if advice and fix and not tool.first_party:  # its advice comes from outside too
        message, fix = f"{message}\n{fix}", None
    return replace(error, message=f"\n{fenced(message, tool.wire_name)}", fix=fix)
