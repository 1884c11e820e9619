"""What is known of a word before a shell runs it."""

from __future__ import annotations

import pytest

from pegboard.policy.inner_commands import inner_commands


def words(source):
    """Return the words behind `x`: their pieces, `None` for one that is not known."""
    found = inner_commands(f"x {source}")
    assert found.unclear == "", found
    (command,) = [one for one in found.commands if one.words[0].text == "x"]
    return [joined(word) for word in command.words[1:]]


def joined(word):
    text = "".join("\0" if part is None else part for part in word.parts)
    return text if word.single else f"{text}+"


@pytest.mark.parametrize(
    ("source", "expected"),
    {
        "a b": ["a", "b"],
        "'a b'c": ["a bc"],
        "'a\\'": ["a\\"],
        '"a b"': ["a b"],
        '"a\\"b\\\\\\$\\`\\n"': ['a"b\\$`\\n'],
        '""': [""],
        "''": [""],
        "a\\ b\\'\\\"": ["a b'\""],
        "a\\\nb": ["ab"],
        "a \\\n b": ["a", "b"],
        '"a\\\nb"': ["ab"],
        "'a\\\nb'": ["a\\\nb"],
        "$a": ["\0+"],
        '"$a"': ["\0"],
        "a$b'c'": ["a\0c+"],
        '$a"$b"': ["\0\0+"],
        '"$@"': ["\0+"],
        '"$*"': ["\0"],
        "$1 $? $$ $! $# $- $0": ["\0+"] * 7,
        '"${a}"': ["\0"],
        "${a}": ["\0+"],
        '"${a[@]}"': ["\0+"],
        '"${a[*]}" "${a[0]}"': ["\0", "\0"],
        '"${@}" "${*}" "${#}" "${#a}" "${#a[@]}"': ["\0+", "\0", "\0", "\0", "\0+"],
        '"${a:-b}" "${a-b}" "${a:+b}" "${a:=b}" "${a:?b}"': ["\0"] * 5,
        '"${a#b}" "${a##*/}" "${a%b}" "${a%%b}" "${a/b/c}" "${a^}" "${a,,}"': ["\0"] * 7,
        '"${a:1}" "${a:1:2}" "${a: -1}"': ["\0"] * 3,
        '"${a@Q}" "${a@U}"': ["\0"] * 2,
        '"${a:-\\}b}"': ["\0"],
        '"${a:-<b*[c}"': ["\0"],
        '"${a:-"b}"}"': ["\0"],
        "$ $% a$": ["$", "$%", "a$"],
        '"$" "$ a"': ["$", "$ a"],
        "$\\a": ["$a"],
        "$a\\\nb": ["\0+"],
        "$'a\\tb'": ["a\tb"],
        "$'\\x72\\162\\u72\\U72\\\\\\\"\\?\\a\\b\\e\\E\\f\\n\\r\\v'": [
            'rrrr\\"?\a\b\x1b\x1b\f\n\r\v'
        ],
        "$'\\u0072ef' $'\\x7z' $'\\z'": ["ref", "\x07z", "\\z"],
        "\"$'a'\"": ["$'a'"],
        '$"a"': ["\0a"],
        "*.py a?b [ab]c": ["\0.py+", "a\0b+", "\0ab]c+"],
        "'*' \\* \"?\"": ["*", "*", "?"],
        "{a,b} {1..3} x{a,b}y": ["\0+"] * 3,
        "{} {a} a,b a..b {a ,}": ["{}", "{a}", "a,b", "a..b", "{a", ",}"],
        "{'a,b'} \\{a,b}": ["{a,b}", "{a,b}"],
        "~/a ~b": ["~/a", "~b"],
        "a=b": ["a=b"],
        "}": ["}"],
    }.items(),
)
def test_a_word_is_read_as_bash_reads_it(source, expected):
    assert words(source) == expected


@pytest.mark.parametrize(
    "source",
    [
        "'a",
        '"a',
        '"a\\"',
        "`a",
        "`a\\`",
        "$'a",
        "$'a\\'b'",
        "$'a\\'' b' c",
        "$'a\\\\'",
        "$'\\0'",
        "$'\\x00'",
        "$'\\x80'",
        "$'\\200'",
        "$'\\u00e9'",
        "$'\\ca'",
        "$[1]",
        "${a",
        "${a:-b",
        "${a:1",
        '"${a:-$b"',
        "${!a}",
        "${a[b]}",
        "${a[",
        "${a[$b]}",
        "${a:b}",
        "${a:1+1}",
        "${a@P}",
        "${a@}",
        "${a:-'b'}",
        "${a:-<(b)}",
        "$((a))",
        "\\",
    ],
)
def test_what_can_run_more_than_it_shows_is_not_clear(source):
    assert inner_commands(f"x {source}").unclear


@pytest.mark.parametrize(
    "source",
    [
        '"${a:-$(b)}"',
        "${a:-`b`}",
        '"${a/$(b)/c}"',
        "${a:=$(b)}",
        '$"$(b)"',
        '"a${c}$(b)"',
    ],
)
def test_commands_inside_of_a_variable_are_found(source):
    found = inner_commands(f"x {source}")
    assert found.unclear == ""
    assert [command.words[0].text for command in found.commands] == ["b", "x"]


def test_what_a_variable_holds_does_not_leak_into_the_word():
    assert words('"a${b:-c"d"e}f"') == ["a\0f"]
    assert words("a${b:-c*}f") == ["a\0f+"]


def test_the_tests_of_a_shell_are_words_and_no_patterns():
    for name in ("[", "[["):
        end = "]" * len(name)
        found = inner_commands(f"{name} a {end}")
        assert found.unclear == ""
    assert inner_commands("[[[ a").unclear


def test_a_reserved_word_that_is_quoted_is_a_command():
    for word in ("'if'", "\\if", '"if"', "i'f'"):
        found = inner_commands(f"{word} a")
        assert [command.words[0].text for command in found.commands] == ["if"]


def test_a_line_continuation_joins_operators():
    found = inner_commands("a &\\\n& b |\\\n| c")
    assert [command.words[0].text for command in found.commands] == ["a", "b", "c"]
    assert inner_commands("\\\na").commands[0].words[0].text == "a"
