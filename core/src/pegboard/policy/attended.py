"""Rules about a present owner, by name: what the turn must be for a tool to be usable at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from pegboard.contracts.caller import Caller
from pegboard.contracts.tool import RegisteredTool

Condition = Callable[[Caller, RegisteredTool], bool]

_PRESENT_SURFACES: Final = frozenset({"terminal", "chat", "voice", "editor"})


def _owner_present(caller: Caller) -> bool:
    return (
        caller.trust == "operator"
        and caller.depth == 0
        and caller.attended
        and not caller.job
        and caller.origin == "person"
    )


def _owners_job(caller: Caller) -> bool:
    return (
        caller.trust == "operator"
        and caller.depth == 0
        and caller.origin == "job"
        and bool(caller.job)
        and caller.job_creator == "operator"
    )


def _event_changes(caller: Caller, tool: RegisteredTool) -> bool:
    return (
        _owner_present(caller) and caller.surface in _PRESENT_SURFACES and not caller.continuation
    )


def _event_list(caller: Caller, tool: RegisteredTool) -> bool:
    return _event_changes(caller, tool) or (_owners_job(caller) and not caller.continuation)


def _coding(caller: Caller, tool: RegisteredTool) -> bool:
    if _owners_job(caller):
        return not {tool.canonical, tool.name or tool.canonical}.isdisjoint(caller.job_tools or ())
    return _owner_present(caller) and caller.live_reply and caller.surface != "voice"


def _desktop_control(caller: Caller, tool: RegisteredTool) -> bool:
    return _owner_present(caller)


def _directory_access(caller: Caller, tool: RegisteredTool) -> bool:
    return _owner_present(caller) and caller.live_reply and caller.slash_commands


def _ultra(caller: Caller, tool: RegisteredTool) -> bool:
    return caller.trust == "operator" and caller.depth == 0 and caller.run_profile == "ultra"


ATTENDED_RULES: Final[Mapping[str, tuple[Condition, str]]] = {
    "event_changes": (
        _event_changes,
        "only works in a turn that the owner started on a terminal, chat, voice or editor surface",
    ),
    "event_list": (
        _event_list,
        "only works in a turn that the owner started on a terminal, chat, voice or editor surface, "
        "or in a job that the owner made",
    ),
    "coding": (
        _coding,
        "only works in a turn of a present owner with a live reply, not by voice, or in a job of "
        "the owner that names it",
    ),
    "directory_access": (
        _directory_access,
        "only works in a turn of a present owner on a surface with a live reply and chat commands",
    ),
    "desktop_control": (
        _desktop_control,
        "only works in a turn of a present owner, never in a job or delegated work",
    ),
    "ultra": (_ultra, "only works in a turn that the owner began with /ultra"),
}
"""Name of a rule to its condition and what it asks for. A name that is not here never holds."""


def unmet(rule: str, caller: Caller, tool: RegisteredTool) -> str | None:
    """Return why a rule does not hold for this caller and tool, or None when it does."""
    known = ATTENDED_RULES.get(rule)
    if known is None:
        return f"needs the rule {rule!r}, which this version does not know"
    condition, wanted = known
    return None if condition(caller, tool) else wanted
