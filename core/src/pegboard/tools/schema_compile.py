"""JSON Schemas of tools, compiled once each; no schema can make the host fetch anything."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import unquote

from pegboard.contracts.errors import PegboardError

if TYPE_CHECKING:
    import jsonschema_rs

MAX_SCHEMA_BYTES: Final = 262_144
MAX_SCHEMA_DEPTH: Final = 100
MAX_CHECKS: Final = 10_000
"""Checks of one value that choices and references may multiply to; few schemas need a hundred."""
MAX_CHAIN: Final = 300
"""Choices and references that may follow one another; the validator recurses, and would crash."""
_MAX_NAMED_REFS: Final = 10
"""References by a name of their own, which are not followed here; almost no schema has one."""
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


def properties_of(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schema of each parameter; none where the schema is not what it should be."""
    found = resolve_local(schema, schema).get("properties")
    return found if isinstance(found, Mapping) else {}


def required_of(schema: Mapping[str, Any]) -> list[str]:
    """Return the names of the required parameters."""
    found = resolve_local(schema, schema).get("required")
    return (
        [name for name in found if isinstance(name, str)]
        if isinstance(found, (list, tuple))
        else []
    )


def _pointed(root: Any, pointer: str) -> Any:
    if not pointer.startswith("#"):
        return None
    value = root
    for part in unquote(pointer[1:]).split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, list) and key.isdecimal():
            value = value[int(key)] if int(key) < len(value) else None
        else:
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
    _refuse_bomb(schema)
    judged = schema
    if not _known_dialect(schema.get("$schema")):
        judged = {key: value for key, value in schema.items() if key != "$schema"}
    try:
        validator = jsonschema_rs.validator_for(judged, retriever=_refuse)
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        first_line = str(error).partition("\n")[0]
        raise SchemaError(f"the schema is invalid: {first_line[:300]}") from error
    return Compiled(schema, validator, any(_integer(node) for node in _nodes(schema)))


def _refuse_bomb(schema: dict[str, Any]) -> None:
    """Refuse a schema by which judging a small value would take forever, or crash the host.

    Each node is counted once, with the checks and the longest chain below it; where a chain leads
    back into itself the validator cuts it.
    """
    nodes = [node for node in _nodes(schema) if isinstance(node, dict)]
    anchored = any(isinstance(node.get("$id"), str) for node in nodes if node is not schema)
    named = [node for node in nodes if _named_ref(node, anchored)]
    if len(named) > _MAX_NAMED_REFS:
        raise SchemaError(f"the schema has more than {_MAX_NAMED_REFS} references by name")
    counted: dict[int, tuple[int, int]] = {}
    begun = set[int]()
    pending = list(nodes)
    while pending:
        node = pending[-1]
        inner = _combined(schema, node)
        if id(node) not in begun:
            begun.add(id(node))
            pending.extend(child for child in inner if id(child) not in begun)
            continue
        pending.pop()
        if id(node) in counted:
            continue
        below = [counted.get(id(child), (0, 0)) for child in inner]
        checks = 1 + sum(count for count, _ in below)
        chain = 1 + max((length for _, length in below), default=0)
        if checks > MAX_CHECKS or chain > MAX_CHAIN:
            raise SchemaError("the schema multiplies its choices and references without measure")
        counted[id(node)] = (checks, chain)


def _combined(root: dict[str, Any], node: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the schemas that judge the same value as part of this one."""
    found: list[Any] = []
    if isinstance(node.get("$ref"), str):
        found.append(_pointed(root, node["$ref"]))
    for word in ("allOf", "anyOf", "oneOf"):
        choices = node.get(word)
        found.extend(choices if isinstance(choices, list) else ())
    found.extend(node.get(word) for word in ("not", "if", "then", "else"))
    dependent = node.get("dependentSchemas")
    found.extend(dependent.values() if isinstance(dependent, dict) else ())
    return [item for item in found if isinstance(item, dict)]


def _named_ref(node: Mapping[str, Any], anchored: bool) -> bool:
    refs = [node[word] for word in ("$ref", "$dynamicRef") if isinstance(node.get(word), str)]
    return any(anchored or (ref != "#" and not ref.startswith("#/")) for ref in refs)


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
