"""Patterns over shell source: a question looks for any command, a permission at every one."""

from __future__ import annotations

import pytest

from pegboard.policy.command_match import could_run, must_run
from pegboard.policy.patterns import Pattern


def could(pattern, source):
    return could_run((Pattern(pattern),), source)


def must(patterns, source):
    return must_run(tuple(map(Pattern, patterns.split("; "))), source)


@pytest.mark.parametrize(
    "source",
    [
        "rm -rf x",
        "ls; rm -rf x",
        "sh -lc 'cd /x && rm -rf y'",
        "echo $(rm -rf x)",
        "/bin/rm -rf x",
        "./rm -rf x",
        "\\rm -rf x",
        "r''m -rf x",
        "r\\\nm -rf x",
        "sudo rm -rf x",
        "env A=1 nohup timeout 5 rm -rf x",
        "A=1 rm -rf x",
        "rm -rf x > log",
        "find . -exec rm -rf {} +",
        "ls | xargs rm -rf",
        "eval 'rm -rf x'",
        "f() { rm -rf x; }; f",
        "rm $flags x",
        "rm -rf $x",
        "rm -rf *",
        "rm${IFS}-rf${IFS}x",
        "$cmd",
        "alias ls='rm -rf'; ls",
        "echo cm0gLXJm | base64 -d | sh",
        "ls 'x",
        ("rm", "-rf", "x"),
        ("bash", "-c", "rm -rf x"),
    ],
)
def test_a_command_is_found_however_it_is_wrapped(source):
    assert could("rm -rf *", source)
    assert could("re:rm\\s+-rf", source)


@pytest.mark.parametrize(
    "source",
    ["ls", "echo 'rm -rf x'x", "rmdir x", "git rm x", "ls # rm -rf x", "rm x", "echo rm-rf"],
)
def test_another_command_is_none(source):
    assert not could("rm -rf *", source)


@pytest.mark.parametrize(
    ("pattern", "source", "expected"),
    [
        ("rm", "rm -rf x", True),  # a program's name stands for every call of it
        ("rm", "/bin/rm x", True),
        ("/bin/rm", "/bin/rm x", True),
        ("rm", "ls rm", False),
        ("A=1 b *", "A=1 b c", True),
        ("A=*", "A=1", True),
        ("b c", "A=1 b c", True),
        ("* > /etc/*", "echo a > /etc/x", True),
        ("> x", "> x", True),
        ("echo a", "echo a > x", True),
        ("cat /etc/*", "cat /x/../etc/passwd", True),
        ("cat /etc/*", "cat ~/../etc", True),
        ("/bin/cat /etc/*", "/bin/cat /x/../etc/passwd", True),
        ("cat ~/a", "cat ~/a", True),
        ("cat /home/me", "cat ~", True),
        ("cat /home/me/q/b", "cat ~/$x/b", True),
        ("cat /home/me/a", "cat ~/a", True),
        ("cat /home/me/a", "cat ~/b", False),
        ("cat /home/*", "cat ~", True),
        ("cat /home/me/a", "cat ~/$x", True),
        ("cat */a", "cat '~'/a", True),
        ("cat /*/a", "cat '~'/a", False),
        ("curl * | sh", "curl x | sh", True),
        ("re:curl.*\\| *sh", "curl x | sh -e y", True),
        ("git push*", "git $x", True),
        ("git push*", "git $x $y", True),
        ("git push*", "ls $x", False),
        ("re:push", "ls $x", True),
        ("b c", ("b", "c"), True),
        ("x y", ("sh", "-c", "x y"), True),
    ],
)
def test_a_question_looks_at_commands_in_every_way_they_can_be_meant(pattern, source, expected):
    assert could(pattern, source) is expected


@pytest.mark.parametrize(
    ("patterns", "source", "expected"),
    [
        ("git status", "git status", True),
        ("git status", "git  status # x", True),
        ("git status", "git 'status'", True),
        ("git status", "git status -s", False),
        ("git *", "git status -s", True),
        ("git *", "git", True),
        ("git * *", "git", False),
        ("git * *", "git log", True),
        ("git log *", "git status", False),
        ("git", "git status", False),
        ("*", "a b", True),
        ("*", "a; b c", True),
        ("*", "a > b", False),
        ("*", "a $b", True),
        ("*", "$a", False),
        ("", "a", False),
        ("./scripts/*", "./scripts/x", True),
        ("./scripts/*", "./scripts/x a", False),
        ("./scripts/* *", "./scripts/x a b", True),
        ("./scripts/*", "./scripts/../x", False),
        ("./scripts/*", "scripts/x", False),
        ("./scripts/*", "sh -lc 'cd x && ./scripts/x'", False),
        ("cd *; ./scripts/*", "sh -lc 'cd x && ./scripts/x'", True),
        ("cd *; ./scripts/*", "sh -lc 'cd x && ./scripts/x; rm y'", False),
        ("rm *", "/tmp/rm x", False),
        ("rm *", "sudo rm x", False),
        ("rm *; sudo *", "sudo rm x", True),
        ("rm *", "timeout 5 rm x", True),
        ("rm *", "./timeout 5 rm x", False),
        ("make *", "FOO=1 make x", False),
        ("FOO=* make *", "FOO=1 make x", True),
        ("make *", "FOO=1; make x", False),
        ("FOO=*; make *", "FOO=1; make x", True),
        ("echo *", "echo a > b", False),
        ("echo *", "echo a > /dev/null 2>&1", True),
        ("cat *", "cat < a", False),
        ("re:echo .*", "echo a > b", True),
        ("re:echo \\w+", "echo a > b", False),
        ("re:echo a > .*", "echo a > $x", False),
        ("cat docs/*", "cat docs/a", True),
        ("cat docs/*", "cat docs/../a", False),
        ("cat docs/*", "cat docs/a /etc/passwd", False),
        ("cat docs/*", "cat docs/$x", False),
        ("cat *", "cat $x", True),
        ("cat * a", "cat $x a", False),
        ("cat * a", 'cat "$x" a', True),
        ("cat x*", 'cat "$x"', False),
        ("git add *", "git add *.py", True),
        ("cat ~/*", "cat ~/a", True),
        ("re:git commit -m .*", "git commit -m 'a b'", True),
        ("re:git commit -m 'a b'", "git commit -m 'a b'", True),
        ("re:git commit -m a b", "git commit -m 'a b'", False),
        ("re:git show HEAD~1", "git show HEAD~1", True),
        ("re:a ''", "a ''", True),
        ("re:git .*", "git $x", False),
        ("re:git .*", "git a $x", False),
        ("re:git a'b", "git a\\'b", False),
        ("re:git a.*b", "git a\\'b", False),
        ("re:git", "git status", False),
        ("echo *", "echo $(rm x)", False),
        ("echo *; rm *", "echo $(rm x)", True),
        ("git status", "git status; git status", True),
        ("git status", "$x", False),
        ("git status", "git status; $x", False),
        ("git status", "git status 'x", False),
        ("git status", "# git status", False),
        ("a b", ("a", "b"), True),
        ("a *", ("a", "b; c"), True),
    ],
)
def test_a_permission_looks_at_every_command(patterns, source, expected):
    assert must(patterns, source) is expected
