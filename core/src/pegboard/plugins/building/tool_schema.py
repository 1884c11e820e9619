"""The `ToolSpec` of an annotated function: its parameters as JSON Schema, its docstring as help.

Used when a manifest is built, so pydantic is imported inside the functions. Annotations are
evaluated one by one: that of `ctx` usually names what only type checkers import, and is skipped.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NotRequired

from pegboard.config.nearest import did_you_mean
from pegboard.contracts.argument import Arg
from pegboard.contracts.errors import BuildError
from pegboard.contracts.tool import JsonSchema, ToolSpec
from pegboard.plugins.building.argument_aliases import take_aliases
from pegboard.plugins.building.docstring import parse_docstring
from pegboard.plugins.building.native import is_native
from pegboard.plugins.building.spec_facts import checked_facts
from pegboard.plugins.building.tidy import schema_of

if TYPE_CHECKING:
    from pydantic import TypeAdapter

    from pegboard.plugins.declared import ToolFacts

CONTEXT_NAME: Final = "ctx"
NO_DEFAULT: Final = inspect.Parameter.empty


class ToolParameter(NamedTuple):
    """One parameter that a model fills. `hint` is the evaluated annotation."""

    name: str
    hint: Any
    default: Any

    @property
    def required(self) -> bool:
        """True when a call must give it."""
        return self.default is NO_DEFAULT


def build_spec(function: Callable[..., Any], facts: ToolFacts) -> ToolSpec:
    """Return what the manifest holds of a function that is marked as a tool.

    Raises:
        BuildError: When an annotation, a default or the docstring can't be used; the message names
            function and parameter.
    """
    name = facts.name or function.__name__
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise BuildError(f"tool {name}: a tool returns its result once; it can't `yield`")
    parameters = tool_parameters(function)
    described = parse_docstring(inspect.getdoc(function) or "")
    if not described.text:
        raise BuildError(
            f"tool {name}: no docstring, so a model can't know what it is for",
            fix='begin the function with a line such as `"""Report the weather of a city."""`',
        )
    _check_described(name, described.arguments, parameters)
    schema = _schema_of(name, parameters)
    for parameter in parameters:
        _complete(name, parameter, schema, described.arguments.get(parameter.name, ""))
    argument_aliases = take_aliases(name, schema, facts.ignored_arguments)
    check_schema(name, schema)
    names = tuple(parameter.name for parameter in parameters)
    return ToolSpec(
        name=name,
        description=described.text,
        parameters=schema,
        argument_aliases=argument_aliases,
        convert=not all(is_native(parameter.hint) for parameter in parameters),
        **checked_facts(
            name,
            facts,
            parameters=names,
            access={argument: mark.access for argument, mark in _marks(parameters) if mark.access},
            path_patterns={
                argument: mark.path_pattern
                for argument, mark in _marks(parameters)
                if mark.path_pattern
            },
            remarks=tuple(argument for argument, mark in _marks(parameters) if mark.remark),
            freeform=tuple(argument for argument, mark in _marks(parameters) if mark.freeform),
            shell=tuple(argument for argument, mark in _marks(parameters) if mark.shell),
        ),
    )


def takes_context(function: Callable[..., Any]) -> bool:
    """Tell whether the first parameter is `ctx`, which receives the `ToolContext`."""
    return next(iter(inspect.signature(function).parameters), "") == CONTEXT_NAME


def argument_adapter(function: Callable[..., Any]) -> TypeAdapter[Any]:
    """Return what turns validated JSON arguments into what the function's annotations say.

    For tools whose spec says `convert`: `adapter.validate_python(arguments)` gives the keyword
    arguments. Arguments that are not given stay away, so that the function's own defaults apply.

    Raises:
        BuildError: When an annotation can't be used.
    """
    return _adapter(function.__name__, tool_parameters(function))


def tool_parameters(function: Callable[..., Any]) -> tuple[ToolParameter, ...]:
    """Return the parameters that a model fills, in order, `ctx` left out.

    Raises:
        BuildError: When a parameter is of a kind that JSON has no form for, or not annotated.
    """
    name = function.__name__
    found = []
    for position, parameter in enumerate(inspect.signature(function).parameters.values()):
        if parameter.name == CONTEXT_NAME:
            if position:
                raise BuildError(f"tool {name}: `ctx` must be the first parameter")
            continue
        _check_kind(name, parameter)
        hint = _evaluated(name, function, parameter)
        found.append(ToolParameter(parameter.name, hint, parameter.default))
    return tuple(found)


def _check_kind(name: str, parameter: inspect.Parameter) -> None:
    where = f"tool {name}, parameter {parameter.name}"
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        stars = "*" if parameter.kind is parameter.VAR_POSITIONAL else "**"
        raise BuildError(
            f"tool {name}, parameter {stars}{parameter.name}: a model fills named parameters",
            fix=f"use a list or a dict: `{parameter.name}: list[str]`",
        )
    if parameter.kind is parameter.POSITIONAL_ONLY:
        raise BuildError(f"{where}: arguments are passed by name", fix="remove the `/`")
    if parameter.name.startswith("_"):
        raise BuildError(f"{where}: fields that begin with `_` are never taken from outside")
    if parameter.annotation is parameter.empty:
        raise BuildError(
            f"{where}: no annotation, so its JSON type is unknown",
            fix=f"annotate it: `{parameter.name}: str`",
        )


def _evaluated(name: str, function: Callable[..., Any], parameter: inspect.Parameter) -> Any:
    real = inspect.unwrap(function)
    names = dict(getattr(real, "__globals__", {}))
    with suppress(TypeError):  # a callable without code of its own closes over nothing
        names.update(inspect.getclosurevars(real).nonlocals)
    holder = SimpleNamespace(__annotations__={parameter.name: parameter.annotation})
    where = f"tool {name}, parameter {parameter.name}"
    try:
        return typing.get_type_hints(holder, names, include_extras=True)[parameter.name]
    except NameError as error:
        raise BuildError(
            f"{where}: `{error.name}` does not exist when the plugin runs",
            fix=f"import `{error.name}` at module level, not under TYPE_CHECKING",
        ) from error
    except Exception as error:
        raise BuildError(
            f"{where}: the annotation {parameter.annotation!r} can't be evaluated: {error}"
        ) from error


def _adapter(name: str, parameters: tuple[ToolParameter, ...]) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter
    from pydantic.errors import PydanticUserError

    # typing's own TypedDict is refused by pydantic below Python 3.12
    from typing_extensions import TypedDict

    fields = {
        item.name: item.hint if item.required else NotRequired[item.hint] for item in parameters
    }
    try:
        return TypeAdapter(TypedDict(name, fields))  # type: ignore[operator]
    except PydanticUserError as error:
        if len(parameters) > 1:
            for item in parameters:
                _adapter(name, (item,))  # raises for the one that is wrong
        where = f"tool {name}, parameter {parameters[0].name}" if parameters else f"tool {name}"
        raise BuildError(f"{where}: {error.message}", fix=_pydantic_fix(error)) from error


def _pydantic_fix(error: Any) -> str | None:
    if "typing_extensions.TypedDict" in error.message:
        return "from typing_extensions import TypedDict"
    return None


def _schema_of(name: str, parameters: tuple[ToolParameter, ...]) -> dict[str, Any]:
    from pydantic.errors import PydanticUserError

    try:
        schema = schema_of(_adapter(name, parameters))
    except PydanticUserError as error:
        if len(parameters) > 1:
            for item in parameters:
                _schema_of(name, (item,))
        where = f"tool {name}, parameter {parameters[0].name}"
        raise BuildError(f"{where}: it has no JSON form: {error.message}") from error
    schema.pop("description", None)  # of the TypedDict made here
    schema.setdefault("properties", {})
    schema["additionalProperties"] = False
    return schema


def _complete(
    name: str, parameter: ToolParameter, schema: dict[str, Any], description: str
) -> None:
    """Add what the annotation alone does not say: the docstring's words and the default."""
    entry = schema["properties"][parameter.name]
    if description:
        entry.setdefault("description", description)
    if parameter.required:
        return
    default = _json_default(name, parameter)
    import jsonschema_rs

    own = {**entry, "$defs": schema.get("$defs", {})}
    try:
        wrong = next(jsonschema_rs.iter_errors(own, default), None)
    except ValueError:
        return  # a schema that is wrong in itself is reported by `check_schema`
    if wrong is not None:
        nullable = "; write `| None`" if default is None else ""
        raise BuildError(
            f"tool {name}, parameter {parameter.name}: the default does not fit the annotation: "
            f"{wrong.message}{nullable}"
        )
    entry["default"] = default


def _json_default(name: str, parameter: ToolParameter) -> Any:
    from pydantic_core import PydanticSerializationError, to_jsonable_python

    try:
        return to_jsonable_python(parameter.default)
    except PydanticSerializationError as error:
        raise BuildError(
            f"tool {name}, parameter {parameter.name}: the default {parameter.default!r} "
            "has no JSON form",
            fix="use a literal, or None and `| None`",
        ) from error


def check_schema(name: str, schema: JsonSchema) -> None:
    """Refuse what is no JSON Schema, a pattern that is no regular expression for example.

    Raises:
        BuildError: With what is wrong.
    """
    import jsonschema_rs

    try:
        jsonschema_rs.validator_for(dict(schema))
    except ValueError as error:
        message = str(error).partition("\n")[0]
        raise BuildError(f"tool {name}: its parameters are no valid JSON Schema: {message}") from (
            error
        )


def _check_described(
    name: str, described: Mapping[str, str], parameters: tuple[ToolParameter, ...]
) -> None:
    names = {parameter.name for parameter in parameters}
    for argument in described:
        if argument not in names and argument != CONTEXT_NAME:
            raise BuildError(
                f"tool {name}: the docstring describes `{argument}`, which is no parameter"
                f"{did_you_mean(argument, names)}"
            )


def _marks(parameters: tuple[ToolParameter, ...]) -> Iterator[tuple[str, Arg]]:
    for parameter in parameters:
        for mark in getattr(parameter.hint, "__metadata__", ()):
            if isinstance(mark, Arg):
                yield parameter.name, mark
