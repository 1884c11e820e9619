"""Check settings against JSON Schema without importing a schema library.

Boot checks the settings of every plugin before it imports any, with the part of JSON Schema that
pydantic writes for a model. A keyword that is not known here is not enforced: the plugin's own
model does that when the plugin is activated. One thing is stricter than JSON Schema: a table whose
`properties` are listed takes no others unless `additionalProperties` says so, because a misspelt
key that is ignored costs its owner days.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from pegboard.config.core_schema import CORE_SCHEMA as CORE_SCHEMA
from pegboard.config.keys import join_key
from pegboard.config.nearest import did_you_mean
from pegboard.config.schema_tree import BROKEN, HIDDEN, Schema, fault_of, is_secret, resolved
from pegboard.config.schema_tree import defaults as defaults
from pegboard.config.schema_tree import redact as redact
from pegboard.config.schema_tree import schema_fault as schema_fault

_TYPES: Final[Mapping[str, tuple[str, Callable[[Any], bool]]]] = {
    "string": ("a string", lambda value: isinstance(value, str)),
    "boolean": ("true or false", lambda value: isinstance(value, bool)),
    "integer": (
        "a whole number",
        lambda value: (
            not isinstance(value, bool)
            and (isinstance(value, int) or (isinstance(value, float) and value.is_integer()))
        ),
    ),
    "number": (
        "a number",
        lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    ),
    "array": ("a list", lambda value: isinstance(value, (list, tuple))),
    "object": ("a table", lambda value: isinstance(value, Mapping)),
    "null": ("nothing", lambda value: value is None),
}
_BOUNDS: Final = (
    ("minimum", "at least", operator.ge),
    ("maximum", "at most", operator.le),
    ("exclusiveMinimum", "more than", operator.gt),
    ("exclusiveMaximum", "less than", operator.lt),
)
_DATES: Final = ("date", "time", "date-time")


class Problem(NamedTuple):
    """Something wrong that a person can mend.

    Args:
        path: Dotted key, or "" when it is about no key.
        message: What is wrong, and where.
        fix: The one command or line that mends it, or None.
    """

    path: str
    message: str
    fix: str | None = None


def check(value: Any, schema: Schema, where: str = "") -> list[Problem]:
    """Return what is wrong with a value, each problem with the command that mends it.

    Args:
        value: Settings, as TOML or JSON gives them.
        schema: JSON Schema; a `$ref` may point into its own `$defs`. One that can't be used is
            itself a problem, not an exception: it comes from a plugin.
        where: Dotted key of the value, for messages.
    """
    try:
        return list(_check(value, schema, where, schema))
    except BROKEN as error:
        return [Problem(where, f"the schema of {where or 'these settings'} {fault_of(error)}")]


def _check(value: Any, schema: Schema, where: str, root: Schema) -> Iterator[Problem]:
    schema = resolved(schema, root)
    if schema.get("format") in _DATES and hasattr(value, "isoformat"):
        return  # TOML has dates of its own
    wanted = _wanted_types(schema)
    if wanted and not any(_TYPES[name][1](value) for name in wanted):
        yield _wrong(where, f"must be {_type_names(wanted)}, not {_shown(value, schema)}", schema)
        return
    yield from _check_options(value, schema, where, root)
    if isinstance(value, str):
        yield from _check_text(value, schema, where)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield from _check_number(value, schema, where)
    elif isinstance(value, (list, tuple)):
        yield from _check_list(value, schema, where, root)
    elif isinstance(value, Mapping):
        yield from _check_table(value, schema, where, root)


def _check_options(value: Any, schema: Schema, where: str, root: Schema) -> Iterator[Problem]:
    if "const" in schema and value != schema["const"]:
        yield _wrong(
            where, f"must be {_literal(schema['const'])}, not {_shown(value, schema)}", schema
        )
    options = schema.get("enum")
    if options is not None and value not in options:
        listed = ", ".join(map(_literal, options))
        hint = did_you_mean(str(value), map(str, options))
        yield _wrong(where, f"must be one of {listed}, not {_shown(value, schema)}{hint}", schema)
    for part in schema.get("allOf", ()):
        yield from _check(value, part, where, root)
    choices = schema.get("anyOf") or schema.get("oneOf")
    if choices:
        yield from _check_choices(value, schema, choices, where, root)


def _check_choices(
    value: Any, schema: Schema, choices: Sequence[Schema], where: str, root: Schema
) -> Iterator[Problem]:
    """Report the choice that fits best: the one that the value names, else the least wrong one."""
    named = _named_choice(value, schema)
    if named is not None:
        choices = [named]
    attempts = [list(_check(value, choice, where, root)) for choice in choices]
    if not all(attempts):
        return
    types = [_wanted_types(resolved(choice, root)) for choice in choices]
    fitting = [
        attempt
        for names, attempt in zip(types, attempts, strict=True)
        if not names or any(_TYPES[name][1](value) for name in names)
    ]
    if fitting:
        yield from min(fitting, key=len)
    else:
        names = _type_names([name for group in types for name in group])
        yield _wrong(where, f"must be {names}, not {_shown(value, schema)}", schema)


def _named_choice(value: Any, schema: Schema) -> Schema | None:
    """Return the choice that a value names by its discriminator, if it names one."""
    discriminator = schema.get("discriminator")
    if not isinstance(discriminator, Mapping) or not isinstance(value, Mapping):
        return None
    name = value.get(discriminator.get("propertyName"))
    ref = discriminator.get("mapping", {}).get(name) if isinstance(name, str) else None
    return None if ref is None else {"$ref": ref}


def _check_text(value: str, schema: Schema, where: str) -> Iterator[Problem]:
    least, most = schema.get("minLength", 0), schema.get("maxLength")
    if len(value) < least:
        wanted = "must not be empty" if least == 1 else f"must have at least {least} characters"
        yield _wrong(where, wanted, schema)
    if most is not None and len(value) > most:
        yield _wrong(where, f"must have at most {most} characters", schema)
    pattern = schema.get("pattern")
    if pattern is not None and not _matches(pattern, value):
        yield _wrong(where, f"must match {pattern}, not {_shown(value, schema)}", schema)


def _check_number(value: float, schema: Schema, where: str) -> Iterator[Problem]:
    for keyword, words, holds in _BOUNDS:
        bound = schema.get(keyword)
        if bound is not None and not holds(value, bound):
            yield _wrong(where, f"must be {words} {bound}, not {_shown(value, schema)}", schema)


def _check_list(
    value: Sequence[Any], schema: Schema, where: str, root: Schema
) -> Iterator[Problem]:
    least, most = schema.get("minItems", 0), schema.get("maxItems")
    if len(value) < least:
        yield _wrong(where, f"must have at least {least} items", schema)
    if most is not None and len(value) > most:
        yield _wrong(where, f"must have at most {most} items", schema)
    if schema.get("uniqueItems") and any(item in value[:at] for at, item in enumerate(value)):
        yield _wrong(where, "must not hold the same item twice", schema)
    first = schema.get("prefixItems", ())
    for index, item in enumerate(value):
        inner = first[index] if index < len(first) else schema.get("items")
        if isinstance(inner, Mapping):
            yield from _check(item, inner, f"{where}[{index}]", root)


def _check_table(
    value: Mapping[str, Any], schema: Schema, where: str, root: Schema
) -> Iterator[Problem]:
    properties = schema.get("properties", {})
    others = schema.get("additionalProperties", not properties)
    for key, item in value.items():
        path = _joined(where, key)
        if key in properties:
            yield from _check(item, properties[key], path, root)
        elif isinstance(others, Mapping):
            yield from _check(item, others, path, root)
        elif not others:
            hint = did_you_mean(key, properties)
            known = "" if hint else f"; keys here: {', '.join(sorted(properties)) or 'none'}"
            yield Problem(path, f"unknown key {path}{hint}{known}", _unset(path))
    for key in schema.get("required", ()):
        if key not in value:
            path = _joined(where, key)
            inner = properties.get(key, {})
            words = inner.get("description", "")
            yield Problem(
                path,
                f"{path} is missing" + (f": {words}" if words else ""),
                _set(path, inner) or f"pegboard config set {path} VALUE",
            )


def _wanted_types(schema: Schema) -> list[str]:
    wanted = schema.get("type", ())
    return [name for name in ([wanted] if isinstance(wanted, str) else wanted) if name in _TYPES]


def _type_names(types: Sequence[str]) -> str:
    names = dict.fromkeys(_TYPES[name][0] for name in types if name != "null" or len(types) == 1)
    return " or ".join(names) or "something else"


def _wrong(where: str, words: str, schema: Schema) -> Problem:
    fix = _set(where, schema) or (_unset(where) if where else None)
    return Problem(where, f"{where or 'the value'} {words}", fix)


def _set(where: str, schema: Schema) -> str | None:
    """Return the command that sets a value known to be right, or None when none is known."""
    examples = schema.get("examples") or schema.get("enum") or ()
    example = schema.get("default", examples[0] if examples else None)
    if example is None or isinstance(example, (Mapping, list)) or "[" in where:
        return None
    shown = str(example).lower() if isinstance(example, bool) else str(example)
    quoted = shown if re.fullmatch(r"[\w.:/-]+", shown) else f"'{shown}'"
    return f"pegboard config set {where} {quoted}"


def _unset(where: str) -> str:
    return f"pegboard config unset {where.partition('[')[0]}"


def _joined(where: str, key: str) -> str:
    return f"{where}.{join_key([key])}" if where else join_key([key])


def _shown(value: Any, schema: Schema) -> str:
    """Return a value for a message; never one that the schema marks as secret."""
    return HIDDEN if is_secret(schema) else _literal(value)


def _literal(value: Any) -> str:
    shown = str(value).lower() if isinstance(value, bool) else repr(value)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."


def _matches(pattern: str, value: str) -> bool:
    try:
        return re.search(pattern, value) is not None
    except re.error:
        return True  # a pattern of another dialect; the plugin's model judges it
