"""Which annotations need no conversion: what JSON gives is what the function expects."""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    NotRequired,
    Required,
    Union,
    get_args,
    get_origin,
)

from pegboard.contracts.argument import Arg

_SCALARS: Final = (str, int, float, bool, type(None), list, dict, Any, object)
_LISTS: Final = (list, Sequence)
_TABLES: Final = (dict, Mapping)


def is_native(hint: Any, seen: frozenset[Any] = frozenset()) -> bool:
    """Tell whether a JSON value that fits the schema of `hint` is a value of `hint`."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is None:
        return any(hint is scalar for scalar in _SCALARS) or _is_native_table(hint, seen)
    if origin is Annotated:
        # a validator of pydantic in the annotation has to run
        plain = all(isinstance(mark, Arg | str) for mark in arguments[1:])
        return plain and is_native(arguments[0], seen)
    if origin in (Union, types.UnionType) or origin in _LISTS:
        return all(is_native(argument, seen) for argument in arguments)
    if origin in _TABLES:
        return arguments[0] is str and is_native(arguments[1], seen)
    if origin is Literal:
        return not any(isinstance(value, Enum | bytes) for value in arguments)
    return False


def _is_native_table(hint: Any, seen: frozenset[Any]) -> bool:
    from typing_extensions import ReadOnly, get_type_hints, is_typeddict

    if hint in (Sequence, Mapping):
        return True
    if not is_typeddict(hint):
        return False
    if hint in seen:
        return True
    marks: tuple[Any, ...] = (NotRequired, Required, ReadOnly)
    for field in get_type_hints(hint, include_extras=True).values():
        while get_origin(field) in marks:
            (field,) = get_args(field)
        if not is_native(field, seen | {hint}):
            return False
    return True
