"""Tool schemas as each dialect takes them. Pure.

What a dialect can't say moves into the description: the model still reads it, and the host
validates every call against the whole schema anyway. Rules as of 2026-11; sources: the vendors'
API references.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, NamedTuple

from pegboard.contracts.provider import ToolDeclaration
from pegboard.providers.schema_inline import SchemaError, inlined
from pegboard.providers.surrogates import repaired
from pegboard.providers.tool_names import ToolNames

Dialect = Literal["openai", "anthropic", "gemini"]
MAX_TOOLS: Final[Mapping[Dialect, int]] = {"openai": 128, "anthropic": 512, "gemini": 512}
_MAX_DESCRIPTION: Final = 1_024
_COMBINED: Final = ("oneOf", "anyOf", "allOf", "not", "if", "then", "else")
_NOTED: Final[Mapping[Dialect, frozenset[str]]] = {
    "openai": frozenset(),
    "anthropic": frozenset(),
    "gemini": frozenset(
        {
            "contains",
            "dependentRequired",
            "dependentSchemas",
            "exclusiveMaximum",
            "exclusiveMinimum",
            "format",
            "maxContains",
            "minContains",
            "multipleOf",
            "not",
            "patternProperties",
            "propertyNames",
            "unevaluatedItems",
            "unevaluatedProperties",
            "uniqueItems",
        }
    ),
}
"""Keywords that a dialect does not take, told in the description."""
_SILENT: Final[Mapping[Dialect, frozenset[str]]] = {
    "openai": frozenset({"discriminator"}),
    "anthropic": frozenset({"discriminator"}),
    "gemini": frozenset({"discriminator", "example", "examples", "title", "readOnly", "writeOnly"}),
}
"""Keywords that a dialect does not take and that say nothing a model needs."""


class Projected(NamedTuple):
    """Tools as they are declared.

    Args:
        tools: Those that can be, under names that every provider takes.
        names: The way back from those names.
        dropped: Name of each tool that can't be, and why.
    """

    tools: tuple[ToolDeclaration, ...]
    names: ToolNames
    dropped: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class _Rules:
    dialect: Dialect
    noted: frozenset[str]
    silent: frozenset[str]


def project_tools(tools: Iterable[ToolDeclaration], dialect: Dialect) -> Projected:
    """Return tools as a dialect takes them; one that can't be declared never costs the others.

    Args:
        tools: The tools.
        dialect: Whose rules hold.
    """
    given = tuple(tools)
    names = ToolNames(tool.name for tool in given)
    made: list[ToolDeclaration] = []
    dropped: list[tuple[str, str]] = []
    for tool in given:
        if len(made) == MAX_TOOLS[dialect]:
            dropped.append((tool.name, f"at most {MAX_TOOLS[dialect]} tools can be declared"))
            continue
        try:
            parameters = project(tool.parameters, dialect)
        except (SchemaError, RecursionError) as error:
            dropped.append((tool.name, str(error) or "the schema is nested too deeply"))
            continue
        made.append(
            replace(
                tool,
                name=names.alias(tool.name),
                description=repaired(tool.description),
                parameters=parameters,
            )
        )
    return Projected(tuple(made), names, tuple(dropped))


def project(schema: Mapping[str, Any], dialect: Dialect) -> dict[str, Any]:
    """Return a tool's schema as a dialect takes it: an object at the top, nothing it refuses.

    Args:
        schema: The schema of the arguments.
        dialect: Whose rules hold.

    Raises:
        SchemaError: When it can't be said in this dialect.
    """
    if not isinstance(schema, Mapping):
        raise SchemaError("the schema is no object")
    rules = _Rules(dialect, _NOTED[dialect], _SILENT[dialect])
    whole = _flat_top(inlined(schema))
    if whole.get("type", "object") not in ("object", ["object"]):
        raise SchemaError(f"the arguments are of type {whole['type']!r} and no object")
    made = _node(whole, rules)
    assert isinstance(made, dict)
    made["type"] = "object"
    made.setdefault("properties", {})
    return made


def _flat_top(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema whose top combines nothing: no vendor takes alternatives there."""
    combined = {key: schema[key] for key in _COMBINED if key in schema}
    if not combined:
        return schema
    properties = _properties(schema)
    required = _names(schema.get("required"))
    for key in ("allOf", "anyOf", "oneOf"):
        for part in _schemas(combined.get(key)):
            for name, value in _properties(part).items():
                properties.setdefault(name, value)
            if key == "allOf":
                required += _names(part.get("required"))
    rest = {key: value for key, value in schema.items() if key not in combined}
    noted = _with_notes(rest, [f"{key}: {_short(value)}" for key, value in combined.items()])
    return {**noted, "properties": properties, "required": list(dict.fromkeys(required))}


def _node(value: Any, rules: _Rules) -> Any:
    """Return one schema as the dialect takes it."""
    if value is True or value == {}:
        return {}
    if value is False:
        return {"description": "must not be given"}
    if not isinstance(value, Mapping):
        raise SchemaError(f"{_short(value)} stands where a schema should")
    made: dict[str, Any] = {}
    notes: list[str] = []
    for key, item in value.items():
        if key in rules.silent:
            continue
        if key in rules.noted:
            notes.append(f"{key}: {_short(item)}")
        elif key == "const" and rules.dialect == "gemini":
            made["enum"] = [item]
        else:
            made[key] = _keyword(key, item, rules)
    _tidy(made, notes)
    return _with_notes(made, notes)


def _keyword(key: str, item: Any, rules: _Rules) -> Any:
    shape = _SHAPES.get(key)
    if shape is not None:
        return shape(key, item, rules)
    return _plain(item)


def _named(key: str, item: Any, rules: _Rules) -> dict[str, Any]:
    if not isinstance(item, Mapping):
        raise SchemaError(f"{key} is no object")
    return {repaired(str(name)): _node(part, rules) for name, part in item.items()}


def _list(key: str, item: Any, rules: _Rules) -> list[Any]:
    if not isinstance(item, list) or not item:
        raise SchemaError(f"{key} is no list of schemas")
    return [_node(part, rules) for part in item]


def _one(key: str, item: Any, rules: _Rules) -> Any:
    if key == "items" and isinstance(item, list):  # what drafts before 2020-12 call prefixItems
        return _node({"anyOf": item} if item else {}, rules)
    if isinstance(item, bool) and key != "items":
        return item
    return _node(item, rules)


_SHAPES: Final[Mapping[str, Callable[[str, Any, _Rules], Any]]] = {
    "properties": _named,
    "patternProperties": _named,
    "dependentSchemas": _named,
    "anyOf": _list,
    "oneOf": _list,
    "allOf": _list,
    "prefixItems": _list,
    "items": _one,
    "additionalProperties": _one,
    "not": _one,
    "if": _one,
    "then": _one,
    "else": _one,
    "contains": _one,
    "propertyNames": _one,
    "unevaluatedItems": _one,
    "unevaluatedProperties": _one,
}


def _tidy(made: dict[str, Any], notes: list[str]) -> None:
    """Take out what makes vendors refuse a whole request."""
    properties = made.get("properties")
    required = made.get("required")
    if required is not None:
        wanted = list(dict.fromkeys(_names(required)))
        known = [name for name in wanted if name in (properties or {})]
        unknown = [name for name in wanted if name not in known]
        if unknown:
            notes.append(f"required: {_short(unknown)}")
        if known:
            made["required"] = known
        else:
            del made["required"]
    enum = made.get("enum")
    if enum is not None and (not _is_list(enum) or not enum):
        del made["enum"]
    if made.get("type") == "array":
        made.setdefault("items", {})  # some vendors refuse a list of unknown things


def _with_notes(schema: dict[str, Any], notes: Iterable[str]) -> dict[str, Any]:
    told = "; ".join(notes)
    if not told:
        return schema
    said = schema.get("description")
    text = f"{said} ({told})" if isinstance(said, str) and said else told
    return {**schema, "description": text[:_MAX_DESCRIPTION]}


def _plain(value: Any) -> Any:
    """Return data that every JSON parser takes."""
    if isinstance(value, str):
        return repaired(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise SchemaError(f"the schema holds {value}, which is no JSON")
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {repaired(str(key)): _plain(item) for key, item in value.items()}
    return value


def _properties(schema: Mapping[str, Any]) -> dict[str, Any]:
    found = schema.get("properties", {})
    if not isinstance(found, Mapping):
        raise SchemaError("properties is no object")
    return dict(found)


def _names(value: Any) -> list[str]:
    return [repaired(name) for name in value if isinstance(name, str)] if _is_list(value) else []


def _schemas(value: Any) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, Mapping)] if _is_list(value) else []


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple)


def _short(value: Any) -> str:
    text = json.dumps(_plain(value), ensure_ascii=False, separators=(",", ":"), default=str)
    return text if len(text) <= 200 else f"{text[:200]}…"
