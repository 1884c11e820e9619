"""Which of the operator's rules decides about a call, or about a tool before it is called.

A rule that asks or denies matches when some part of a call does, and whenever that can't be told. A
rule that allows matches when every part of it does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from pegboard.contracts.effects import Access, Effects
from pegboard.contracts.tool import RegisteredTool
from pegboard.policy.command_match import could_run, must_run
from pegboard.policy.patterns import Pattern, spellings
from pegboard.policy.rules import Rule, plain_json


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call, as rules look at it.

    Args:
        tool: The tool.
        access: What the call reaches.
        arguments: Validated arguments.
        workspace: The folder that relative paths start in; "" = unknown.
    """

    tool: RegisteredTool
    access: tuple[Access, ...]
    arguments: Mapping[str, Any]
    workspace: str = ""


class Match(IntEnum):
    """How many of a tool's calls a rule is about."""

    NONE = 0
    SOME = 1
    ALL = 2


def first_match(rules: Sequence[Rule], call: Call) -> Rule | None:
    """Return the rule that decides about a call: the first that matches, or None."""
    found = frozenset(item.effect for item in call.access)
    return next(
        (
            rule
            for rule in rules
            if rule.is_about_tool(call.tool)
            and rule.is_about_effects(found)
            and _is_about_arguments(rule, call)
        ),
        None,
    )


def mildest(
    rules: Sequence[Rule], tool: RegisteredTool, possible: Iterable[Effects]
) -> Rule | None:
    """Return the rule by which the mildest of a tool's calls are judged; None = by none of them.

    Args:
        rules: The rules, in order.
        tool: The tool.
        possible: The effects that a call of it can have.
    """
    best: Rule | None = None
    effects = tuple(possible)
    for rule in rules:
        match = _share(rule, tool, effects)
        if match is not Match.NONE and (best is None or rule.outcome < best.outcome):
            best = rule
        if match is Match.ALL:
            return best
    return best if best is not None and best.allows else None


def _share(rule: Rule, tool: RegisteredTool, possible: Sequence[Effects]) -> Match:
    if not rule.is_about_tool(tool):
        return Match.NONE
    matching = sum(map(rule.is_about_effects, possible))
    if not matching or not all(_can_have(tool, name) for name in _named(rule)):
        return Match.NONE
    return Match.SOME if rule.looks_at_arguments or matching < len(possible) else Match.ALL


def _named(rule: Rule) -> list[str]:
    return [name for name, _ in (*rule.arguments, *(rule.exact or ()))]


def _can_have(tool: RegisteredTool, argument: str) -> bool:
    schema = tool.spec.parameters
    return argument in schema.get("properties", {}) or schema.get("additionalProperties", True)


def _is_about_arguments(rule: Rule, call: Call) -> bool:
    if rule.exact is not None and not _is_exactly(rule.exact, call):
        return False
    check = _must if rule.allows else _could
    return all(check(patterns, call, name) for name, patterns in rule.arguments)


def _is_exactly(exact: tuple[tuple[str, str], ...], call: Call) -> bool:
    """Tell whether a call has exactly these arguments; null, and what is left out, are defaults.

    Remarks don't count.
    """
    try:
        defaults = {name: plain_json(value) for name, value in _defaults(call.tool).items()}
        given = {
            name: plain_json(value) for name, value in call.arguments.items() if value is not None
        }
    except (TypeError, ValueError, RecursionError):  # a hook made them something else than JSON
        return False
    wanted = {**defaults, **dict(exact)}
    found = {**defaults, **given}
    for name in call.tool.spec.remarks:
        wanted.pop(name, None)
        found.pop(name, None)
    return found == wanted


def _defaults(tool: RegisteredTool) -> dict[str, Any]:
    properties: Mapping[str, Any] = tool.spec.parameters.get("properties", {})
    return {
        name: schema["default"]
        for name, schema in properties.items()
        if isinstance(schema, Mapping) and schema.get("default") is not None
    }


def _value(call: Call, name: str) -> Any:
    value = call.arguments.get(name)
    return _defaults(call.tool).get(name) if value is None else value


def _could(patterns: Sequence[Pattern], call: Call, name: str) -> bool:
    """Tell whether an argument could match: some part of it, in some spelling."""
    value = _value(call, name)
    source = _source(call, name, value)
    if source is not None:
        return could_run(patterns, source)
    texts = [*_texts(value), *(place for places in _places(call, name) for place in places)]
    return any(
        pattern.could((spelling,))
        for pattern in patterns
        for text in texts
        for spelling in spellings(text)
    )


def _must(patterns: Sequence[Pattern], call: Call, name: str) -> bool:
    """Tell whether an argument matches: each part of it, as the place that it means."""
    value = _value(call, name)
    source = _source(call, name, value)
    if source is not None:
        return must_run(patterns, source)
    parts = _places(call, name) or [(text,) for text in _texts(value)]
    return bool(parts) and all(
        any(pattern.must(text) for pattern in patterns for text in part) for part in parts
    )


def _source(call: Call, name: str, value: Any) -> str | tuple[str, ...] | None:
    """Return the shell source, or the words of a command, that an argument holds, or None."""
    if name not in call.tool.spec.shell:
        return None
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return tuple(value)
    return value if isinstance(value, str) else None


def _texts(value: Any) -> Iterator[str]:
    """Yield what a value holds as texts: items of lists one by one, tables as JSON."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _texts(item)
    elif value is not None:
        try:
            yield plain_json(value)
        except (TypeError, ValueError, RecursionError):
            yield repr(value)


def _places(call: Call, name: str) -> list[tuple[str, ...]]:
    """Return the places that an argument names: absolute, and seen from the workspace.

    A path with a link on the way is two places: the one that is named, and the one that is meant.
    """
    return [
        (place, _seen_from(call.workspace, place))
        for item in call.access
        if item.argument == name and item.resource
        for place in (item.resource, item.leads_to)
        if place
    ]


def _seen_from(workspace: str, place: str) -> str:
    """Return a place as it is written in a folder; absolute when it is not below it."""
    if not workspace:
        return place
    return "." if place == workspace else place.removeprefix(workspace.rstrip("/") + "/")
