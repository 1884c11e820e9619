"""What is wrong with arguments, told so that the next call can be right."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from pegboard.tools.argument_repair import dotted, leaf_errors, schema_at, types_of
from pegboard.tools.schema_compile import properties_of, required_of, resolve_local

if TYPE_CHECKING:
    import jsonschema_rs

MAX_ERRORS: Final = 5
_MAX_MESSAGE: Final = 300
_MAX_VALUE: Final = 60
_MAX_PARAMETERS: Final = 20


def messages(
    errors: Iterable[jsonschema_rs.ValidationError], schema: Mapping[str, Any]
) -> list[str]:
    """Return at most five errors as `path: what is wrong and what is allowed`.

    Args:
        errors: What the validator found.
        schema: Schema of the arguments.
    """
    found: list[str] = []
    for text in _all_messages(errors, schema):
        if text in found:
            continue
        if len(found) == MAX_ERRORS:
            found.append("... and more")
            break
        found.append(text)
    return found


def signature(schema: Mapping[str, Any]) -> str:
    """Return the parameters in one line: `path (string, required), limit (integer)`."""
    properties, required = properties_of(schema), required_of(schema)
    parts = [
        f"{name} ({_types(schema, properties[name])}{', required' if name in required else ''})"
        for name in sorted(properties, key=lambda name: name not in required)
    ]
    if not parts:
        return "no arguments"
    shown = ", ".join(parts[:_MAX_PARAMETERS])
    return f"{shown}, ..." if len(parts) > _MAX_PARAMETERS else shown


def _all_messages(
    errors: Iterable[jsonschema_rs.ValidationError], schema: Mapping[str, Any]
) -> Iterator[str]:
    for error in leaf_errors(errors):
        path = list(error.instance_path)
        kind, facts = error.kind.name, error.kind.as_dict()
        if kind == "required":
            yield _missing(schema, [*path, facts["property"]])
        elif kind in ("additionalProperties", "unevaluatedProperties"):
            for name in facts["unexpected"]:
                yield _unknown(schema, path, name)
        else:
            text = _wrong_value(schema, path, error, facts)
            yield f"{dotted(path)}: {text}" if path else text


def _missing(schema: Mapping[str, Any], path: list[str | int]) -> str:
    node = schema_at(schema, path)
    about = str(node.get("description", "")).partition("\n")[0][:80]
    return f"{dotted(path)}: missing ({_types(schema, node)}{f'; {about}' if about else ''})"


def _unknown(schema: Mapping[str, Any], path: list[str | int], name: str) -> str:
    names = list(schema_at(schema, path).get("properties", {}))
    near = difflib.get_close_matches(name[:100].lower(), names, n=1, cutoff=0.6)
    if near:
        hint = f"did you mean {near[0]!r}?"
    else:
        hint = f"there are: {', '.join(names[:_MAX_PARAMETERS])}" if names else "there are none"
    return f"{_clip(dotted([*path, name]), 100)}: unknown argument; {hint}"


def _wrong_value(
    schema: Mapping[str, Any],
    path: list[str | int],
    error: jsonschema_rs.ValidationError,
    facts: Mapping[str, Any],
) -> str:
    got = _value(error.instance)
    if error.kind.name == "type":
        return f"must be {' or '.join(facts['types'])}, got {got}"
    if error.kind.name == "enum":
        options = ", ".join(_value(option) for option in facts["options"][:_MAX_PARAMETERS])
        return f"must be one of {options}; got {got}"
    if error.kind.name == "const":
        return f"must be {_value(facts['expected_value'])}, got {got}"
    if error.kind.name in ("anyOf", "oneOf"):
        return f"must be {_types(schema, schema_at(schema, path))}, got {got}"
    return _clip(error.message, _MAX_MESSAGE)


def _types(root: Mapping[str, Any], schema: Any) -> str:
    node = resolve_local(root, schema)
    if isinstance(node.get("enum"), list):
        return " | ".join(_value(option) for option in node["enum"][:_MAX_PARAMETERS])
    return " or ".join(dict.fromkeys(types_of(root, node))) or "any value"


def _value(value: Any) -> str:
    return _clip(json.dumps(value, ensure_ascii=False, default=str), _MAX_VALUE)


def _clip(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
