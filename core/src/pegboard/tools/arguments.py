"""The arguments of a call: parsed, repaired where they nearly fit, and judged by the schema."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from pegboard.contracts import json_text
from pegboard.contracts.tool import ToolSpec
from pegboard.tools.argument_errors import messages
from pegboard.tools.argument_names import use_own_names
from pegboard.tools.argument_repair import repair, schema_at, types_of
from pegboard.tools.schema_compile import Compiled, SchemaCache, SchemaError

_NONE: Final[tuple[str, ...]] = ()
_SIMPLE: Final = frozenset({int, bool, type(None)})
_NESTING: Final = frozenset({float, dict, list})


class Checked(NamedTuple):
    """What became of the arguments of a call.

    Args:
        arguments: What the tool gets; empty when there are errors.
        repairs: What was changed, one line each.
        errors: What is wrong, one line each; the call must not run then.
        broken: True when it is the tool's own schema that is at fault.
    """

    arguments: dict[str, Any]
    repairs: tuple[str, ...] = _NONE
    errors: tuple[str, ...] = _NONE
    broken: bool = False


class Arguments:
    """Checks arguments; schemas are compiled once each."""

    def __init__(self) -> None:
        self._schemas = SchemaCache()

    def check(
        self, spec: ToolSpec, raw: str | Mapping[str, Any] | None, *, mend: bool = True
    ) -> Checked:
        """Parse, repair and validate the arguments of a call.

        Args:
            spec: The tool's statement.
            raw: Text as a model wrote it, or an object, which is left as it is.
            mend: False to accept only what fits as it is.
        """
        try:
            arguments, notes = parse(raw, freeform=spec.freeform)
        except ValueError as error:
            return Checked({}, errors=(str(error),))
        try:
            compiled = self._schemas.get(spec.parameters)
        except SchemaError as error:
            return Checked({}, errors=(error.message,), broken=True)
        try:
            if compiled.validator.is_valid(arguments):
                return Checked(_whole_numbers(compiled, arguments), notes)
            if not mend:
                found = messages(compiled.validator.iter_errors(arguments), compiled.schema)
                return Checked({}, notes, tuple(found))
            if isinstance(raw, str):
                return _mended(spec, compiled, arguments, notes, raw)
            return _mended(spec, compiled, copy.deepcopy(arguments), notes, None)
        except (ValueError, RecursionError) as error:
            return Checked({}, errors=(f"the arguments are not JSON: {error}",))


def parse(
    raw: str | Mapping[str, Any] | None, *, freeform: str = ""
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return arguments as an object, and what had to be done for it.

    Nothing at all counts as an empty object, and text that holds the object as text is unpacked.

    Args:
        raw: What a model wrote.
        freeform: Name of the argument that a text which is no object is taken for, or "".

    Raises:
        ValueError: When there is no object in it; the message says what there is.
    """
    if isinstance(raw, str):
        return _parse_freeform(raw, freeform) if freeform else _parse_text(raw)
    if raw is None:
        return {}, _NONE
    if not isinstance(raw, Mapping):
        raise ValueError(f"the arguments must be a JSON object, not {_kind(raw)}")
    value = raw if type(raw) is dict else dict(raw)
    if not all(map(_is_simple, value, value.values())):
        try:
            json_text.check(value)
        except ValueError as error:
            raise ValueError(f"the arguments are not JSON: {error}") from error
    return value, _NONE


def _parse_text(raw: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    if not raw.strip():
        return {}, _NONE
    notes = _NONE
    value = _decoded(raw)
    if isinstance(value, str) and value.lstrip()[:1] == "{":
        value = _decoded(value)
        notes = ("the object was unpacked from text",)
    if value is None:
        return {}, ("null -> {}",)
    if not isinstance(value, dict):
        raise ValueError(f"the arguments must be a JSON object, not {_kind(value)}")
    return value, notes


def _parse_freeform(raw: str, name: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    text = raw.strip()
    if text[:1] in ("", "{"):
        return _parse_text(raw)  # also an object that was cut off: half a text is not run
    try:
        value = json_text.decode(text)
    except ValueError:
        value = raw
    if isinstance(value, str) and value.lstrip()[:1] != "{":
        return {name: value}, (f"the text was taken for {name}",)
    return _parse_text(raw)


def _decoded(text: str) -> Any:
    try:
        return json_text.decode(text)
    except ValueError as error:
        raise ValueError(f"the arguments are not valid JSON: {error}") from error


def _is_simple(key: Any, value: Any) -> bool:
    """Tell whether it is plain to see that nothing is wrong: the case of nearly every call."""
    return (
        type(key) is str
        and key.isascii()
        and (value.isascii() if type(value) is str else type(value) in _SIMPLE)
    )


def _kind(value: Any) -> str:
    names = {str: "text", list: "an array", bool: "a boolean"}
    return names.get(type(value), "a number" if isinstance(value, (int, float)) else "that")


def _mended(
    spec: ToolSpec,
    compiled: Compiled,
    arguments: dict[str, Any],
    notes: tuple[str, ...],
    source: str | None,
) -> Checked:
    renamed = use_own_names(spec.argument_aliases, arguments)
    found = repair(compiled.validator, compiled.schema, arguments, source=source)
    # a list that came as text is a list only now
    renamed += use_own_names(spec.argument_aliases, arguments) if found else []
    repairs = (*notes, *found, *renamed)
    errors = messages(compiled.validator.iter_errors(arguments), compiled.schema)
    if errors:
        return Checked({}, repairs, tuple(errors))
    return Checked(_whole_numbers(compiled, arguments), repairs)


def _whole_numbers(compiled: Compiled, arguments: dict[str, Any]) -> dict[str, Any]:
    # 5.0 is an integer to JSON Schema and none to Python
    if not compiled.integers or _NESTING.isdisjoint(map(type, arguments.values())):
        return arguments
    return _whole(compiled.schema, [], arguments)  # type: ignore[no-any-return]


def _whole(root: Mapping[str, Any], path: list[str | int], value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _whole(root, [*path, key], item) for key, item in value.items()}
    if isinstance(value, list):
        return [_whole(root, [*path, place], item) for place, item in enumerate(value)]
    if type(value) is float and value.is_integer():
        types = types_of(root, schema_at(root, path))
        if "integer" in types and "number" not in types:
            return int(value)
    return value
