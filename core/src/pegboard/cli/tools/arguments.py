"""A tool's arguments as words of a command line."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pegboard.contracts.errors import UsageError

_TEXT: Final = frozenset({"string"})


def arguments_of(words: Sequence[str], schema: Mapping[str, Any]) -> str | dict[str, Any]:
    """Return the arguments that the words mean.

    Args:
        words: `key=value` words, or one word that is a JSON object or `-` (JSON on standard
            input). `key:=value` insists on JSON; `key=@file` reads the value from a file.
        schema: The tool's parameters, which say where a value is text and where it is JSON.

    Returns:
        The text of a JSON object as it was given (it is parsed where a model's would be), or an
        object.

    Raises:
        UsageError: When a word is no `key=value`, or its file can't be read.
    """
    if list(words) == ["-"]:
        return sys.stdin.read()
    if len(words) == 1 and words[0].lstrip().startswith("{"):
        return words[0]
    given: dict[str, Any] = {}
    for word in words:
        key, value = _pair(word, schema.get("properties", {}))
        if key in given:
            given[key] = [*_listed(given[key]), *_listed(value)]
        else:
            given[key] = value
    return given


def _pair(word: str, properties: Mapping[str, Any]) -> tuple[str, Any]:
    key, equals, text = word.partition("=")
    if not equals or not key.rstrip(":"):
        raise UsageError(
            f"Arguments are key=value words or one JSON object; {word!r} is neither.",
            fix=f"write {_meant(word, properties)}",
        )
    if key.endswith(":"):
        return key[:-1], _json(key[:-1], text)
    if text.startswith("@"):
        text = _file(text[1:])
    return key, typed(text, properties.get(key, {}))


def _meant(word: str, properties: Mapping[str, Any]) -> str:
    """Return what may have been meant by a word without a value: a key, else the first one's."""
    return f"{word}=VALUE" if word in properties else f"{next(iter(properties), 'key')}={word}"


def typed(text: str, schema: Mapping[str, Any]) -> Any:
    """Return `text` as the schema wants it: as it is where text may stand, else as JSON."""
    kinds = _kinds(schema)
    if not kinds or kinds & _TEXT:
        return text
    try:
        return json.loads(text)
    except ValueError:
        return [text] if "array" in kinds else text


def _kinds(schema: Mapping[str, Any]) -> frozenset[str]:
    options = schema.get("anyOf") or schema.get("oneOf") or ()
    kinds = {kind for option in options for kind in _kinds(option)}
    own = schema.get("type", ())
    kinds.update([own] if isinstance(own, str) else own)
    if any(isinstance(value, str) for value in schema.get("enum", ())):
        kinds.add("string")
    return frozenset(kinds)


def _json(key: str, text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise UsageError(f"{key}: {text!r} is no JSON: {error}.", fix=f"{key}={text}") from error


def _file(name: str) -> str:
    try:
        with open(name, encoding="utf-8") as file:  # noqa: PTH123 - a name as typed
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{name} can't be read: {error}") from error


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
