"""All settings together: core's, the plugins' and their instances', as one schema and one check."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from pegboard.cli.named import unknown_names
from pegboard.config.load import Config
from pegboard.config.schema import CORE_SCHEMA, Problem
from pegboard.config.schema_tree import redact, resolved, schema_fault
from pegboard.plugins.decision.kinds import KINDS, configured

if TYPE_CHECKING:
    from pegboard.plugins.decision.boot import Boot

_REFS: Final = "#/$defs/"
_NOTHING: Final[dict[str, Any]] = {"type": "object", "properties": {}}
"""Settings of which nothing is known."""


def merged_schema(boot: Boot) -> dict[str, Any]:
    """Return one JSON Schema of the config file, for editors: core's keys and every plugin's."""
    from copy import deepcopy

    schema: dict[str, Any] = deepcopy(dict(CORE_SCHEMA))
    properties = schema["properties"]
    for record in boot.records:
        if record.manifest is None:
            continue
        if record.manifest.config is not None:
            own = _moved(schema, record.id, record.manifest.config)
            properties["plugins"].setdefault("properties", {})[record.id] = own
        for fact in record.manifest.contributions:
            kind = KINDS.get(fact.kind)
            if kind is not None and kind.section is not None:
                own = _moved(schema, f"{fact.kind}-{fact.name}", fact.config or {})
                _add_type(properties[kind.section], fact.name, own)
    return schema


def _add_type(section: dict[str, Any], name: str, settings: dict[str, Any]) -> None:
    """Let a table with `type = name` take the settings of that type."""
    table = section["additionalProperties"]
    rules = table.setdefault("allOf", [])
    condition = {"properties": {"type": {"const": name}}, "required": ["type"]}
    rules.append({"if": condition, "then": {"properties": settings.get("properties", {})}})
    examples = table["properties"]["type"].setdefault("examples", [])
    examples.append(name)


def _moved(schema: dict[str, Any], owner: str, part: Mapping[str, Any]) -> dict[str, Any]:
    """Return `part` with its `$defs` moved into those of the whole, under the owner's name."""
    own = dict(part)
    for name, definition in own.pop("$defs", {}).items():
        schema.setdefault("$defs", {})[f"{owner}.{name}"] = _renamed(definition, owner)
    moved: dict[str, Any] = _renamed(own, owner)
    return moved


def _renamed(value: Any, owner: str) -> Any:
    if isinstance(value, Mapping):
        return {
            key: f"{_REFS}{owner}.{item.removeprefix(_REFS)}"
            if key == "$ref" and isinstance(item, str)
            else _renamed(item, owner)
            for key, item in value.items()
        }
    return [_renamed(item, owner) for item in value] if isinstance(value, list) else value


def visible(config: Config, boot: Boot) -> Config:
    """Return the settings in force with everything hidden that is secret, or might be.

    Only a plugin knows which of its settings are secret; those of one that is not installed, or
    that has no manifest, are hidden.
    """
    schema = merged_schema(boot)
    properties = schema["properties"]
    properties["plugins"]["additionalProperties"] = _NOTHING
    for record in boot.records:
        if record.manifest is not None and schema_fault(record.manifest.config or {}):
            properties["plugins"]["properties"][record.id] = _NOTHING
    for kind in KINDS.values():
        if kind.section is not None:
            types = dict(_types(boot, kind.name, schema))
            section = properties[kind.section]
            core = section["additionalProperties"]["properties"]
            section["properties"] = {
                name: {**own, "properties": {**own.get("properties", {}), **core}}
                for name, table in config.section(kind.section).items()
                for own in [types.get(_type_of(name, table), _NOTHING)]
            }
    return Config(redact(config.data, schema), config.sources, config.paths)


def _types(boot: Boot, kind: str, schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the settings of each type by all its names; one that two plugins bring has none."""
    found: dict[str, dict[str, Any]] = {}
    for record in boot.records:
        for fact in record.manifest.contributions if record.manifest else ():
            if fact.kind == kind:
                given = fact.config or {}
                usable = {} if schema_fault(given) else resolved(given, given)
                own = _moved(schema, f"{record.id}-{kind}-{fact.name}", {**_NOTHING, **usable})
                yield f"{record.id}:{fact.name}", own
                found[fact.name] = _NOTHING if fact.name in found else own
    yield from found.items()


def _type_of(name: str, table: Any) -> str:
    return str(table.get("type", name)) if isinstance(table, Mapping) else name


def problems(config: Config, boot: Boot) -> list[Problem]:
    """Return everything that is wrong with the settings, each named once."""
    found = [*config.problems, *boot.problems, *_of_plugins(boot), *_of_instances(boot)]
    found += unknown_names(config, boot)
    return list(dict.fromkeys(found))


def doubts(boot: Boot) -> list[Problem]:
    """Return what may be wrong: only the code of a plugin that has no manifest could tell."""
    kinds = [kind.name for kind in KINDS.values() if kind.section is not None]
    return [doubt for kind in kinds for doubt in configured(boot, kind).doubts]


def _of_plugins(boot: Boot) -> Iterator[Problem]:
    for record in boot.records:
        if record.state.value == "misconfigured":
            yield Problem(f"plugins.{record.id}", record.reason, record.fix)


def _of_instances(boot: Boot) -> Iterator[Problem]:
    for kind in KINDS.values():
        if kind.section is not None:
            yield from configured(boot, kind.name).problems
