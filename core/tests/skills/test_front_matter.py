from __future__ import annotations

import pytest

from pegboard.skills.front_matter import MAX_CHARS, parse_skill


def front(text: str):
    parsed = parse_skill(f"---\n{text}\n---\nBody.\n")
    assert parsed.problems == ()
    assert parsed.body == "Body.\n"
    return parsed.front


def test_names_and_values_are_read_as_text() -> None:
    assert front("name: pdf\nversion: 1.10\nhidden: no\nwhen: 2026-01-01") == {
        "name": "pdf",
        "version": "1.10",
        "hidden": "no",
        "when": "2026-01-01",
    }


def test_an_unquoted_colon_does_not_lose_the_skill() -> None:
    text = "description: Use this: it reads PDFs. Triggers: pdf, scan"
    assert front(text) == {"description": "Use this: it reads PDFs. Triggers: pdf, scan"}


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ('"a: b \\"c\\" \\n \\u00e9"', 'a: b "c" \n é'),
        ("'it''s: so'", "it's: so"),
        ('"quoted" # a comment', "quoted"),
        ("plain # a comment", "plain"),
        ("issue #12 is fixed", "issue #12 is fixed"),
        ("# only a comment", ""),
        ("http://example.org:80/#x", "http://example.org:80/#x"),
        ("修正: する", "修正: する"),
        ("", ""),
        ('"\\ud800"', "\ufffd"),
    ],
)
def test_scalars(written: str, meant: str) -> None:
    assert front(f"key: {written}") == {"key": meant}


def test_scalars_over_several_lines() -> None:
    assert front("a: one\n  two: three\n  four\nb: 'x\n  y'") == {
        "a": "one two: three four",
        "b": "x y",
    }


def test_block_scalars() -> None:
    text = "kept: |\n  one\n    two\n\n  three\nfolded: >-\n  one\n  two\n\n  three\nlast: x"
    assert front(text) == {
        "kept": "one\n  two\n\nthree",
        "folded": "one two\nthree",
        "last": "x",
    }


@pytest.mark.parametrize(
    "written",
    [
        "tools: [read, 'a, b', \"c\"]",
        "tools:\n  - read\n  - 'a, b'\n  - c",
        "tools:\n- read\n- 'a, b'\n- c",
        "tools: [read,\n  'a, b', c]",
    ],
)
def test_lists(written: str) -> None:
    assert front(written) == {"tools": ["read", "a, b", "c"]}


def test_tables() -> None:
    assert front("metadata:\n  author: me\n  version: 1.0\nother: {a: b, c: 'd'}") == {
        "metadata": {"author": "me", "version": "1.0"},
        "other": {"a": "b", "c": "d"},
    }


def test_comments_and_blank_lines_are_passed_over() -> None:
    assert front("# a comment\n\nname: pdf\n\n# more\ndescription: x") == {
        "name": "pdf",
        "description": "x",
    }


def test_line_ends_and_byte_order_marks_of_windows() -> None:
    parsed = parse_skill("\ufeff---\r\nname: pdf\r\ndescription: a: b\r\n---\r\nBody.\r\n")
    assert parsed.front == {"name": "pdf", "description": "a: b"}
    assert parsed.body == "Body.\r\n"


def test_dashes_inside_a_value_or_the_body_do_not_end_it() -> None:
    parsed = parse_skill("---\nname: a---b\n---\nText\n\n---\n\nMore\n")
    assert parsed.front == {"name": "a---b"}
    assert parsed.body == "Text\n\n---\n\nMore\n"


def test_an_unusual_line_separator_is_no_line_end() -> None:
    assert front("description: one\u2028two") == {"description": "one\u2028two"}


def test_what_cannot_be_read_is_named_with_its_line_and_the_rest_is_kept() -> None:
    parsed = parse_skill("---\nname: pdf\nwhat is this\ndescription: x\nname: two\n---\n")
    assert parsed.front == {"name": "pdf", "description": "x"}
    assert "line 3" in parsed.problems[0]
    assert "`name` is given twice" in parsed.problems[1]


@pytest.mark.parametrize("text", ["", "Just text.", "---\nname: x\nno end", "--- \n"])
def test_a_file_without_front_matter_is_all_body(text: str) -> None:
    parsed = parse_skill(text)
    assert (parsed.front, parsed.body) == ({}, text)
    assert len(parsed.problems) == 1


def test_empty_front_matter_is_empty() -> None:
    assert parse_skill("---\n---\nBody").front == {}


def test_endless_front_matter_is_not_read() -> None:
    parsed = parse_skill("---\nname: " + "x" * (MAX_CHARS + 1) + "\n---\nBody")
    assert parsed.front == {}
    assert "longer than" in parsed.problems[0]


@pytest.mark.parametrize("text", ["a: [", "a: {b", "a: |", "a: >\n", "a:\n  - \n  -", 'a: "x'])
def test_broken_values_never_raise(text: str) -> None:
    assert "a" in parse_skill(f"---\n{text}\n---\n").front
