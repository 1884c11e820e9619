"""All settings together: core's, the plugins' and their instances', as one schema and one check."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from pegboard.config.schema import CORE_SCHEMA, Problem
from pegboard.plugins.decision.kinds import KINDS, configured

if TYPE_CHECKING:
    from pegboard.config.load import Config
    from pegboard.plugins.decision.boot import Boot

_REFS: Final = "#/$defs/"


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


def problems(config: Config, boot: Boot) -> list[Problem]:
    """Return everything that is wrong with the settings, each named once."""
    found = [*config.problems, *boot.problems, *_of_plugins(boot), *_of_instances(boot)]
    return list(dict.fromkeys(found))


def _of_plugins(boot: Boot) -> Iterator[Problem]:
    for record in boot.records:
        if record.state.value == "misconfigured":
            yield Problem(f"plugins.{record.id}", record.reason, record.fix)


def _of_instances(boot: Boot) -> Iterator[Problem]:
    for kind in KINDS.values():
        if kind.section is not None:
            yield from configured(boot, kind.name).problems
