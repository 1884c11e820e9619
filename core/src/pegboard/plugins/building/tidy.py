"""One form of a JSON Schema, whichever pydantic wrote it."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pydantic import TypeAdapter

_TABLES: Final = frozenset({"properties", "$defs", "patternProperties", "dependentSchemas"})
_LISTS: Final = frozenset({"anyOf", "allOf", "oneOf", "prefixItems"})
_SINGLE: Final = frozenset(
    {"items", "additionalProperties", "contains", "propertyNames", "not", "if", "then", "else"}
)


def schema_of(adapter: TypeAdapter[Any]) -> dict[str, Any]:
    """Return the tidied JSON Schema of what `adapter` reads.

    Raises:
        PydanticUserError: When something in it has no JSON form.
    """
    from pydantic.json_schema import GenerateJsonSchema

    class Generator(GenerateJsonSchema):
        def dataclass_schema(self, schema: Any) -> dict[str, Any]:
            # some versions take the docstring, some do not
            made: dict[str, Any] = super().dataclass_schema(schema)
            made.pop("description", None)
            words = inspect.cleandoc(schema["cls"].__doc__ or "")
            written = words and not words.startswith(f"{schema['cls'].__name__}(")
            return {**made, "description": words} if written else made

    return tidy(adapter.json_schema(schema_generator=Generator))


def tidy(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema without titles, with closed objects, spelt as every pydantic can spell it.

    Objects that list their properties get `additionalProperties: false` unless they say otherwise.
    """
    tidied = {key: _inner(key, value) for key, value in schema.items() if key != "title"}
    # pydantic below 2.9 wraps a reference that has siblings
    only = tidied.get("allOf", ())
    if len(only) == 1 and not only[0].keys() & (tidied.keys() - {"allOf"}):
        tidied = {**tidied, **only[0]}
        del tidied["allOf"]
    # one value is `const`, `enum` or both, depending on the version
    if len(tidied.get("enum", ())) == 1:
        (tidied["const"],) = tidied.pop("enum")
    if "properties" in tidied:
        tidied.setdefault("additionalProperties", False)
    elif tidied.get("additionalProperties") is True:
        del tidied["additionalProperties"]  # newer ones say it of each bare dict
    return tidied


def _inner(key: str, value: Any) -> Any:
    if key in _TABLES:
        return {name: _schema(item) for name, item in value.items()}
    if key in _LISTS:
        return [_schema(item) for item in value]
    return _schema(value) if key in _SINGLE else value


def _schema(value: Any) -> Any:
    return tidy(value) if isinstance(value, dict) else value
