"""Near misses in arguments, put right by what the schema asks for. Every change is recorded."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from pegboard.contracts import json_text
from pegboard.tools.schema_compile import resolve_local

if TYPE_CHECKING:
    import jsonschema_rs

_ROUNDS: Final = 4
_INTEGER: Final = re.compile(r"[+-]?\d{1,300}", re.ASCII)
_NUMBER: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
_BETWEEN_WORDS: Final = re.compile(r"[-_\s]+|(?<=[a-z0-9])(?=[A-Z])", re.ASCII)
_NOTHING: Final = object()


def repair(
    validator: jsonschema_rs.Validator,
    schema: Mapping[str, Any],
    arguments: dict[str, Any],
    *,
    source: str | None = None,
) -> list[str]:
    """Change values whose type nearly fits, in place, and return what was changed.

    Text becomes the number, boolean, null, list or object that it spells; one value becomes a list
    of one; a number becomes text, as it was written (`1.10` is not `1.1`); one of several names is
    found in any spelling of its words (`Cherry-Pick` for `cherry_pick`). Nothing is guessed
    (`"yes"` stays text), shortened (`"5.5"` never becomes an integer) or dropped.

    Args:
        validator: Compiled from `schema`.
        schema: Schema of the arguments.
        arguments: A value of the caller's own: it is changed.
        source: The text that the arguments were read from, or None.
    """
    notes: list[str] = []
    for _ in range(_ROUNDS):
        changed = [
            note
            for error in leaf_errors(validator.iter_errors(arguments))
            if (note := _repair_one(schema, arguments, list(error.instance_path), source))
        ]
        if not changed:
            break
        notes.extend(changed)
    return notes


def leaf_errors(
    errors: Iterable[jsonschema_rs.ValidationError],
) -> Iterator[jsonschema_rs.ValidationError]:
    """Replace each failed choice by the errors inside the branch that fits at its top, if one does.

    `int | list[int]` with `["x"]` fails as a whole; what helps is that its first item is no number.
    """
    for error in errors:
        branch = _fitting_branch(error)
        if branch is None:
            yield error
        else:
            yield from leaf_errors(branch)


def types_of(root: Mapping[str, Any], schema: Any) -> list[str]:
    """Return the types that a schema admits, choices included, in their order."""
    types: list[str] = []
    for node in _in_place(root, schema):
        named = node.get("type")
        if isinstance(named, str):
            types.append(named)
        elif isinstance(named, list):
            types.extend(map(str, named))
    return types


def schema_at(root: Mapping[str, Any], path: Iterable[str | int]) -> Mapping[str, Any]:
    """Return the schema of the value at `path`; empty when the schema does not say."""
    node = resolve_local(root, root)
    for step in path:
        node = _step(root, node, step)
    return node


def _fitting_branch(
    error: jsonschema_rs.ValidationError,
) -> list[jsonschema_rs.ValidationError] | None:
    if error.kind.name not in ("anyOf", "oneOf"):
        return None
    branches = error.kind.as_dict().get("context") or []
    depth = len(error.instance_path)
    for branch in branches:
        if branch and all(len(inner.instance_path) > depth for inner in branch):
            return list(branch)
    return None


def _in_place(root: Mapping[str, Any], schema: Any) -> Iterator[Mapping[str, Any]]:
    """Yield a schema and all that it combines or chooses from for the same value, each once."""
    seen = set[int]()
    pending = [schema]
    while pending:
        node = resolve_local(root, pending.pop())
        if id(node) in seen:
            continue
        seen.add(id(node))
        yield node
        for word in ("allOf", "oneOf", "anyOf"):
            choices = node.get(word)
            pending.extend(reversed(choices) if isinstance(choices, list) else ())


def _step(root: Mapping[str, Any], schema: Any, step: str | int) -> Mapping[str, Any]:
    for node in _in_place(root, schema):
        found = _child(node, step)
        if isinstance(found, Mapping):
            return resolve_local(root, found)
    return {}


def _child(node: Mapping[str, Any], step: str | int) -> Any:
    if isinstance(step, int):
        before = node.get("prefixItems", ())
        return before[step] if step < len(before) else node.get("items")
    return node.get("properties", {}).get(step, node.get("additionalProperties"))


def _repair_one(
    schema: Mapping[str, Any], arguments: Any, path: list[str | int], source: str | None
) -> str | None:
    if not path:
        return None
    parent = arguments
    try:
        for step in path[:-1]:
            parent = parent[step]
        old = parent[path[-1]]
    except (KeyError, IndexError, TypeError):
        return None  # an earlier repair of this round moved it; the next round looks again
    written = _written(old, path, source) if type(old) in (int, float) else None
    wanted = schema_at(schema, path)
    new = _named(schema, wanted, old) if isinstance(old, str) else _NOTHING
    if new is _NOTHING:
        new = _nearest_value(old, types_of(schema, wanted), written)
    if new is _NOTHING:
        return None
    parent[path[-1]] = new
    return f"{dotted(path)}: {_shown(old)} -> {_shown(new)}"


def dotted(path: Iterable[str | int]) -> str:
    """Return a path as people write it: `options.tags[2]`."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return text.removeprefix(".")


def _named(root: Mapping[str, Any], schema: Any, value: str) -> Any:
    """Return the one name of those admitted that is meant by another spelling of its words."""
    names = [name for node in _in_place(root, schema) for name in node.get("enum", ())]
    if value in names:
        return _NOTHING
    meant = {name for name in names if isinstance(name, str) and _words(name) == _words(value)}
    return meant.pop() if len(meant) == 1 else _NOTHING


def _words(name: str) -> str:
    return _BETWEEN_WORDS.sub("_", name.strip()).lower()


def _nearest_value(value: Any, types: list[str], written: str | None) -> Any:
    for wanted in types:
        new = _NOTHING
        if isinstance(value, str):
            new = _from_text(value.strip(), wanted)
        elif wanted == "string" and written is not None:
            new = written
        if new is not _NOTHING:
            return new
    return [value] if "array" in types and _is_item(value) else _NOTHING


def _is_item(value: Any) -> bool:
    """Tell whether a value can be meant as the one item of a list."""
    if not isinstance(value, str):
        return not isinstance(value, (list, dict, type(None)))
    text = value.strip()
    return text.lower() not in ("", "null") and (text[:1], text[-1:]) != ("[", "]")


def _written(value: float, path: list[str | int], source: str | None) -> str | None:
    """Return a number as text: as it was written, for `1.10` may be a version; None = unknown."""
    if type(value) is int or source is None:
        return json.dumps(value)
    found = json.loads(source, parse_float=str)
    if isinstance(found, str):
        found = json.loads(found, parse_float=str)
    try:
        for step in path:
            found = found[step]
    except (KeyError, IndexError, TypeError):
        return None  # it came out of a text inside
    return found if isinstance(found, str) else None


def _from_text(text: str, wanted: str) -> Any:
    if wanted == "integer" and _INTEGER.fullmatch(text):
        return int(text)
    if wanted == "number" and _NUMBER.fullmatch(text):
        number = int(text) if _INTEGER.fullmatch(text) else float(text)
        return number if number - number == 0 else _NOTHING
    if wanted == "boolean" and text.lower() in ("true", "false"):
        return text.lower() == "true"
    if wanted == "null" and text.lower() == "null":
        return None
    if wanted in ("object", "array") and text[:1] == ("{" if wanted == "object" else "["):
        return _parsed(text, dict if wanted == "object" else list)
    return _NOTHING


def _parsed(text: str, kind: type) -> Any:
    try:
        value = json_text.decode(text)
    except ValueError:
        return _NOTHING
    return value if isinstance(value, kind) else _NOTHING


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 80 else f"{text[:79]}…"
