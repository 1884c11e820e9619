"""JSON Schemas of tools, compiled once each; no schema can make the host fetch anything."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pegboard.contracts.errors import PegboardError

if TYPE_CHECKING:
    import jsonschema_rs

MAX_SCHEMA_BYTES: Final = 262_144
MAX_SCHEMA_DEPTH: Final = 100
_MAX_CACHED: Final = 20_000


class SchemaError(PegboardError):
    """A tool's schema can't be used."""

    code = "schema_invalid"


class Compiled(NamedTuple):
    """A schema ready for use.

    Args:
        schema: The schema itself.
        validator: What judges a value.
        integers: True when the schema asks for an integer anywhere.
    """

    schema: Mapping[str, Any]
    validator: jsonschema_rs.Validator
    integers: bool


class SchemaCache:
    """Compiled schemas, one per content."""

    def __init__(self) -> None:
        self._by_hash: dict[bytes, Compiled] = {}
        # by identity first: a tool's schema is one object for as long as the tool is registered.
        # The schema is kept beside, so that its identity can't be given to another one.
        self._by_identity: dict[int, tuple[Mapping[str, Any], Compiled]] = {}

    def get(self, schema: Mapping[str, Any]) -> Compiled:
        """Return a schema compiled.

        Raises:
            SchemaError: When it is too large, too deep, invalid, or refers to anything outside
                itself.
        """
        known = self._by_identity.get(id(schema))
        if known is not None:
            return known[1]
        text = _text(schema)
        digest = hashlib.sha256(text).digest()
        compiled = self._by_hash.get(digest)
        if compiled is None:
            compiled = _compile(json.loads(text))
        if len(self._by_identity) >= _MAX_CACHED:
            self._by_identity.clear()
            self._by_hash.clear()
        self._by_hash[digest] = compiled
        self._by_identity[id(schema)] = (schema, compiled)
        return compiled


def resolve_local(root: Mapping[str, Any], schema: Any) -> Mapping[str, Any]:
    """Follow `$ref`s within a schema; what leads nowhere is an empty schema."""
    for _ in range(MAX_SCHEMA_DEPTH):
        if not isinstance(schema, Mapping):
            return {}
        target = schema.get("$ref")
        if not isinstance(target, str):
            return schema
        schema = _pointed(root, target)
    return {}


def _pointed(root: Any, pointer: str) -> Any:
    if not pointer.startswith("#"):
        return None
    value = root
    for part in pointer[1:].split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _text(schema: Mapping[str, Any]) -> bytes:
    try:
        text = json.dumps(schema, sort_keys=True, separators=(",", ":")).encode()
    except RecursionError as error:
        raise SchemaError("the schema is nested too deeply") from error
    except (TypeError, ValueError) as error:
        raise SchemaError(f"the schema is not JSON: {error}") from error
    if len(text) > MAX_SCHEMA_BYTES:
        raise SchemaError(f"the schema has {len(text)} bytes; {MAX_SCHEMA_BYTES} are allowed")
    return text


def _compile(schema: dict[str, Any]) -> Compiled:
    # 49 ms, paid at the first tool call
    import jsonschema_rs

    if _depth(schema) > MAX_SCHEMA_DEPTH:
        raise SchemaError(f"the schema is nested deeper than {MAX_SCHEMA_DEPTH} levels")
    judged = schema
    if not _known_dialect(schema.get("$schema")):
        judged = {key: value for key, value in schema.items() if key != "$schema"}
    try:
        validator = jsonschema_rs.validator_for(judged, retriever=_refuse)
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        first_line = str(error).partition("\n")[0]
        raise SchemaError(f"the schema is invalid: {first_line[:300]}") from error
    return Compiled(schema, validator, any(_integer(node) for node in _nodes(schema)))


def _refuse(uri: str) -> Any:
    raise ValueError(f"a schema may not refer to {uri}")


def _known_dialect(name: object) -> bool:
    # a schema that names a dialect of its own is judged as 2020-12, like one that names none
    return isinstance(name, str) and "json-schema.org/" in name


def _integer(node: object) -> bool:
    if not isinstance(node, Mapping):
        return False
    named = node.get("type")
    return named == "integer" or (isinstance(named, list) and "integer" in named)


def _nodes(value: Any) -> Iterator[Any]:
    pending = [value]
    while pending:
        node = pending.pop()
        yield node
        if isinstance(node, dict):
            pending.extend(node.values())
        elif isinstance(node, list):
            pending.extend(node)


def _depth(value: Any) -> int:
    level, deepest = [value], 0
    while level:
        deepest += 1
        if deepest > MAX_SCHEMA_DEPTH:
            break
        level = [
            child
            for node in level
            if isinstance(node, (dict, list))
            for child in (node.values() if isinstance(node, dict) else node)
        ]
    return deepest
