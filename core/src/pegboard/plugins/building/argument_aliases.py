"""Further names of arguments: taken out of the schema, which models see without them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pegboard.contracts.argument import (
    ALIASES_KEYWORD,
    NOTHING,
    OPPOSITE,
    OPPOSITES_KEYWORD,
)
from pegboard.contracts.errors import BuildError
from pegboard.contracts.tool import JsonSchema

_CHOICES = ("anyOf", "allOf", "oneOf")


def take_aliases(tool: str, schema: JsonSchema, ignored: tuple[str, ...] = ()) -> dict[str, str]:
    """Remove the aliases from a schema and return them, as `ToolSpec.argument_aliases`.

    Args:
        tool: Name of the tool.
        schema: Schema of its arguments; it is changed.
        ignored: Places of arguments that are left out of a call: `-n`, `edits[].count`.

    Raises:
        BuildError: When one name would mean two arguments, an argument that is not yes or no has an
            opposite, or an ignored one has no place.
    """
    found: dict[str, str] = {}
    marked: list[dict[str, Any]] = []
    places: dict[str, set[str]] = {}
    for prefix, properties in _objects(schema, schema, "", frozenset()):
        places.setdefault(prefix, set()).update(properties)
        for own, entry in properties.items():
            marked.append(entry)
            for alias, meaning in _names(tool, own, entry):
                _note(tool, found, f"{prefix}{alias}", meaning, taken=alias in properties)
    for place in ignored:
        prefix, name = place[: place.rfind(".") + 1], place.rpartition(".")[2]
        if not name or prefix not in places:
            raise BuildError(f"tool {tool}: there is no place for the ignored `{place}`")
        _note(tool, found, place, NOTHING, taken=name in places[prefix])
    for entry in marked:
        entry.pop(ALIASES_KEYWORD, None)
        entry.pop(OPPOSITES_KEYWORD, None)
    return found


def _names(tool: str, own: str, entry: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for alias in entry.get(ALIASES_KEYWORD, ()):
        yield alias, own
    for alias in entry.get(OPPOSITES_KEYWORD, ()):
        if all(branch.get("type") != "boolean" for branch in (entry, *entry.get("anyOf", ()))):
            raise BuildError(f"tool {tool}: `{own}` is not yes or no, so it has no opposite")
        yield alias, f"{OPPOSITE}{own}"


def _note(tool: str, found: dict[str, str], place: str, meaning: str, *, taken: bool) -> None:
    if taken or found.setdefault(place, meaning) != meaning:
        raise BuildError(f"tool {tool}: `{place}` would mean two arguments")


def _objects(
    root: JsonSchema, node: Any, prefix: str, within: frozenset[str]
) -> Iterator[tuple[str, dict[str, dict[str, Any]]]]:
    """Yield the properties of each object that arguments may hold, with the way to it."""
    if not isinstance(node, dict):
        return
    target = node.get("$ref")
    if isinstance(target, str):
        name = target.removeprefix("#/$defs/")
        # a type that holds itself is followed once
        if name not in within:
            inner = root.get("$defs", {}).get(name)
            yield from _objects(root, inner, prefix, within | {name})
    for key in _CHOICES:
        for choice in node.get(key, ()):
            yield from _objects(root, choice, prefix, within)
    properties = node.get("properties")
    if isinstance(properties, dict):
        yield prefix, properties
        for name, entry in properties.items():
            yield from _objects(root, entry, f"{prefix}{name}.", within)
    if "items" in node and prefix:
        yield from _objects(root, node["items"], f"{prefix[:-1]}[].", within)
