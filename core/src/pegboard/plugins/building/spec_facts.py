"""What an author states beside a tool's function, checked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, get_args

from pegboard.config.nearest import did_you_mean
from pegboard.contracts.capability import CAPABILITIES, CONTROL_AREAS, capability_fault
from pegboard.contracts.effects import (
    EFFECTS,
    EXPOSURES,
    POLICY_CLASSES,
    Audience,
    Effect,
    Effects,
    EffectsBy,
    OnInterrupt,
    effects,
)
from pegboard.contracts.errors import BuildError

if TYPE_CHECKING:
    from pegboard.plugins.declared import ToolFacts

TOOL_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
_CAPTURE: Final = re.compile(r"\{(\w+)(?::\w+)?\}")
_SAME: Final = ("category", "aliases", "intents", "attended", "help", "needs")
_ALSO: Final = ("limits", "outside")
_CHOICES: Final[dict[str, tuple[Any, ...]]] = {
    "audience": get_args(Audience),
    "policy_class": (None, *POLICY_CLASSES),
    "exposure": EXPOSURES,
    "capability": (None, *CAPABILITIES),
    "control": (None, *CONTROL_AREAS),
    "on_interrupt": (None, *get_args(OnInterrupt)),
}


def checked_facts(
    name: str,
    facts: ToolFacts,
    *,
    parameters: tuple[str, ...],
    access: Mapping[str, Effect],
    path_patterns: Mapping[str, str],
    remarks: tuple[str, ...],
    freeform: tuple[str, ...],
    shell: tuple[str, ...],
) -> dict[str, Any]:
    """Return the keywords of `ToolSpec` that come from what the author states.

    Raises:
        BuildError: When a name, an effect or a choice does not exist, or an intent or `effects_by`
            names no parameter.
    """
    for tool_name in (name, *facts.aliases):
        check_tool_name(tool_name)
    chosen = {key: _choice(name, key, getattr(facts, key)) for key in _CHOICES}
    fault = capability_fault((name, *facts.aliases), facts.capability, facts.control)
    if fault is not None:
        raise BuildError(f"tool {name}: {fault}")
    for intent in facts.intents:
        for argument in (*_CAPTURE.findall(intent.pattern), *intent.arguments):
            _check_parameter(name, f"the intent {intent.pattern!r}", argument, parameters)
    if not facts.timeout_s > 0:
        raise BuildError(f"tool {name}: timeout_s must be more than 0")
    declared = None if facts.effects is None else known_effects(f"tool {name}", facts.effects)
    for parameter, effect in access.items():
        where = f"tool {name}, parameter {parameter}, access"
        check_below(where, known_effects(where, (effect,)), declared)
    for parameter, pattern in path_patterns.items():
        _check_path_pattern(f"tool {name}, parameter {parameter}", pattern, parameter in access)
    _check_marks(name, access, remarks=remarks, freeform=freeform, shell=shell, declared=declared)
    return {
        **{key: getattr(facts, key) for key in (*_SAME, *_ALSO)},
        **chosen,
        "timeout_s": float(facts.timeout_s),
        "access": access,
        "path_patterns": path_patterns,
        "remarks": remarks,
        "freeform": "".join(freeform),
        "shell": shell,
        "effects": declared,
        "effects_by": _effects_by(name, facts, declared, parameters),
    }


def _check_marks(
    name: str,
    access: Mapping[str, Effect],
    *,
    remarks: tuple[str, ...],
    freeform: tuple[str, ...],
    shell: tuple[str, ...],
    declared: Effects | None,
) -> None:
    for parameter in remarks:
        if parameter in access or parameter in shell:
            raise BuildError(
                f"tool {name}, parameter {parameter}: a remark is no path and no source"
            )
    if len(freeform) > 1:
        raise BuildError(f"tool {name}: only one parameter can be freeform")
    for parameter in shell:
        check_below(f"tool {name}, parameter {parameter}, shell", frozenset({"exec"}), declared)


def check_tool_name(name: str) -> None:
    """Refuse a name that a model could not call.

    Raises:
        BuildError: When it is not letters, digits and `_`, or longer than 64.
    """
    if not TOOL_NAME.fullmatch(name):
        raise BuildError(
            f"{name!r} is no tool name: letters, digits and `_`, a letter first, "
            "at most 64 characters"
        )


def known_effects(where: str, names: Iterable[str]) -> Effects:
    """Return `names` as a set of effects.

    Raises:
        BuildError: When one does not exist; the message suggests another.
    """
    try:
        return effects(names)
    except ValueError as error:
        unknown = next((name for name in sorted(names) if name not in EFFECTS), "")
        raise BuildError(f"{where}: {error}{did_you_mean(unknown, EFFECTS)}") from error


def _choice(name: str, key: str, value: Any) -> Any:
    allowed = _CHOICES[key]
    if value not in allowed:
        words = [word for word in allowed if word is not None]
        raise BuildError(
            f"tool {name}: {key} is {value!r}, must be one of {', '.join(words)}"
            f"{did_you_mean(str(value), words)}"
        )
    return value


def _effects_by(
    name: str, facts: ToolFacts, declared: Effects | None, parameters: tuple[str, ...]
) -> EffectsBy | None:
    if not facts.effects_by:
        return None
    if len(facts.effects_by) != 1:
        raise BuildError(f"tool {name}: effects_by takes exactly one parameter")
    ((argument, table),) = facts.effects_by.items()
    _check_parameter(name, "effects_by", argument, parameters)
    values = {
        value: known_effects(f"tool {name}, effects_by {value}", names)
        for value, names in table.items()
    }
    for value, listed in values.items():
        check_below(f"tool {name}, effects_by {value}", listed, declared)
    return EffectsBy(argument, values)


def check_below(where: str, names: Effects, ceiling: Effects | None) -> None:
    """Refuse effects that the ceiling does not hold; None = no ceiling.

    Raises:
        BuildError: With the effects that are too many.
    """
    beyond = sorted(names - ceiling) if ceiling is not None else []
    if beyond:
        raise BuildError(
            f"{where}: {', '.join(beyond)} is not among the declared effects "
            f"({', '.join(sorted(ceiling or ())) or 'none'})"
        )


def _check_path_pattern(where: str, pattern: str, has_access: bool) -> None:
    if not has_access:
        raise BuildError(f"{where}: path_pattern goes with access", fix='add access="fs_write"')
    try:
        groups = re.compile(pattern).groups
    except re.error as error:
        raise BuildError(f"{where}: path_pattern is no regular expression: {error}") from error
    if groups != 1:
        raise BuildError(f"{where}: path_pattern has {groups} groups, and needs one: the path")


def _check_parameter(name: str, what: str, argument: str, parameters: tuple[str, ...]) -> None:
    if argument not in parameters:
        raise BuildError(
            f"tool {name}: {what} names `{argument}`, which is no parameter"
            f"{did_you_mean(argument, parameters)}"
        )
