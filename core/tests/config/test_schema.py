from __future__ import annotations

import datetime
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError

from pegboard.config.schema import CORE_SCHEMA, check, defaults, redact, schema_fault


class Colour(Enum):
    RED = "red"
    GREEN = "green"


class Server(BaseModel):
    model_config = ConfigDict(extra="forbid")
    url: str
    port: int = Field(80, ge=1, le=65535)


class Near(BaseModel):
    kind: Literal["near"] = "near"
    metres: float = 1.0


class Far(BaseModel):
    kind: Literal["far"]
    light_years: float


class Settings(BaseModel):
    """What a plugin of some size asks for."""

    model_config = ConfigDict(extra="forbid")
    name: str = "x"
    limit: int = Field(10, ge=1, lt=100)
    ratio: float = 0.5
    on: bool = True
    colour: Colour = Colour.RED
    mode: Literal["fast", "slow"] = "fast"
    tags: list[str] = Field(default_factory=list, max_length=3)
    pair: tuple[int, str] = (1, "a")
    server: Server | None = None
    servers: dict[str, Server] = Field(default_factory=dict)
    since: datetime.date | None = None
    folder: Path | None = None
    place: Annotated[Near | Far, Field(discriminator="kind")] = Near()
    code: str | None = Field(None, pattern="^[A-Z]+$", min_length=2, max_length=4)
    key: SecretStr | None = None
    either: int | str = 1


SCHEMA = Settings.model_json_schema()
GOOD: list[dict[str, Any]] = [
    {},
    {"limit": 99, "ratio": 1, "on": False, "colour": "green", "mode": "slow"},
    {"tags": ["a", "b"], "pair": [2, "b"]},
    {"server": {"url": "u"}, "servers": {"one": {"url": "u", "port": 8080}}},
    {"since": datetime.date(2024, 1, 1)},
    {"since": "2024-01-01", "folder": "/tmp", "code": "AB", "key": "secret"},
    {"place": {"kind": "far", "light_years": 3.5}},
    {"place": {"kind": "near"}},
    {"either": "text"},
    {"limit": 5.0},
    {"server": None},
]
BAD: list[tuple[dict[str, Any], str, str]] = [
    ({"limit": "many"}, "x.limit", "must be a whole number, not 'many'"),
    ({"limit": True}, "x.limit", "must be a whole number, not true"),
    ({"limit": 0}, "x.limit", "must be at least 1, not 0"),
    ({"limit": 100}, "x.limit", "must be less than 100, not 100"),
    ({"limit": 1.5}, "x.limit", "must be a whole number, not 1.5"),
    ({"ratio": "half"}, "x.ratio", "must be a number, not 'half'"),
    ({"on": "yes"}, "x.on", "must be true or false, not 'yes'"),
    ({"colour": "gren"}, "x.colour", "must be one of 'red', 'green', not 'gren'; did you mean"),
    ({"mode": 5}, "x.mode", "must be a string, not 5"),
    ({"tags": "a"}, "x.tags", "must be a list, not 'a'"),
    ({"tags": ["a", 5]}, "x.tags[1]", "must be a string, not 5"),
    ({"tags": ["a"] * 4}, "x.tags", "must have at most 3 items"),
    ({"pair": [1]}, "x.pair", "must have at least 2 items"),
    ({"pair": ["a", "b"]}, "x.pair[0]", "must be a whole number, not 'a'"),
    ({"server": "u"}, "x.server", "must be a table, not 'u'"),
    ({"server": {}}, "x.server.url", "is missing"),
    ({"server": {"url": "u", "prot": 1}}, "x.server.prot", "did you mean 'port'?"),
    ({"servers": {"a b": {"url": 5}}}, 'x.servers."a b".url', "must be a string, not 5"),
    ({"code": "ab"}, "x.code", "must match ^[A-Z]+$, not 'ab'"),
    ({"code": "A"}, "x.code", "must have at least 2 characters"),
    ({"code": "ABCDE"}, "x.code", "must have at most 4 characters"),
    ({"place": {"kind": "far"}}, "x.place.light_years", "is missing"),
    ({"either": []}, "x.either", "must be a whole number or a string, not []"),
    ({"naem": "y"}, "x.naem", "unknown key x.naem; did you mean 'name'?"),
    ({"zzz": 1}, "x.zzz", "unknown key x.zzz; keys here: "),
]


@pytest.mark.parametrize("value", GOOD, ids=str)
def test_what_pydantic_takes_is_taken(value):
    Settings.model_validate(value)
    assert check(value, SCHEMA, "x") == []


@pytest.mark.parametrize(("value", "path", "message"), BAD, ids=[str(row[0]) for row in BAD])
def test_what_pydantic_refuses_is_refused_with_key_and_fix(value, path, message):
    with pytest.raises(ValidationError):
        Settings.model_validate(value, strict=True)
    (problem,) = check(value, SCHEMA, "x")
    assert problem.path == path
    assert message in problem.message
    assert problem.fix
    assert problem.fix.startswith("pegboard config ")


def test_the_fix_sets_a_value_that_is_right():
    assert check({"limit": 0}, SCHEMA, "x")[0].fix == "pegboard config set x.limit 10"
    assert check({"mode": "fats"}, SCHEMA, "x")[0].fix == "pegboard config set x.mode fast"
    assert check({"on": 5}, SCHEMA, "x")[0].fix == "pegboard config set x.on true"
    assert check({"tags": [5]}, SCHEMA, "x")[0].fix == "pegboard config unset x.tags"
    schema = {"properties": {"a": {"type": "string", "default": "two words"}}}
    assert check({"a": 1}, schema)[0].fix == "pegboard config set a 'two words'"
    assert check({}, {"required": ["a"]})[0].fix == "pegboard config set a VALUE"


def test_all_problems_are_found_at_once():
    assert len(check({"limit": 0, "naem": 1, "tags": [1, 2]}, SCHEMA, "x")) == 4


def test_a_table_with_known_keys_takes_no_others_unless_the_schema_says_so():
    properties = {"properties": {"a": {"type": "string"}}}
    assert check({"b": 1}, properties)
    assert check({"b": 1}, {**properties, "additionalProperties": True}) == []
    assert check({"b": 1}, {**properties, "additionalProperties": {"type": "integer"}}) == []
    assert check({"b": 1}, {"type": "object"}) == []


def test_constants_and_combinations_are_checked():
    assert check(5, {"const": 5}) == []
    assert "must be 5, not 6" in check(6, {"const": 5})[0].message
    assert len(check(0, {"allOf": [{"minimum": 1}, {"exclusiveMinimum": 0}]})) == 2
    assert "exclusive" not in str(check(7, {"exclusiveMinimum": 0, "maximum": 7}))
    assert check(["a", "a"], {"uniqueItems": True})
    assert check("", {"minLength": 1})[0].message == "the value must not be empty"


def test_a_pattern_of_another_dialect_is_left_to_others():
    assert check("x", {"pattern": r"\p{L}+"}) == []


def test_a_long_value_is_shortened_in_the_message():
    assert len(check("x" * 500, {"type": "integer"})[0].message) < 120


def test_boolean_schemas_take_anything():
    assert check({"a": 1}, {"properties": {"a": True}}) == []
    assert schema_fault({"properties": {"a": True}, "items": False}) == ""


BROKEN: list[dict[str, Any]] = [
    {"$ref": "#/$defs/gone"},
    {"$ref": "https://example.org/schema.json"},
    {"$ref": 5},
    {"$ref": "#"},
    {"properties": {"a": {"$ref": "#/properties/a"}}},
    {"properties": []},
    {"properties": {"a": 5}},
    {"required": "a"},
    {"required": [5]},
    {"anyOf": [5]},
    {"anyOf": 5},
    {"type": 5},
    {"minLength": "x"},
    {"minimum": "x"},
    {"properties": {"a": {"anyOf": [{"$ref": "#"}]}}, "additionalProperties": {"$ref": "#"}},
]


@pytest.mark.parametrize("schema", BROKEN, ids=str)
@pytest.mark.parametrize("value", [{}, {"a": 1}, {"a": {"a": {"a": 1}}}, "text", 5, [1], None])
def test_a_broken_schema_is_a_problem_and_never_an_exception(schema, value):
    for problem in check(value, schema, "x"):
        assert problem.message
    defaults(schema)


@pytest.mark.parametrize("schema", BROKEN[:-1], ids=str)
def test_a_broken_schema_can_be_told_from_a_good_one(schema):
    assert schema_fault(schema)


def test_good_schemas_have_no_fault():
    assert schema_fault(SCHEMA) == ""
    assert schema_fault(CORE_SCHEMA) == ""


def test_defaults_are_those_of_the_model():
    found = defaults(SCHEMA)
    assert found["limit"] == 10
    assert found["place"] == {"kind": "near", "metres": 1.0}
    assert "since" in found
    assert Settings.model_validate(found) == Settings()


def test_defaults_of_tables_inside_are_nested():
    schema = {"properties": {"a": {"properties": {"b": {"default": [1]}, "c": {}}}}}
    one, two = defaults(schema), defaults(schema)
    assert one == {"a": {"b": [1]}}
    one["a"]["b"].append(2)
    assert two == {"a": {"b": [1]}}


def test_secrets_are_hidden_wherever_they_are():
    class Inner(BaseModel):
        token: SecretStr
        name: str

    class Outer(BaseModel):
        key: SecretStr | None = None
        inner: Inner | None = None
        many: list[Inner] = []
        by_name: dict[str, Inner] = {}

    value = {
        "key": "s3",
        "inner": {"token": "s3", "name": "n"},
        "many": [{"token": "s3", "name": "n"}],
        "by_name": {"a": {"token": "s3", "name": "n"}},
    }
    shown = redact(value, Outer.model_json_schema())
    assert "s3" not in str(shown)
    assert str(shown).count("***") == 4
    assert shown["inner"]["name"] == "n"
    assert redact({"key": None}, Outer.model_json_schema()) == {"key": None}


def test_secrets_in_choices_and_optional_lists_are_hidden_too():
    class One(BaseModel):
        kind: Literal["one"]
        plain: str

    class Two(BaseModel):
        kind: Literal["two"]
        token: SecretStr

    class Outer(BaseModel):
        maybe: list[Two] | None = None
        pair: tuple[int, SecretStr] | None = None
        either: Annotated[One | Two, Field(discriminator="kind")] | None = None

    two = {"kind": "two", "token": "s3"}
    shown = redact({"maybe": [two], "pair": [1, "s3"], "either": two}, Outer.model_json_schema())
    assert "s3" not in str(shown)
    assert shown["either"]["kind"] == "two"


def test_with_a_schema_that_can_not_be_used_everything_is_hidden():
    assert redact({"a": "s3"}, {"$ref": "#/gone"}) == "***"


def test_a_secret_is_in_no_message():
    marks = [{"writeOnly": True}, {"format": "password"}]
    for mark in marks:
        secret = {"type": "string", "pattern": "^sk-", **mark}
        for schema in (secret, {"anyOf": [secret, {"type": "null"}]}):
            problems = check({"a": "hunter2"}, {"properties": {"a": schema}})
            problems += check({"a": ["hunter2"]}, {"properties": {"a": schema}})
            assert len(problems) == 2
            assert "hunter2" not in str(problems)


def keys_of(schema):
    for key, inner in schema.get("properties", {}).items():
        yield key, inner
        yield from keys_of(inner)
        yield from keys_of(inner.get("items", {}))


def test_every_key_of_core_says_what_it_means():
    assert [key for key, inner in keys_of(CORE_SCHEMA) if not inner.get("description")] == []


def test_the_defaults_of_core_are_right():
    assert check(defaults(CORE_SCHEMA), CORE_SCHEMA) == []
