"""Further names of arguments: taken out of the schema, which models see without them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pegboard.contracts.errors import BuildError
from pegboard.contracts.tool import ALIASES_KEYWORD, JsonSchema

_CHOICES = ("anyOf", "allOf", "oneOf")


def take_aliases(tool: str, schema: JsonSchema) -> dict[str, str]:
    """Remove the aliases from a schema and return them, as `ToolSpec.argument_aliases`.

    Args:
        tool: Name of the tool.
        schema: Schema of its arguments; it is changed.

    Raises:
        BuildError: When one name would mean two arguments.
    """
    found: dict[str, str] = {}
    marked: list[dict[str, Any]] = []
    for prefix, properties in _objects(schema, schema, "", frozenset()):
        for own, entry in properties.items():
            if ALIASES_KEYWORD not in entry:
                continue
            marked.append(entry)
            for alias in entry[ALIASES_KEYWORD]:
                place = f"{prefix}{alias}"
                if alias in properties or found.setdefault(place, own) != own:
                    raise BuildError(f"tool {tool}: `{place}` would mean two arguments")
    for entry in marked:
        entry.pop(ALIASES_KEYWORD, None)
    return found


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
