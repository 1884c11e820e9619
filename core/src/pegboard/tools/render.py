"""A result as the model reads it."""

from __future__ import annotations

from pegboard.contracts.message import CallResult
from pegboard.contracts.result import Part, Text, ToolResult


def model_parts(result: ToolResult) -> tuple[Part, ...]:
    """Return what the model reads of a result: the error first, then the output."""
    output: tuple[Part, ...]
    if isinstance(result.output, str):
        output = (Text(result.output),) if result.output else ()
    else:
        output = tuple(result.output)
    if result.error is None:
        return output
    return (Text(result.error.text()), *output)


def call_result(call_id: str, name: str, result: ToolResult) -> CallResult:
    """Return the answer to one call for the conversation."""
    return CallResult(call_id, name, model_parts(result), error=result.error is not None)
