"""Which commands are found inside of shell source, and where it is said that there may be more."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from pegboard.policy.inner_commands import LONGEST, inner_commands


def shown(command):
    """Return a command as text; `?` stands for a piece that is not known, `+` for several words."""
    words = [
        "".join("?" if part is None else part for part in word.parts) + "+" * (not word.single)
        for word in (*command.assignments, *command.words)
    ]
    words += [f"{sign}{file.text or '?'}" for sign, file in command.redirections]
    return " ".join(words)


def commands(source):
    found = inner_commands(source)
    assert found.unclear == "", found
    return [shown(command) for command in found.commands if not command.carries]


@pytest.mark.parametrize(
    ("source", "expected"),
    {
        "": [],
        "  \n ;; ".replace(";;", ""): [],
        "git status": ["git status"],
        "a; b;c & d && e || f | g |& h": list("abcdefgh"),
        "a\nb\n\n  c": ["a", "b", "c"],
        "a # rm x\nb": ["a", "b"],
        "a#b c#d # e": ["a#b c#d"],
        "! a": ["a"],
        "(a; b) && { c; d; }": list("abcd"),
        "( (a) )": ["a"],
        "echo $(a; b $(c)) `d; e`": ["a", "c", "b ?+", "d", "e", "echo ?+ ?+"],
        'echo "x $(a) `b` y"': ["a", "b", "echo x ? ? y"],
        'echo "a \\$(b) \\` c"': ["echo a $(b) ` c"],
        "echo '$(a) `b`'": ["echo $(a) `b`"],
        "echo `a \\`b\\``": ["b", "a ?+", "echo ?+"],
        'echo `a \\"b`': ['a "b', "echo ?+"],
        'echo "`a \\"b\\"`"': ["a b", "echo ?"],
        "diff <(a) >(b)": ["a", "b", "diff ? ?"],
        "a x<(b)y": ["b", "a x?y"],
        "a=1 b": ["a=1 b"],
        "a=1": ["a=1"],
        "a= b": ["a= b"],
        "a+=1 b=2 c d=3": ["a+=1 b=2 c d=3"],
        "a=$(b) c": ["b", "a=?+ c"],
        "x=(a $(b)\n c # d\n) e": ["b", "x=? e"],
        "if a; then b; elif c; then d; else e; fi": list("abcde"),
        "while a; do b; done; until c; do d; done": list("abcd"),
        "for x in a $(b) c; do d; done": ["b", "d"],
        "for x in <(a); do b; done": ["a", "b"],
        "for x; do a; done": ["a"],
        "for x\ndo a; done": ["a"],
        "for x do a; done": ["a"],
        "select x in a b; do c; done": ["c"],
        "case x in a) b;; (c|d) e;& f) g;;& *) h ;; esac; i": ["b", "e", "g", "h", "i"],
        "case $(a) in\n b) c\n esac": ["a", "c"],
        "case x in a) case y in b) c;; esac;; esac": ["c"],
        "case x in esac": [],
        "case x in 'esac') a;; esac": ["a"],
        "case x in (esac) a;; esac": ["a"],
        "case x\nin a) b;; esac": ["b"],
        "echo $(case x in a) b;; esac)": ["b", "echo ?+"],
        "f() { a; }; f": ["a", "f"],
        "f () { a; }": ["a"],
        "function f { a; }": ["a"],
        "function f () { a; }": ["a"],
        "time a": ["a"],
        "time -p a": ["a"],
        "time -- a": ["a"],
        "[[ -f a && $b == c ]] && d": ["d"],
        "[[ $a =~ (b|c) ]]; d": ["d"],
        "[[ a < $(b) ]]\nc": ["b", "c"],
        "[[ a == <(b) ]]": ["b"],
        "[[\na ]] && b": ["b"],
        "((1 + 2 * (3))) || a": None,
        "((1 + 2)) && a": ["a"],
        "echo $((1 + 2))": ["echo ?"],
        "a > b 2>c >>d": ["a >b >c >>d"],
        "a >|b <>c &>d &>>e": ["a >|b <>c &>d &>>e"],
        "a < b": ["a <b"],
        "a >& b": ["a >&b"],
        "a >& $b": ["a >&?"],
        "a > 1": ["a >1"],
        "a 2>&1 >&2 <&0 >&- 2>/dev/null": ["a"],
        "a >/dev/null >/dev/stdout >/dev/stderr": ["a"],
        "a > $(b)": ["b", "a >?"],
        "a > <(b)": ["b", "a >?"],
        "> a": [">a"],
        "2>a b": ["b >a"],
        "{fd}>a b": ["b >a"],
        "a 2 > b": ["a 2 >b"],
        '"2">a b': ["2 b >a"],
        "a b>c": ["a b >c"],
        "> f if a": ["if a >f"],
        "(a) > b": ["a", ">b"],
        "a <<< $(b)": ["b", "a"],
        "cat <<E\nx y\nE\na": ["cat", "a"],
        "cat <<'E'\n$(a)\n`b`\\\nE\nc": ["cat", "c"],
        "cat <<\\E; a\n$b\nE\nc": ["cat", "a", "c"],
        "cat <<-E\n\tx\n\tE\na": ["cat", "a"],
        "cat <<E\n\tE\nE\na": ["cat", "a"],
        "cat <<A <<B\nx\nA\ny\nB\na": ["cat", "a"],
        "cat <<E\nE": ["cat"],
        "cat <<E\n\nE\na": ["cat", "a"],
        "$(a)$(b)": None,
    }.items(),
)
def test_everything_that_a_shell_would_run_is_found(source, expected):
    if expected is None:
        assert inner_commands(source).unclear
    else:
        assert commands(source) == expected


@pytest.mark.parametrize(
    "source",
    [
        "a; $b",
        "a 'b",
        'a "b',
        "a `b",
        "a $(b",
        "(a",
        "a)",
        "echo $(a))",
        "a >",
        "a > ; b",
        "a <<",
        "a <<$b",
        "a <<$b\nx\n$b\nc",
        "a <<E\nx",
        "a <<E",
        "a <<E\n$b\nE",
        "a <<E\n`b`\nE",
        "a <<E\nb\\\nE\nc\nE",
        "echo $(a <<E)\nb\nE",
        "cat <<E $(a\n)\nE",
        "cat <<E $(a\nE\n)",
        "case x",
        "case x on a) b;; esac",
        "case x in a b;; esac",
        "case x in a) b",
        "a;; b",
        "a;; b) c",
        "a ;& b",
        "esac",
        "for x on a; do b; done",
        "for x in a | b; do c; done",
        "for ((i=0;;)); do a; done",
        "coproc a",
        "time -x a",
        "function f ( a )",
        "f x() { a; }",
        "f(x) { a; }",
        "echo !(a)",
        "[[ a",
        "[[ a -eq b ]]",
        "[[ -v a ]]",
        "((a))",
        "((1; a",
        "echo $((a))",
        "echo $((1",
        "x=([a]=b)",
        "x=(a; b)",
        "x=(a",
        "x='b'(a)",
        "PS4=a b",
        "BASH_ENV=a",
        "ENV=a b",
        "PROMPT_COMMAND=a",
        "SHELLOPTS=a b",
        "a\0b",
        "a" * (LONGEST + 1),
        "( " * 17 + "a" + ")" * 17,
        "$(" * 17 + "a" + ")" * 17,
        "( " * 5000 + ")" * 5000,
        "echo " + "$( " * 4000 + ")" * 4000,
        "; ".join(["a"] * 501),
        "a \\",
    ],
)
def test_where_it_can_not_be_told_that_is_said(source):
    assert inner_commands(source).unclear


@pytest.mark.parametrize(
    "source",
    [
        "a" * LONGEST,
        "( " * 16 + "a" + ")" * 16,
        "; ".join(["a"] * 500),
        "MYPS4=a b",
        "PS=a",
        "ENVY=a",
    ],
)
def test_bounds_and_names_are_met_exactly(source):
    assert inner_commands(source).unclear == ""


def test_what_carries_another_command_is_marked():
    (shell, inner) = inner_commands("sh -c 'a b'").commands
    assert (shell.carries, inner.carries) == (True, False)
    for source in ("sh -c a > b", "x=1 sh -c a"):
        assert not inner_commands(source).commands[0].carries


def test_what_is_quoted_sets_no_variable():
    for source in ('"A"B=1 c', "A'B'=1 c", "\\A=1 c"):
        assert inner_commands(source).commands[0].assignments == ()
    assert inner_commands('AB="1" c').commands[0].assignments != ()


def test_a_list_of_words_is_one_command():
    assert commands(("git", "log", "$(x)", "a; b")) == ["git log $(x) a; b"]
    assert commands(("bash", "-c", "a; b")) == ["a", "b"]
    assert inner_commands(()).commands == ()


@pytest.mark.parametrize(
    "source",
    [
        "[[ a ]]",
        "((1))",
        "echo $'a'",
        'echo $"a"',
        "a &>b",
        "a <(b)",
        "a <<<b",
        "x=(a)",
        "{fd}>a b",
        "function f { a; }",
        "select x in a; do b; done",
        "coproc a",
    ],
)
def test_what_only_bash_knows_is_not_clear_in_the_source_of_another_shell(source):
    quoted = source.replace("'", "'\\''")
    assert inner_commands(f"sh -c '{quoted}'").unclear
    assert inner_commands(f"dash -c '{quoted}'").unclear
    assert inner_commands(f"sh -c 'eval \"{source}\"'").unclear


def test_what_all_shells_know_is_clear_in_the_source_of_another_one():
    assert commands("sh -c 'echo $((1 + 2)); a \"$(b)\" | c'") == ["echo ?", "b", "a ?", "c"]
    assert commands("sh -c 'echo `a`'") == ["a", "echo ?+"]


def test_source_inside_of_source_is_followed_so_far_and_no_further():
    assert commands("eval " * 16 + "a") == ["a"]
    assert inner_commands("eval " * 17 + "a").unclear
    assert commands("nohup " * 16 + "a") == ["a"]
    assert inner_commands("nohup " * 17 + "a").unclear


@settings(max_examples=500, deadline=None)
@given(st.text("ab =;&|()<>{}[]$`'\"\\\n#*?!~@-+:%/,.01\0\ud800é", max_size=40))
def test_no_source_breaks_the_reader(source):
    found = inner_commands(source)
    wrapped = inner_commands(("bash", "-c", source))
    assert bool(wrapped.unclear) >= bool(found.unclear)
