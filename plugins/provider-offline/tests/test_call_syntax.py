from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pegboard_provider_offline.call_syntax import (
    TypedCall,
    call_form,
    is_call,
    read_calls,
    write_arguments,
    write_call,
)

from pegboard import ToolDeclaration

TEXT = ToolDeclaration("file_read", "", {"properties": {"path": {"type": "string"}}})


def read(text: str, tools: tuple[ToolDeclaration, ...] = (TEXT,)) -> list[tuple[str, object]]:
    calls = read_calls(text, {tool.name: tool for tool in tools})
    assert all(call.mistake is None for call in calls), calls
    return [(call.name, json.loads(call.arguments)) for call in calls]


def mistake(text: str, tools: tuple[ToolDeclaration, ...] = (TEXT,)) -> TypedCall:
    (call,) = read_calls(text, {tool.name: tool for tool in tools})
    assert call.mistake is not None
    return call


@pytest.mark.parametrize(
    ("typed", "value"),
    [
        ("README.md", "README.md"),
        ("3", 3),
        ("-2.5", -2.5),
        ("true", True),
        ("null", None),
        ("NaN", "NaN"),
        ("[1,2]", [1, 2]),
        ('["a b", "c"]', ["a b", "c"]),
        ('{"a": {"b": 1}}', {"a": {"b": 1}}),
        ("[ab]*.py", "[ab]*.py"),
        ("[1]*.txt", "[1]*.txt"),
        ("{a,b}", "{a,b}"),
        ('"with blanks"', "with blanks"),
        ('""', ""),
        ('"3"', "3"),
        (r'"a \"b\" \\ \n\t"', 'a "b" \\ \n\t'),
        (r'"\d+\b"', r"\d+\b"),
        (r'"caf\u00e9 \ud83d\ude00"', "café 😀"),
        (r'"\ud83d"', "\ufffd"),
        ("'it\\'s \"so\"'", 'it\'s "so"'),
        (r"'\n'", r"\n"),
        ('"two\nlines"', "two\nlines"),
        ("/tmp", "/tmp"),
        ("a=b", "a=b"),
        ("9" * 5000, "9" * 5000),
        ("[" * 100_000, "[" * 100_000),
    ],
)
def test_a_value_is_what_was_typed(typed: str, value: object) -> None:
    assert read(f"/other x={typed}") == [("other", {"x": value})]


@pytest.mark.parametrize("typed", ["123", "true", "null", "[1]", '{"a": [1, 2]}'])
def test_where_a_tool_wants_text_a_value_stays_text(typed: str) -> None:
    assert read(f"/file_read path={typed}") == [("file_read", {"path": typed})]


def test_a_call_may_have_no_arguments_or_json_or_pairs() -> None:
    text = '/list_dir\n/file_read {"path": "a b"}\n/file_read path="c d" offset=3'
    assert read(text) == [
        ("list_dir", {}),
        ("file_read", {"path": "a b"}),
        ("file_read", {"path": "c d", "offset": 3}),
    ]


def test_json_may_span_lines() -> None:
    assert read('/file_read {\n  "path": "x"\n}\n/list_dir') == [
        ("file_read", {"path": "x"}),
        ("list_dir", {}),
    ]


def test_pairs_may_continue_on_the_next_line() -> None:
    assert read("/file_read path=a\n  offset=2") == [("file_read", {"path": "a", "offset": 2})]


@pytest.mark.parametrize(
    "text",
    [
        "/file_read path=a /file_read path=b",
        "/file_read path=a; /file_read path=b",
        "/file_read path=a ; /file_read path=b;",
        '/file_read path="a"; /file_read path="b"',
        "/file_read path=a\n\n/file_read path=b\n",
        'Please run:\n/file_read {"path": "a"} /file_read path=b',
    ],
)
def test_several_calls_in_one_message(text: str) -> None:
    assert read(text) == [("file_read", {"path": "a"}), ("file_read", {"path": "b"})]


def test_a_name_may_be_given_with_its_plugin() -> None:
    assert read("/files:file_read path=12") == [("files:file_read", {"path": "12"})]


@pytest.mark.parametrize("text", ["/etc/passwd", "read /tmp", "a /b", "1/2", "", "/", "//x"])
def test_a_path_is_no_call(text: str) -> None:
    assert not is_call(text)


@pytest.mark.parametrize(
    ("text", "line", "column", "part"),
    [
        ("/file_read README.md", 1, 12, "expected name=value"),
        ("/file_read path=a\n/x", 0, 0, ""),
        ("/file_read path=", 1, 17, "has no value"),
        ("/file_read path=hello world", 1, 23, "needs quotes"),
        ("/file_read path=ls /tmp", 1, 20, "needs quotes"),
        ('/file_read\npath="open', 2, 6, "no closing"),
        ('/file_read path="a"b', 1, 20, "blank after the closing quote"),
        ("/file_read path=a path=b", 1, 19, "given twice"),
        ('/file_read {"path": }', 1, 21, "no valid JSON"),
        ('/file_read {"path": "a"} more', 1, 26, "ends after the object"),
        ("/file_read " + '{"a":' * 50_000, 1, 12, "beyond measure"),
    ],
)
def test_a_mistake_is_found_where_it_is(text: str, line: int, column: int, part: str) -> None:
    if not line:
        assert len(read(text)) == 2
        return
    found = mistake(text).mistake
    assert found is not None
    assert (found.line, found.column) == (line, column)
    assert part in found.message


def test_a_mistake_shows_how_it_would_be_right() -> None:
    found = mistake('/file_read "my notes.md"')
    assert found.mistake is not None
    assert found.mistake.text().endswith('Write it like this: /file_read path="my notes.md"')
    assert "/file_read path=README.md" in mistake("/file_read README.md").mistake.text()  # type: ignore[union-attr]


def test_what_can_not_be_read_is_passed_on_word_for_word_and_the_next_line_is_read() -> None:
    first, second = read_calls("/file_read {oops\n/file_read path=b", {"file_read": TEXT})
    assert (first.arguments, first.mistake is None) == ("{oops", False)
    assert json.loads(second.arguments) == {"path": "b"}


names = st.from_regex(r"[a-z][a-z0-9_]{0,10}", fullmatch=True)
text_values = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | text_values,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text_values, inner, max_size=3),
    max_leaves=6,
)


@given(names, st.dictionaries(names, values, max_size=4))
def test_what_is_written_reads_back(name: str, arguments: dict[str, object]) -> None:
    (call,) = read_calls(write_call(name, arguments), {})
    assert call.mistake is None
    assert (call.name, json.loads(call.arguments)) == (name, arguments)


@given(st.text(max_size=60))
def test_no_text_breaks_the_reader(text: str) -> None:
    for call in read_calls(f"/file_read {text}", {"file_read": TEXT}):
        assert call.mistake is not None or isinstance(json.loads(call.arguments), dict)


def test_arguments_that_are_no_object_are_shown_as_they_are() -> None:
    assert write_arguments('{"a": "b c"}') == 'a="b c"'
    assert write_arguments("") == ""
    assert write_arguments("[1]") == "[1]"
    assert write_arguments("{oops") == "{oops"


@pytest.mark.parametrize(
    "parameters",
    [
        {"properties": 5, "required": 5},
        {"properties": ["a"], "required": [1]},
        {"properties": None},
    ],
)
def test_a_schema_that_is_none_costs_nothing(parameters: dict[str, object]) -> None:
    odd = ToolDeclaration("odd", "", parameters)
    assert call_form(odd) == "/odd"
    assert read("/odd a=1", (odd,)) == [("odd", {"a": 1})]
    assert mistake("/odd loose", (odd,)).mistake is not None


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ('/text {"a": 1, "a": 2}', "a key is given twice"),
        ('/text {"a": NaN}', "NaN is no JSON value"),
        ('/text {"a": ' + "[" * 100_000, "nested beyond measure"),
    ],
)
def test_json_that_can_not_be_meant_is_a_mistake(text: str, part: str) -> None:
    found = mistake(text)
    assert found.mistake is not None
    assert part in found.mistake.message
    assert write_arguments(found.arguments)
