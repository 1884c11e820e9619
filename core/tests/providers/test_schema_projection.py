"""Schemas as each dialect takes them, over a corpus of hostile ones."""

from __future__ import annotations

import copy
import json
import math
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard.contracts.provider import ToolDeclaration
from pegboard.providers.schema_inline import SchemaError, inlined
from pegboard.providers.schema_projection import Dialect, project, project_tools

DIALECTS: tuple[Dialect, ...] = get_args(Dialect)


def deep(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


def laughs(levels: int) -> dict[str, Any]:
    defs: dict[str, Any] = {"d0": {"type": "string"}}
    for level in range(1, levels):
        part = {"$ref": f"#/$defs/d{level - 1}"}
        defs[f"d{level}"] = {"type": "object", "properties": {"a": part, "b": part}}
    return {
        "type": "object",
        "properties": {"x": {"$ref": f"#/$defs/d{levels - 1}"}},
        "$defs": defs,
    }


HOSTILE: dict[str, dict[str, Any]] = {
    "empty": {},
    "true parts": {"type": "object", "properties": {"a": True, "b": False}},
    "reference": {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/A", "description": "beside"}},
        "$defs": {"A": {"type": "integer"}},
    },
    "escaped reference": {
        "type": "object",
        "properties": {"a": {"$ref": "#/definitions/a~1b%20c"}},
        "definitions": {"a/b c": {"type": "integer"}},
    },
    "recursive": {
        "type": "object",
        "properties": {"child": {"$ref": "#"}},
    },
    "properties named like keywords": {
        "type": "object",
        "properties": {
            "$id": {"type": "string"},
            "definitions": {"type": "string"},
            "default": {"type": "string"},
            "required": {"type": "string"},
            "title": {"type": "string"},
            "format": {"type": "string"},
        },
        "required": ["$id", "title"],
    },
    "alternatives at the top": {
        "oneOf": [
            {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
            {"type": "object", "properties": {"b": {"type": "string"}}, "required": ["b"]},
        ]
    },
    "required that is not there": {"type": "object", "required": ["ghost", 7]},
    "array without items": {"type": "object", "properties": {"a": {"type": "array"}}},
    "tuple of an old draft": {
        "type": "object",
        "properties": {"a": {"type": "array", "items": [{"type": "string"}, {"type": "integer"}]}},
    },
    "empty enum": {"type": "object", "properties": {"a": {"enum": []}}},
    "lone surrogate": {"type": "object", "properties": {"\ud83d": {"description": "\udc00"}}},
    "limits": {
        "type": "object",
        "properties": {"n": {"type": "number", "exclusiveMinimum": 0, "multipleOf": 0.5}},
    },
    "constants": {"type": "object", "properties": {"kind": {"const": "a"}}},
    "conditions": {
        "type": "object",
        "properties": {"a": {"type": "string"}},
        "if": {"properties": {"a": {"const": "x"}}},
        "then": {"required": ["b"]},
    },
    "vendor words": {"type": "object", "x-vendor": {"$ref": "#/nowhere"}, "discriminator": {}},
}
REFUSED: dict[str, dict[str, Any]] = {
    "no object": {"type": "string"},
    "remote reference": {"properties": {"a": {"$ref": "https://example.org/schema.json"}}},
    "file reference": {"properties": {"a": {"$ref": "file:///etc/passwd"}}},
    "dangling reference": {"properties": {"a": {"$ref": "#/$defs/none"}}},
    "too deep": deep(200),
    "billion laughs": laughs(40),
    "a number for a schema": {"type": "object", "properties": {"a": 7}},
    "no number": {"type": "object", "properties": {"a": {"default": math.nan}}},
    "properties as a list": {"type": "object", "properties": ["a"]},
}


def keywords(value: Any) -> set[str]:
    """Return every keyword that a projected schema uses, names of properties left out."""
    found: set[str] = set()
    if isinstance(value, list):
        return found.union(*(keywords(item) for item in value)) if value else found
    if not isinstance(value, dict):
        return found
    for key, item in value.items():
        found.add(key)
        if key == "properties":
            found |= set().union(*(keywords(part) for part in item.values())) if item else set()
        elif key not in ("const", "default", "enum", "examples"):
            found |= keywords(item)
    return found


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_schema_is_declared_as_a_plain_object(name: str, dialect: Dialect) -> None:
    before = copy.deepcopy(HOSTILE[name])
    made = project(HOSTILE[name], dialect)
    assert made["type"] == "object"
    assert isinstance(made["properties"], dict)
    json.dumps(made, allow_nan=False).encode("ascii")
    json.dumps(made, ensure_ascii=False).encode("utf-8")
    used = keywords(made)
    assert not used & {"$ref", "$defs", "$schema", "definitions", "discriminator"}
    assert not set(made) & {"oneOf", "anyOf", "allOf", "not", "if", "then", "else"}
    assert all(entry in made["properties"] for entry in made.get("required", ()))
    assert HOSTILE[name] == before


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", REFUSED)
def test_what_can_not_be_declared_is_an_error(name: str, dialect: Dialect) -> None:
    with pytest.raises(SchemaError):
        project(REFUSED[name], dialect)


def test_one_bad_tool_is_dropped_by_name_and_no_other() -> None:
    bad = [ToolDeclaration(f"bad {name}", "", schema) for name, schema in REFUSED.items()]
    good = ToolDeclaration("good", "Does good.", {"type": "object"})
    made = project_tools([*bad, good], "gemini")
    assert [tool.name for tool in made.tools] == ["good"]
    assert [name for name, _ in made.dropped] == [tool.name for tool in bad]
    assert all(reason for _, reason in made.dropped)


def test_too_many_tools_are_dropped_and_named() -> None:
    tools = [ToolDeclaration(f"tool_{n}", "", {"type": "object"}) for n in range(130)]
    made = project_tools(tools, "openai")
    assert len(made.tools) == 128
    assert [name for name, _ in made.dropped] == ["tool_128", "tool_129"]


def test_what_a_dialect_can_not_say_is_said_in_words() -> None:
    schema = {
        "type": "object",
        "properties": {
            "n": {"type": "number", "description": "How many.", "exclusiveMinimum": 0},
            "kind": {"const": "a"},
            "when": {"type": "string", "format": "date-time"},
        },
    }
    made = project(schema, "gemini")["properties"]
    assert made["n"] == {"type": "number", "description": "How many. (exclusiveMinimum: 0)"}
    assert made["kind"] == {"enum": ["a"]}
    assert made["when"] == {"type": "string", "description": 'format: "date-time"'}
    assert project(schema, "anthropic")["properties"] == schema["properties"]


def test_alternatives_at_the_top_stay_readable() -> None:
    made = project(HOSTILE["alternatives at the top"], "openai")
    assert set(made["properties"]) == {"a", "b"}
    assert "required" not in made
    assert "oneOf" in made["description"]


def test_properties_keep_names_that_look_like_keywords() -> None:
    schema = HOSTILE["properties named like keywords"]
    for dialect in DIALECTS:
        assert project(schema, dialect)["properties"] == schema["properties"]


def test_a_part_that_holds_itself_is_cut_where_it_begins_anew() -> None:
    made = inlined(HOSTILE["recursive"])
    child = made["properties"]["child"]
    assert child["properties"]["child"]["description"] == "nested further in the same way"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "properties", "items", "anyOf", "$ref", "enum", "required", "a", "const"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["type", "properties", "allOf", "required"]), JSON))
def test_any_json_is_projected_or_refused_in_words(schema: dict[str, Any]) -> None:
    for dialect in DIALECTS:
        try:
            made = project(schema, dialect)
        except SchemaError as error:
            assert str(error)
        else:
            json.dumps(made, allow_nan=False)
