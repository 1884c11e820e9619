"""Walk over JSON Schemas: references, defaults, secrets, and whether they can be used at all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

Schema = Mapping[str, Any]

BROKEN: Final = (AttributeError, IndexError, KeyError, TypeError, ValueError, RecursionError)
"""What a schema raises that is not one; schemas come from plugins and may be anything."""
HIDDEN: Final = "***"
_HOPS: Final = 20
_NUMBERS: Final = (
    *("minLength", "maxLength", "minItems", "maxItems"),
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
)


def resolved(schema: Any, root: Schema) -> Schema:
    """Follow `$ref` into the `$defs` of `root`; words beside the `$ref` are kept.

    Raises:
        ValueError: When it points elsewhere, to nothing, or to itself.
    """
    for _ in range(_HOPS):
        if isinstance(schema, bool):
            return {}  # `true` takes anything; `false` is of no use for settings
        ref = schema.get("$ref")
        if ref is None:
            break
        target: Any = root if ref == "#" else None
        if ref.startswith("#/"):
            target = root
            for part in ref[2:].split("/"):
                target = target.get(part.replace("~1", "/").replace("~0", "~"), {})
        if not target:
            raise ValueError(f"$ref {ref!r} points to nothing in this schema")
        schema = {**target, **{key: item for key, item in schema.items() if key != "$ref"}}
    else:
        raise ValueError("$ref points to itself")
    found: Schema = schema
    return found


def defaults(schema: Schema) -> dict[str, Any]:
    """Return the defaults that a schema of an object states, nested like the object.

    A schema that can't be used has none; `check` and `schema_fault` say what is wrong with it.
    """
    try:
        return _defaults(schema, schema, _HOPS)
    except BROKEN:
        return {}


def schema_fault(schema: Schema) -> str:
    """Return what makes a schema unusable, or ""."""
    try:
        _defaults(schema, schema, _HOPS)
        _walk(schema, schema)
    except BROKEN as error:
        return fault_of(error)
    return ""


def redact(value: Any, schema: Schema, hidden: str = HIDDEN) -> Any:
    """Return a copy of a value in which all that the schema marks as secret is hidden.

    Where nobody knows what is secret all is hidden: with a schema that can't be used, and under a
    key that the schema does not have.
    """
    try:
        return _redact(value, [schema], schema, hidden)
    except BROKEN:
        return hidden


def is_secret(schema: Schema) -> bool:
    """Say whether a schema, or a choice in it, is one that pydantic writes for a secret."""
    if schema.get("writeOnly") or schema.get("format") == "password":
        return True
    choices = (*schema.get("anyOf", ()), *schema.get("oneOf", ()))
    return any(is_secret(item) for item in choices if isinstance(item, Mapping))


def fault_of(error: Exception) -> str:
    """Say what an exception out of a schema means, after the words "the schema"."""
    if isinstance(error, RecursionError):
        return "refers to itself without end"
    return f"is broken: {error}"


def _defaults(schema: Schema, root: Schema, hops: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if hops == 0:
        return found
    for key, inner in resolved(schema, root).get("properties", {}).items():
        inner = resolved(inner, root)
        below = _defaults(inner, root, hops - 1) if "properties" in inner else {}
        if isinstance(inner.get("default"), Mapping):
            found[key] = {**below, **_copied(inner["default"])}
        elif "default" in inner:
            found[key] = _copied(inner["default"])
        elif below:
            found[key] = below
    return found


def _walk(schema: Any, root: Schema) -> None:
    """Look at every part of a schema as `check` would, and let its exceptions out."""
    if isinstance(schema, bool):
        return
    resolved(schema, root)
    _check_words(schema)
    inner = [part for word in ("properties", "$defs") for part in schema.get(word, {}).values()]
    for word in ("anyOf", "oneOf", "allOf", "prefixItems"):
        inner.extend(schema.get(word, ()))
    inner.extend(schema.get(word, True) for word in ("items", "additionalProperties"))
    for part in inner:
        _walk(part, root)


def _check_words(schema: Schema) -> None:
    if not isinstance(schema.get("type", ""), (str, list)):
        raise TypeError("`type` must be a name or a list of names")
    required = schema.get("required", [])
    if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
        raise TypeError("`required` must be a list of strings")
    for word in _NUMBERS:
        if not isinstance(schema.get(word, 0), (int, float)):
            raise TypeError(f"`{word}` must be a number")


def _copied(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _copied(item) for key, item in value.items()}
    return [_copied(item) for item in value] if isinstance(value, (list, tuple)) else value


def _redact(value: Any, schemas: Sequence[Any], root: Schema, hidden: str) -> Any:
    """Hide what any of the schemas that may apply to a value marks as secret."""
    found = [part for schema in schemas for part in _choices(schema, root, _HOPS)]
    if value is not None and any(map(is_secret, found)):
        return hidden
    if isinstance(value, Mapping):
        return {
            key: hidden if inner is None else _redact(item, inner, root, hidden)
            for key, item in value.items()
            for inner in [_members(found, key)]
        }
    if isinstance(value, (list, tuple)):
        inner = [
            item
            for schema in found
            for item in (schema.get("items", True), *schema.get("prefixItems", ()))
        ]
        return [_redact(item, inner, root, hidden) for item in value]
    return value


def _choices(schema: Any, root: Schema, hops: int) -> Iterator[Schema]:
    """Yield a schema and all that it combines."""
    whole = resolved(schema, root)
    yield whole
    if hops:
        for keyword in ("anyOf", "oneOf", "allOf"):
            for inner in whole.get(keyword, ()):
                yield from _choices(inner, root, hops - 1)


def _members(schemas: Sequence[Schema], key: str) -> list[Any] | None:
    """Return what schemas say of a member; None = they list members, and this is none of them."""
    listing = [item for item in schemas if "properties" in item or "additionalProperties" in item]
    found = [
        item.get("properties", {}).get(key, item.get("additionalProperties")) for item in listing
    ]
    known = [inner for inner in found if inner not in (None, False)]
    return known if known or not listing else None
