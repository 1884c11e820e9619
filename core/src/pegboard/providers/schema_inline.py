"""JSON Schemas of tools as trees: references resolved, sizes bounded. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import unquote

MAX_DEPTH: Final = 40
MAX_NODES: Final = 20_000
RECURSION: Final = "nested further in the same way"
"""What is told of a part that holds itself."""


class SchemaError(ValueError):
    """A schema can't be declared to a model; the message says why."""


def inlined(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema without references: each is replaced by what it refers to.

    A part that holds itself is cut where it begins anew; its description says so.

    Args:
        schema: The schema, as the tool states it.

    Raises:
        SchemaError: When a reference leads nowhere or out of the schema, or it is too large.
    """
    whole = _Inliner(schema).node(schema, 0, ())
    if not isinstance(whole, dict):
        raise SchemaError("the schema is no object")
    return whole


class _Inliner:
    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._nodes = 0

    def node(self, value: Any, depth: int, open_refs: tuple[str, ...]) -> Any:
        self._nodes += 1
        if depth > MAX_DEPTH:
            raise SchemaError(f"the schema is nested more than {MAX_DEPTH} deep")
        if self._nodes > MAX_NODES:
            raise SchemaError(f"the schema has more than {MAX_NODES} parts")
        if isinstance(value, list):
            return [self.node(item, depth + 1, open_refs) for item in value]
        if not isinstance(value, Mapping):
            return value
        reference = value.get("$ref", value.get("$dynamicRef"))
        if isinstance(reference, str):
            return self._referred(value, reference, depth, open_refs)
        return {
            str(key): self._keyword(key, item, depth + 1, open_refs)
            for key, item in value.items()
            if key not in _DROPPED and not str(key).startswith("x-")
        }

    def _keyword(self, key: str, item: Any, depth: int, open_refs: tuple[str, ...]) -> Any:
        if key in _DATA:
            return item
        if key in _NAMED and isinstance(item, Mapping):
            # its keys are names that somebody chose, whatever they look like
            return {str(name): self.node(part, depth + 1, open_refs) for name, part in item.items()}
        return self.node(item, depth, open_refs)

    def _referred(
        self, value: Mapping[str, Any], reference: str, depth: int, open_refs: tuple[str, ...]
    ) -> Any:
        beside = {key: item for key, item in value.items() if key not in ("$ref", "$dynamicRef")}
        if reference in open_refs:
            return {"description": RECURSION}
        target = self._find(reference)
        if isinstance(target, Mapping):
            target = {**target, **beside}
        return self.node(target, depth + 1, (*open_refs, reference))

    def _find(self, reference: str) -> Any:
        if not reference.startswith("#"):
            raise SchemaError(f"the reference {reference[:80]!r} leads out of the schema")
        found: Any = self._root
        for part in reference[1:].split("/")[1:]:
            key = unquote(part).replace("~1", "/").replace("~0", "~")
            if isinstance(found, Mapping) and key in found:
                found = found[key]
            elif isinstance(found, list) and key.isdecimal() and int(key) < len(found):
                found = found[int(key)]
            else:
                raise SchemaError(f"the reference {reference[:80]!r} leads nowhere")
        return found


_DATA: Final = frozenset({"const", "default", "enum", "example", "examples"})
"""Keywords whose value is data and no schema."""
_NAMED: Final = frozenset({"dependentSchemas", "patternProperties", "properties"})
_DROPPED: Final = frozenset(
    {"$anchor", "$comment", "$defs", "$dynamicAnchor", "$id", "$schema", "definitions"}
)
"""What says nothing any more once references are resolved."""
