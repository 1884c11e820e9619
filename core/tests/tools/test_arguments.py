from __future__ import annotations

import json
import time

import pytest

from pegboard.contracts.tool import ToolSpec
from pegboard.tools.argument_errors import signature
from pegboard.tools.arguments import Arguments

SCHEMA = {
    "type": "object",
    "properties": {
        "n": {"type": "integer", "minimum": 1},
        "x": {"type": "number"},
        "on": {"type": "boolean"},
        "o": {
            "type": "object",
            "properties": {"k": {"type": "integer"}},
            "required": ["k"],
            "additionalProperties": False,
        },
        "l": {"type": "array", "items": {"type": "integer"}},
        "s": {"type": "string"},
        "m": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "ol": {"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "null"}]},
        "e": {"enum": ["alpha", "beta"]},
        "w": {
            "anyOf": [{"enum": ["cherry_pick", "head", "ls_files", "ls-files"]}, {"type": "null"}]
        },
        "r": {"$ref": "#/$defs/Point"},
        "a": {"allOf": [{"$ref": "#/$defs/My%20Count"}]},
    },
    "additionalProperties": False,
    "$defs": {
        "Point": {"type": "object", "properties": {"x": {"type": "integer"}}},
        "My Count": {"type": "integer"},
    },
}
SPEC = ToolSpec(name="t", parameters=SCHEMA)
SCHEMA_TEXT = {"type": "string"}


def check(raw, spec=SPEC, **options):
    return Arguments().check(spec, raw, **options)


@pytest.mark.parametrize(
    ("given", "repaired"),
    [
        ({"n": "5"}, {"n": 5}),
        ({"n": " 5 "}, {"n": 5}),
        ({"x": "1e3"}, {"x": 1000.0}),
        ({"x": "2"}, {"x": 2}),
        ({"on": "true"}, {"on": True}),
        ({"on": "False"}, {"on": False}),
        ({"o": '{"k":"7"}'}, {"o": {"k": 7}}),
        ({"l": "[1,2]"}, {"l": [1, 2]}),
        ({"l": 3}, {"l": [3]}),
        ({"l": ["1", 2]}, {"l": [1, 2]}),
        ({"s": 42}, {"s": "42"}),
        ({"s": 1.5}, {"s": "1.5"}),
        ({"m": "null"}, {"m": None}),
        ({"m": "7"}, {"m": 7}),
        ({"ol": ["1"]}, {"ol": [1]}),
        ({"r": {"x": "3"}}, {"r": {"x": 3}}),
        ({"r": '{"x": 3}'}, {"r": {"x": 3}}),
        ({"x": "12345678901234567890"}, {"x": 12345678901234567890}),
        ({"n": "12345678901234567890"}, {"n": 12345678901234567890}),
        ({"a": "3"}, {"a": 3}),
        ({"l": "7"}, {"l": [7]}),
        ({"e": "ALPHA"}, {"e": "alpha"}),
        ({"w": "cherry-pick"}, {"w": "cherry_pick"}),
        ({"w": " Cherry Pick"}, {"w": "cherry_pick"}),
        ({"w": "cherryPick"}, {"w": "cherry_pick"}),
        ({"w": "HEAD"}, {"w": "head"}),
    ],
)
def test_a_near_miss_is_put_right_and_recorded(given, repaired):
    checked = check(json.dumps(given))
    assert checked.arguments == repaired
    assert not checked.errors
    assert checked.repairs


@pytest.mark.parametrize(
    "given",
    [
        {"n": "5.5"},
        {"n": "five"},
        {"n": True},
        {"n": 5.5},
        {"n": "\u0665"},
        {"on": "yes"},
        {"on": 1},
        {"on": "1"},
        {"o": "{bad"},
        {"o": "[1]"},
        {"s": True},
        {"s": None},
        {"s": ["a"]},
        {"l": None},
        {"x": "1e3000"},
        {"zz": 1},
        {"e": "alphabet"},
        {"w": "cherrypick"},
        {"w": "LS-files"},
        {"x": "1e999"},
        {"l": ""},
        {"l": "null"},
        {"l": "[1, 2"},
        {"l": "['a', 'b']"},
        {"l": "[NaN]"},
        {"l": "[1e400]"},
        {"o": '{"k": 1, "k": 2}'},
        {"o": '{"k": 1, "\\ud800": 2}'},
    ],
)
def test_what_would_have_to_be_guessed_is_an_error(given):
    checked = check(json.dumps(given))
    assert checked.errors
    assert checked.arguments == {}


def test_text_that_holds_json_stays_text_where_text_is_wanted():
    checked = check('{"s": "{\\"a\\": 1}"}')
    assert checked.arguments == {"s": '{"a": 1}'}
    assert not checked.repairs


def test_the_whole_object_may_come_as_text():
    checked = check(json.dumps(json.dumps({"n": "3"})))
    assert checked.arguments == {"n": 3}
    assert checked.repairs == ("the object was unpacked from text", 'n: "3" -> 3')


@pytest.mark.parametrize("raw", ["", "  ", None, "{}", "null"])
def test_nothing_counts_as_no_arguments(raw):
    assert check(raw).arguments == {}
    assert not check(raw).errors


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ('{"n"', "not valid JSON: Expecting ':'"),
        ('{"n": 1}}', "not valid JSON: Extra data"),
        ("[1]", "must be a JSON object, not an array"),
        ('"hello"', "must be a JSON object, not text"),
        ("7", "must be a JSON object, not a number"),
        ("true", "must be a JSON object, not a boolean"),
        ('{"n": NaN}', "NaN is no JSON value"),
        ('{"s": "\\ud83e"}', "half a character (\\ud83e)"),
        ("[" * 100_000, "nested too deeply"),
        ('{"o": ' + "[" * 150 + "]" * 150 + "}", "nested too deeply"),
        ("1" * 5_000, "not valid JSON"),
        ('{"x": 1e400}', "the number 1e400 is too large"),
        ('{"n": 1, "n": 2}', "the key 'n' is given twice"),
    ],
)
def test_what_is_no_object_is_told_as_what_it_is(raw, message):
    (error,) = check(raw).errors
    assert message in error


@pytest.mark.parametrize("number", ["1.10", "1e5", "12345678901234567890.5", "-0.0", "7"])
def test_a_number_becomes_text_as_it_was_written(number):
    assert check(f'{{"s": {number}}}').arguments == {"s": number}
    assert check(json.dumps(f'{{"s": {number}}}')).arguments == {"s": number}


def test_a_number_out_of_a_text_inside_is_not_made_text_by_guess():
    spec = ToolSpec(
        name="t",
        parameters={"properties": {"o": {"type": "object", "properties": {"v": SCHEMA_TEXT}}}},
    )
    assert check({"o": '{"v": "1.10"}'}, spec).arguments == {"o": {"v": "1.10"}}
    assert check(json.dumps({"o": '{"v": 1.10}'}), spec).errors
    assert check(json.dumps({"o": {"v": 1.5}}), spec).arguments == {"o": {"v": "1.5"}}


def test_a_whole_emoji_written_as_two_escapes_arrives_whole():
    assert check('{"s": "\\ud83e\\udde9 Check"}').arguments == {"s": "\U0001f9e9 Check"}


def test_an_integer_written_with_a_point_arrives_as_an_integer():
    checked = check('{"n": 5.0, "o": {"k": 7.0}, "l": [1.0], "x": 2.0}')
    assert [type(value) for value in (checked.arguments["n"], checked.arguments["x"])] == [
        int,
        float,
    ]
    assert type(checked.arguments["o"]["k"]) is int
    assert type(checked.arguments["l"][0]) is int


def test_an_object_that_is_given_is_left_as_it_is():
    given = {"n": "5", "l": ["1"]}
    assert check(given).arguments == {"n": 5, "l": [1]}
    assert given == {"n": "5", "l": ["1"]}


def test_an_object_that_is_no_json_is_an_error():
    assert "not JSON" in check({"s": {1, 2}}).errors[0]
    assert "not JSON" in check({"x": float("nan")}).errors[0]
    assert "half a character" in check({"s": "\ud83e"}).errors[0]


def test_unknown_arguments_are_named_with_the_one_that_was_meant():
    checked = check('{"onn": true, "qq": 1}')
    assert checked.errors[0] == "onn: unknown argument; did you mean 'on'?"
    assert checked.errors[1].startswith("qq: unknown argument; there are: ")


def test_missing_arguments_are_named_with_type_and_meaning():
    spec = ToolSpec(
        name="t",
        parameters={
            "type": "object",
            "properties": {"path": {"type": "string", "description": "File to read\nmore"}},
            "required": ["path"],
        },
    )
    assert check("{}", spec).errors == ("path: missing (string; File to read)",)


def test_wrong_values_are_told_with_what_is_allowed():
    errors = check('{"e": "alpa", "n": 0, "o": {}, "m": "x", "l": ["x"]}').errors
    assert set(errors) == {
        'e: must be one of "alpha", "beta"; got "alpa"',
        "n: 0 is less than the minimum of 1",
        "o.k: missing (integer)",
        'm: must be integer or null, got "x"',
        'l[0]: must be integer, got "x"',
    }


def test_at_most_five_errors_are_told():
    errors = check({"l": ["x"] * 50, "n": "x"}).errors
    assert len(errors) == 6
    assert errors[-1] == "... and more"


def test_a_huge_wrong_value_does_not_fill_the_answer():
    (error,) = check({"n": "x" * 100_000}).errors
    assert len(error) < 150
    (error,) = check({"y" * 100_000: 1}).errors
    assert len(error) < 300


def test_nothing_is_put_right_when_that_is_not_wanted():
    checked = check({"n": "5"}, mend=False)
    assert checked.errors == ('n: must be integer, got "5"',)


def test_the_signature_names_required_arguments_first():
    schema = {
        "properties": {"b": {"type": ["integer", "null"]}, "a": {"enum": [1, "x"]}},
        "required": ["a"],
    }
    assert signature(schema) == 'a (1 | "x", required), b (integer or null)'
    assert signature({}) == "no arguments"


@pytest.mark.parametrize(
    "parameters",
    [
        {"$ref": "http://127.0.0.1:9/schema.json"},
        {"$ref": "file:///etc/hostname"},
        {"type": "object", "properties": {"a": {"$ref": "https://example.com/x"}}},
        {"type": "object", "allOf": [{"$dynamicRef": "http://127.0.0.1:9/x"}]},
    ],
)
def test_no_schema_can_make_the_host_fetch_anything(parameters):
    checked = check("{}", ToolSpec(name="t", parameters=parameters))
    assert checked.broken
    assert "may not refer to" in checked.errors[0] or "invalid" in checked.errors[0]


def test_schemas_that_are_too_large_or_too_deep_are_refused():
    large = {"type": "object", "description": "x" * 300_000}
    assert "300" in check("{}", ToolSpec(name="t", parameters=large)).errors[0]
    deep: dict = {"type": "object"}
    for _ in range(200):
        deep = {"type": "object", "properties": {"a": deep}}
    assert "deep" in check("{}", ToolSpec(name="t", parameters=deep)).errors[0]
    for _ in range(5_000):
        deep = {"type": "object", "properties": {"a": deep}}
    assert check("{}", ToolSpec(name="t", parameters=deep)).broken


def doubling(word, length):
    """A schema of a few lines by which one value is checked 2 ** length times."""
    defs = {
        f"a{n}": {word: [{"$ref": f"#/$defs/a{n + 1}"}, {"$ref": f"#/$defs/a{n + 1}"}]}
        for n in range(length)
    }
    defs[f"a{length}"] = {"type": "integer"}
    return {"type": "object", "properties": {"x": {"$ref": "#/$defs/a0"}}, "$defs": defs}


def chained(length):
    defs = {f"a{n}": {"anyOf": [{"$ref": f"#/$defs/a{n + 1}"}]} for n in range(length)}
    defs[f"a{length}"] = {"type": "integer"}
    return {"type": "object", "properties": {"x": {"$ref": "#/$defs/a0"}}, "$defs": defs}


def anchored(length):
    schema = json.dumps(doubling("anyOf", length))
    for n in range(length + 1):
        schema = schema.replace(f'"#/$defs/a{n}"', f'"#a{n}"')
    value = json.loads(schema)
    for name, node in value["$defs"].items():
        node["$anchor"] = name
    return value


@pytest.mark.parametrize(
    "parameters",
    [
        *(doubling(word, 30) for word in ("anyOf", "allOf", "oneOf")),
        chained(7_000),  # the validator recurses over these, and took the whole process with it
        anchored(30),
        {"type": "object", "properties": {"x": {"$id": "urn:a", **doubling("anyOf", 30)}}},
    ],
    ids=["anyOf", "allOf", "oneOf", "chain", "anchors", "ids"],
)
def test_a_schema_that_multiplies_without_measure_is_refused(parameters):
    began = time.perf_counter()
    checked = check('{"x": "q"}', ToolSpec(name="t", parameters=parameters))
    assert checked.broken
    assert signature(parameters)
    assert time.perf_counter() - began < 5


@pytest.mark.parametrize(
    "parameters",
    [
        doubling("anyOf", 8),
        chained(40),
        {"type": "object", "anyOf": [{"$ref": "#"}, {"$ref": "#"}]},
        {
            "type": "object",
            "properties": {"x": {"$ref": "#/$defs/a"}},
            "$defs": {
                "a": {"anyOf": [{"$ref": "#/$defs/b"}]},
                "b": {"anyOf": [{"$ref": "#/$defs/a"}]},
            },
        },
        {"type": "object", "properties": {"x": {"anyOf": [{"const": n} for n in range(2_000)]}}},
    ],
    ids=["doubling", "chain", "itself", "one-another", "many"],
)
def test_a_schema_that_is_only_intricate_is_used(parameters):
    checked = check("{}", ToolSpec(name="t", parameters=parameters))
    assert not checked.broken
    assert not checked.errors
    assert signature(parameters)


@pytest.mark.parametrize(
    "parameters",
    [
        {"properties": 5},
        {"properties": ["a"]},
        {"properties": {"a": 5}, "required": 5},
        {"properties": {"a": {"type": [{}], "enum": 5, "anyOf": 5}}, "required": [1, "a"]},
    ],
)
def test_a_schema_of_wrong_kinds_is_told_as_far_as_it_can_be_read(parameters):
    assert signature(parameters)
    assert check("{}", ToolSpec(name="t", parameters=parameters)).broken


def test_a_schema_that_is_none_is_the_tools_fault():
    checked = check("{}", ToolSpec(name="t", parameters={"type": "nonsense"}))
    assert checked.broken
    assert "invalid" in checked.errors[0]


def test_a_dialect_that_nobody_knows_is_read_as_the_latest():
    parameters = {"$schema": "http://example.com/own", "type": "object", "required": ["a"]}
    assert check("{}", ToolSpec(name="t", parameters=parameters)).errors == (
        "a: missing (any value)",
    )


def test_a_hostile_pattern_does_not_hang():
    parameters = {"type": "object", "properties": {"a": {"pattern": "^(a+)+$"}}}
    checked = check({"a": "a" * 40 + "!"}, ToolSpec(name="t", parameters=parameters))
    assert checked.errors


def test_a_schema_that_refers_to_itself_can_be_repaired():
    parameters = {
        "type": "object",
        "properties": {"node": {"$ref": "#/$defs/N"}, "loop": {"$ref": "#/$defs/L"}},
        "$defs": {
            "N": {
                "type": "object",
                "properties": {"v": {"type": "integer"}, "next": {"$ref": "#/$defs/N"}},
            },
            "L": {"$ref": "#/$defs/L"},
        },
    }
    spec = ToolSpec(name="t", parameters=parameters)
    given = {"node": {"v": "1", "next": {"v": "2"}}}
    assert check(given, spec).arguments == {"node": {"v": 1, "next": {"v": 2}}}


def test_a_schema_is_compiled_once(monkeypatch):
    import jsonschema_rs

    made = []
    real = jsonschema_rs.validator_for
    monkeypatch.setattr(
        jsonschema_rs, "validator_for", lambda *a, **k: made.append(1) or real(*a, **k)
    )
    arguments = Arguments()
    for _ in range(3):
        arguments.check(SPEC, "{}")
        arguments.check(ToolSpec(name="u", parameters=dict(SCHEMA)), "{}")
    assert len(made) == 1


ALIASED = ToolSpec(
    name="t",
    parameters={
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "edits": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"old": {"type": "string"}},
                    "required": ["old"],
                    "additionalProperties": False,
                },
            },
        },
        "required": ["path"],
        "additionalProperties": False,
    },
    argument_aliases={"file_path": "path", "filename": "path", "edits[].oldText": "old"},
)


@pytest.mark.parametrize(
    ("given", "arguments", "repairs"),
    [
        ({"file_path": "a"}, {"path": "a"}, ("file_path -> path",)),
        ({"path": "a", "filename": "a"}, {"path": "a"}, ("filename -> path",)),
        (
            {"path": "a", "edits": [{"old": "x"}, {"oldText": "y"}]},
            {"path": "a", "edits": [{"old": "x"}, {"old": "y"}]},
            ("edits[1].oldText -> edits[1].old",),
        ),
        (
            {"path": "a", "edits": {"oldText": "y"}},
            None,
            None,
        ),
    ],
)
def test_other_names_of_arguments_are_replaced_and_told(given, arguments, repairs):
    checked = check(given, ALIASED)
    if arguments is None:
        assert checked.errors
        return
    assert (checked.arguments, checked.repairs) == (arguments, repairs)


def test_a_list_that_came_as_text_has_its_names_replaced_too():
    checked = check({"path": "a", "edits": '[{"oldText": "y"}]'}, ALIASED)
    assert checked.arguments == {"path": "a", "edits": [{"old": "y"}]}


def test_two_names_with_two_values_are_an_error():
    errors = check({"path": "a", "file_path": "b"}, ALIASED).errors
    assert len(errors) == 1
    assert "file_path" in errors[0]


TURNED = ToolSpec(
    name="t",
    parameters={
        "type": "object",
        "properties": {
            "ignore_case": {"type": "boolean"},
            "edits": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"old": {"type": "string"}},
                    "additionalProperties": False,
                },
            },
        },
        "additionalProperties": False,
    },
    argument_aliases={"case_sensitive": "!ignore_case", "-n": "", "edits[].why": ""},
)


@pytest.mark.parametrize(
    ("given", "arguments", "repairs"),
    [
        ({"case_sensitive": True}, {"ignore_case": False}, ["case_sensitive -> not ignore_case"]),
        ({"case_sensitive": "False"}, {"ignore_case": True}, ["case_sensitive -> not ignore_case"]),
        (
            {"case_sensitive": False, "ignore_case": True},
            {"ignore_case": True},
            ["case_sensitive -> not ignore_case"],
        ),
        ({"-n": {"any": "thing"}}, {}, ["-n -> left out"]),
        (
            {"edits": [{"old": "x", "why": "y"}]},
            {"edits": [{"old": "x"}]},
            ["edits[0].why -> left out"],
        ),
    ],
)
def test_an_argument_is_turned_round_or_left_out_and_told(given, arguments, repairs):
    checked = check(given, TURNED)
    assert (checked.arguments, list(checked.repairs)) == (arguments, repairs)


@pytest.mark.parametrize(
    "given",
    [
        {"case_sensitive": True, "ignore_case": True},
        {"case_sensitive": ["true"]},
        {"case_sensitive": 1},
        {"why": "y"},
    ],
)
def test_what_can_not_be_turned_round_is_an_error(given):
    assert check(given, TURNED).errors


def test_arguments_that_fit_keep_their_names():
    spec = ToolSpec(name="t", argument_aliases={"n": "m"}, parameters={"type": "object"})
    assert check({"n": 1}, spec).arguments == {"n": 1}


FREEFORM = ToolSpec(
    name="t",
    freeform="patch",
    parameters={
        "type": "object",
        "properties": {"patch": {"type": "string"}},
        "required": ["patch"],
        "additionalProperties": False,
    },
)


@pytest.mark.parametrize(
    ("raw", "patch"),
    [
        ("*** Begin\n+x\n", "*** Begin\n+x\n"),
        ('"*** Begin\\n+x"', "*** Begin\n+x"),
        ('{"patch": "x"}', "x"),
        ('"{\\"patch\\": \\"x\\"}"', "x"),
    ],
)
def test_text_without_json_is_the_freeform_argument(raw, patch):
    assert check(raw, FREEFORM).arguments == {"patch": patch}


@pytest.mark.parametrize("raw", ["", "  ", '{"patch": "*** Beg', "[1]", "5"])
def test_what_is_no_whole_text_is_not_the_freeform_argument(raw):
    assert check(raw, FREEFORM).errors
