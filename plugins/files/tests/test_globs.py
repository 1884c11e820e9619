from __future__ import annotations

import fnmatch
import random
import re
import time

import pytest
from pegboard_files.globs import (
    choices,
    compile_filter,
    compile_globs,
    compile_left_out,
    filters,
    is_glob,
)

from pegboard import ToolFailure


def matches(pattern: str, path: str) -> bool:
    return any(glob.expression.match(path) for glob in compile_globs(pattern))


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*.rs", "main.rs"),
        ("**/*.rs", "main.rs"),
        ("**/*.rs", "a/b/main.rs"),
        ("src/**", "src/a/b"),
        ("src/**/*.py", "src/a.py"),
        ("src/**/*.py", "src/x/y/a.py"),
        ("**", "a"),
        ("**/b/**/d", "a/b/c/d"),
        ("**/b/**/d", "b/d"),
        ("**/**/a", "x/a"),
        (".*", ".hidden"),
        ("*", ".hidden"),
        ("[abc].txt", "b.txt"),
        ("[!abc].txt", "x.txt"),
        ("[^abc].txt", "x.txt"),
        ("[a-c]?", "bz"),
        ("[]]", "]"),
        ("[[]x].py", "[x].py"),
        ("a[*]b", "a*b"),
        ("*.{md,txt}", "a.txt"),
        ("{src,lib/x}/*.py", "lib/x/a.py"),
        ("{a,b{c,d}}", "bd"),
        ("{a}", "{a}"),
        ("{1..3}", "{1..3}"),
        ("./a/./b", "a/b"),
        ("we ird.py", "we ird.py"),
        ("é.py", "é.py"),
        ("-rf", "-rf"),
        ("!x", "!x"),
        ("new*", "new\nline.py"),
        ("(a+)+$", "(a+)+$"),
        ("a***b", "axb"),
        ("**a", "xa"),
        ("[&&~~]", "&"),
    ],
)
def test_a_pattern_matches(pattern: str, path: str) -> None:
    assert matches(pattern, path)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*.rs", "a/main.rs"),
        ("*.RS", "main.rs"),
        ("src/*", "src/a/b"),
        ("src/**", "src"),
        ("a?b", "a/b"),
        ("a[!x]b", "a/b"),
        ("**/b/**/d", "a/b/c/e"),
        ("a.c", "abc"),
        ("*.py", "a.py\n"),
        ("**a", "x/a"),
    ],
)
def test_a_pattern_does_not_match(pattern: str, path: str) -> None:
    assert not matches(pattern, path)


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("", "empty"),
        (".", "empty"),
        ("/etc/*", "absolute"),
        ("{/etc/*,a}", "absolute"),
        ("~/x", "home folder"),
        ("../x", r"contains `\.\.`"),
        ("a/../x", r"contains `\.\.`"),
        ("{..,a}/x", r"contains `\.\.`"),
        ("a\\b", "backslash"),
        ("[", "is not closed"),
        ("a[", "is not closed"),
        ("[]", "is not closed"),
        ("{", "is not closed"),
        ("{a", "is not closed"),
        ("[z-a]", "no set of characters"),
        ("src/", "ends in /"),
        ("a\0b", "NUL"),
        ("{a,b}" * 12, "more than 1000"),
        ("{" * 1001, "longer than"),
        ("*" * 5000, "longer than"),
    ],
)
def test_a_pattern_that_makes_no_sense_is_refused(pattern: str, words: str) -> None:
    with pytest.raises(ToolFailure, match=words) as caught:
        compile_globs(pattern)
    assert caught.value.fix
    assert caught.value.tool_code == "invalid_pattern"


def test_choices_are_written_out_in_order() -> None:
    assert choices("{a,b}{1,2}") == ["a1", "a2", "b1", "b2"]
    assert choices("x{a,{b,c}}") == ["xa", "xb", "xc"]
    assert choices("{,x}a") == ["a", "xa"]
    assert choices("[{]a,b}") == ["[{]a,b}"]


def test_a_filter_without_a_slash_is_about_names() -> None:
    assert compile_filter("*.py").match("a/b.py")
    assert compile_filter("*.{py,ts}").match("a/b.ts")
    assert compile_filter("src/*.py").match("src/b.py")
    assert not compile_filter("src/*.py").match("x/src/b.py")


def test_a_plain_path_is_no_pattern() -> None:
    assert not is_glob("src/main.py")
    assert is_glob("*.py")
    assert is_glob("{a,b}")


@pytest.mark.parametrize(
    "pattern",
    [
        "a*" * 12 + "b",
        "?*" * 12 + "b",
        "*a" * 100 + "b",
        "**/" * 300 + "x",
        "**/*a*/**/*a*/**/*a*/**/*a*/**/b",
        "[a]*" * 50 + "b",
    ],
)
def test_no_pattern_runs_away(pattern: str) -> None:
    began = time.process_time()
    for path in ("a" * 3000, "/".join(["aaaa"] * 500), "a" * 60):
        assert not matches(pattern, path)
    assert time.process_time() - began < 10


def segments_match(parts: list[str], path: list[str]) -> bool:
    """The meaning of a pattern, written down as plainly as can be."""
    if not parts:
        return not path
    if parts[0] == "**":
        if len(parts) == 1:
            return bool(path)
        return any(segments_match(parts[1:], path[skip:]) for skip in range(len(path)))
    if not path:
        return False
    whole = re.compile(fnmatch.translate(parts[0]))
    return bool(whole.match(path[0])) and segments_match(parts[1:], path[1:])


@pytest.mark.parametrize("seed", range(40))
def test_it_means_what_the_plain_definition_says(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(100):
        parts = [
            rng.choice(["**", "".join(rng.choices(["a", "b", "*", "?", "[ab]"], k=3)), "a", "*"])
            for _ in range(rng.randrange(1, 5))
        ]
        path = ["".join(rng.choices("abc", k=rng.randrange(1, 4))) for _ in range(4)]
        path = path[: rng.randrange(1, 5)]
        collapsed = [
            part for at, part in enumerate(parts) if part != "**" or parts[at - 1 : at] != ["**"]
        ]
        expected = segments_match(collapsed, path)
        assert matches("/".join(parts), "/".join(path)) is expected, (parts, path)


@pytest.mark.parametrize(
    ("text", "those", "others"),
    [
        ("*.py", ["*.py"], []),
        (" *.ts,*.tsx , a.c", ["*.ts", "*.tsx", "a.c"], []),
        ("*.{a,{b,c}},*.d", ["*.{a,{b,c}}", "*.d"], []),
        ("[a,b]*.c", ["[a,b]*.c"], []),
        ("*.txt *.md", ["*.txt", "*.md"], []),
        ("my notes *.txt", ["my notes *.txt"], []),
        ("*.py !test_* !build/**", ["*.py"], ["test_*", "build/**"]),
        ("!*.md", [], ["*.md"]),
        ("{a,b", ["{a,b"], []),
        (",", [","], []),
    ],
)
def test_a_filter_may_be_several_patterns_and_some_leave_out(text, those, others) -> None:
    assert filters(text) == (those, others)


@pytest.mark.parametrize(
    ("pattern", "paths"),
    [
        ("node", ["node", "node/a", "x/node/y/z"]),
        ("node/", ["node", "node/a", "x/node/y/z"]),
        ("node/**", ["node", "node/a", "x/node/y/z"]),
        ("x/node", ["x/node/y/z"]),
        ("*.lock", ["a.lock", "q/a.lock"]),
        ("**/node/**", ["node", "node/a", "x/node/y/z"]),
    ],
)
def test_what_is_left_out_takes_all_below_along(pattern, paths) -> None:
    known = ("node", "node/a", "x/node/y/z", "nodes", "a.lock", "q/a.lock", "a.locks")
    assert [path for path in known if compile_left_out(pattern).match(path)] == paths


@pytest.mark.parametrize(
    ("pattern", "path"),
    [("SRC/*.PY", "src/a.py"), ("**/read*", "x/README"), ("[A-C].é", "b.É"), ("{A,B}", "b")],
)
def test_letter_case_matters_unless_told(pattern, path) -> None:
    assert not matches(pattern, path)
    found = compile_globs(pattern, ignore_case=True)
    assert any(glob.expression.match(path) for glob in found)
    assert all(glob.walks and not glob.fixed for glob in found)
