from __future__ import annotations

import time

import pytest

from pegboard.contracts.errors import BuildError
from pegboard.contracts.tool import Intent
from pegboard.tools.intents import compile_intent, match_intent

READ = "(read|show|open) [me] [the] [file] {path:path}"
FIND = "(find|list) [all] files (named|matching) {pattern:glob} [in {path:path}]"


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        (READ, "read README.md", {"path": "README.md"}),
        (READ, "Please READ  the file README.md.", {"path": "README.md"}),
        (READ, "open 'a b.txt'", {"path": "a b.txt"}),
        (READ, "read `src/x.py` please", {"path": "src/x.py"}),
        (READ, "could you show me the file docs/é.md?", {"path": "docs/é.md"}),
        (READ, "read .", {"path": "."}),
        (READ, "read ../x/", {"path": "../x/"}),
        (READ, "show me", None),
        (READ, "read it", None),
        (READ, "read", None),
        (READ, "reading x", None),
        (READ, "read README.md and count it", None),
        (READ, "do not read README.md", None),
        (FIND, "find files matching *.py", {"pattern": "*.py"}),
        (FIND, "find all files named **/*.md in src", {"pattern": "**/*.md", "path": "src"}),
        (FIND, "list files matching 'a b*' in .", {"pattern": "a b*", "path": "."}),
        (FIND, "find files named foo", None),
        ("run {command:command}", "run `ls -la | wc`", {"command": "ls -la | wc"}),
        ("run {command:command}", "run ls", None),
        ("(search|grep) for {q:quoted}", 'search for "TODO x"', {"q": "TODO x"}),
        ("(search|grep) for {q:quoted}", "search for \u201cTODO\u201d", {"q": "TODO"}),
        ("fetch {url:url}", "fetch https://x.org/a?b=c.", {"url": "https://x.org/a?b=c"}),
        ("fetch {url:url}", "fetch ftp://x.org", None),
        ("show {n:number} lines", "show 10 lines", {"n": 10}),
        ("wait {n:number} seconds", "wait 1.5 seconds", {"n": 1.5}),
        ("remember [that] {text:rest}", "remember that I like tea. A lot!", {
            "text": "I like tea. A lot!"
        }),
        ("call {who:word}", "call anna-lena", {"who": "anna-lena"}),
        ("what's in {path:path}", "What\u2019s in src?", {"path": "src"}),
        ("list file[s] in {path:path}", "list file in src", {"path": "src"}),
        ("[the] [big] list", "big list", {}),
        ("(git|show the) status", "show the status", {}),
    ],
)  # fmt: skip
def test_a_phrase_gives_the_arguments_that_it_names(pattern, text, expected):
    assert match_intent(Intent(pattern), text) == expected


def test_fixed_arguments_are_added():
    intent = Intent("list everything", {"recursive": True})
    assert match_intent(intent, "list everything") == {"recursive": True}


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("(a|b", "')' is missing"),
        ("a [b", "']' is missing"),
        ("a)", "')' has no counterpart"),
        ("a]", "']' has no counterpart"),
        ("a | b", "'|' has no counterpart"),
        ("{x}", "written {argument:type}"),
        ("{x:foo}", "'foo' is no type; types are: path"),
        ("{x:path} to {x:path}", "captured twice"),
        ("[a] [b]", "at least one word"),
        ("", "at least one word"),
    ],
)
def test_a_pattern_that_is_not_well_formed_says_where(pattern, message):
    with pytest.raises(BuildError, match="not well formed") as caught:
        compile_intent(pattern)
    assert message in str(caught.value)


def test_long_or_hostile_texts_take_no_time():
    began = time.perf_counter()
    for text in ("read " + "a" * 1990, "please " * 280, "read " + "." * 1990, "read " + "'" * 1900):
        for pattern in (READ, FIND):
            match_intent(Intent(pattern), text)
    assert match_intent(Intent(READ), "read " + "a" * 100_000) is None
    assert time.perf_counter() - began < 1
