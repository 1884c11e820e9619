"""What became of a call: a tool's own words, or what ended it."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from enum import Enum
from typing import Any, Final, NamedTuple

from pegboard.contracts.errors import PegboardError, ToolFailure
from pegboard.contracts.result import ToolResult
from pegboard.contracts.tool import RegisteredTool
from pegboard.plugins.building.isolation import one_line
from pegboard.plugins.discovery.scan import FoundPlugin
from pegboard.tools.crash_place import crash_place
from pegboard.tools.function_tool import BadReturn, ToolCrash, as_result

PLACE: Final = "at"
"""Under this name `details` hold the `FILE:LINE` of the plugin's own code that broke."""
_log: Final = logging.getLogger("pegboard.tools")
_OS_CODES: Final[tuple[tuple[type[OSError], str, str], ...]] = (
    (FileNotFoundError, "not_found", "Check the name."),
    (FileExistsError, "exists", "Choose another name."),
    (IsADirectoryError, "is_a_directory", "Name a file."),
    (NotADirectoryError, "not_a_directory", "Name a folder."),
    (PermissionError, "permission_denied", "Choose another place, or ask the owner."),
    (OSError, "os_error", "Try another way."),
)


class Words(Enum):
    """Whose words a result holds, which decides what of them is fenced."""

    TOOL = "tool"
    """All of them are the tool's."""
    CRASH = "crash"
    """The message quotes an exception of the tool; the advice is the host's."""
    HOST = "host"
    """None of them comes from outside."""


class Outcome(NamedTuple):
    """A result before it is limited and fenced."""

    result: ToolResult
    words: Words = Words.TOOL


def returned(tool: RegisteredTool, value: Any) -> Outcome:
    """Return what became of a call that returned `value`, whatever that is."""
    if type(value) is ToolResult:
        return Outcome(value)
    try:
        return Outcome(as_result(value))
    except BadReturn as error:
        return raised(tool, error)


def raised(
    tool: RegisteredTool,
    error: BaseException,
    *,
    found: FoundPlugin | None = None,
    to_operator: bool = False,
) -> Outcome:
    """Return what became of a call that an exception ended.

    Args:
        tool: What ran.
        error: What it raised.
        found: Its plugin, where one is installed: the log names the line that broke.
        to_operator: True when the result may name that line as well.
    """
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    if isinstance(error, ToolFailure):
        return Outcome(_failure(tool, error))
    if isinstance(error, PegboardError):
        return Outcome(
            ToolResult.failed(error.code, error.message, fix=error.fix, details=error.details)
        )
    place = crash_place(found, error)
    details = {PLACE: place.text} if place.text and to_operator else {}
    if isinstance(error, OSError) and error.strerror:
        return Outcome(_os_failure(error, details), Words.CRASH)
    what = str(error) if isinstance(error, (BadReturn, ToolCrash)) else one_line(error)
    # not a warning: those reach the terminal of whoever has set up no log
    _log.info(
        "tool %s crashed at %s", tool.canonical, place.text or "a line unknown", exc_info=error
    )
    # who edits the plugin here wants to know where; a model can do nothing about other people's
    where = place.text if details and place.authored else ""
    return Outcome(broken_down(tool, what, where=where, details=details), Words.CRASH)


def broken_down(
    tool: RegisteredTool, what: str, *, where: str = "", details: Mapping[str, Any] | None = None
) -> ToolResult:
    """Return the result of a call that showed a fault in its tool.

    Args:
        tool: What ran.
        what: The fault.
        where: `FILE:LINE` of it, or "".
        details: Facts for people.
    """
    return ToolResult.failed(
        "tool_crashed",
        f"{tool.wire_name} broke down{f' at {where}' if where else ''}: {what}.",
        details=details,
        fix=f"This is a fault in plugin {tool.plugin}: do without it, or try other arguments.",
    )


def timed_out(tool: RegisteredTool) -> Outcome:
    """Return what became of a call that took too long."""
    seconds = tool.spec.timeout_s
    result = ToolResult.failed(
        "timeout",
        f"{tool.wire_name} did not end within {seconds:g} s and was stopped; "
        "it may have done part of its work.",
        fix="Check what was done before you try again, with a smaller task.",
        retryable=True,
    )
    return Outcome(result, Words.HOST)


def _os_failure(error: OSError, details: Mapping[str, Any]) -> ToolResult:
    code, fix = next((code, fix) for kind, code, fix in _OS_CODES if isinstance(error, kind))
    where = f": {error.filename}" if error.filename else ""
    return ToolResult.failed(code, f"{error.strerror}{where}.", fix=fix, details=details)


def _failure(tool: RegisteredTool, error: ToolFailure) -> ToolResult:
    return ToolResult.failed(
        error.tool_code,
        error.message,
        fix=error.fix,
        retryable=error.retryable,
        details=error.details,
        # a first-party tool says which of its messages hold text from outside
        outside=error.outside if tool.first_party else None,
    )
