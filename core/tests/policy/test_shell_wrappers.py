"""What a command is told to run by its arguments, and where that can't be told."""

from __future__ import annotations

import shlex

import pytest

from pegboard.policy.inner_commands import inner_commands


def shown(words):
    texts = ["".join("?" if part is None else part for part in word.parts) for word in words]
    return " ".join(text + "+" * (not word.single) for text, word in zip(texts, words, strict=True))


def others(source):
    """Return the commands that the first one is told to run."""
    found = inner_commands(source)
    assert found.unclear == "", found
    return [shown(command.words) for command in found.commands[1:]]


def carries(source):
    found = inner_commands(source)
    assert found.unclear == "", found
    return found.commands[0].carries


@pytest.mark.parametrize(
    ("source", "expected"),
    {
        "nohup a b": ["a b"],
        "nohup A=1 b": ["A=1 b"],
        "nice a": ["a"],
        "nice -n 5 a": ["a"],
        "nice -n5 -5 a": ["a"],
        "nice --adjustment=5 a": ["a"],
        "ionice -c 2 -n 7 -t a": ["a"],
        "timeout 5 a b": ["a b"],
        "timeout -k 5 -s KILL --foreground 10 a": ["a"],
        "timeout --signal=KILL --kill-after=5 10 a": ["a"],
        "timeout --signal= 5 a": ["a"],
        "'time' -p a": ["a"],
        "/usr/bin/time -f %e a": ["a"],
        "stdbuf -oL -i 0 a": ["a"],
        "setsid -w a": ["a"],
        "command -p a": ["a"],
        "command -v a": ["a"],
        "builtin a b": ["a b"],
        "exec a": ["a"],
        "exec -a x -c a": ["a"],
        "exec": [],
        "env a": ["a"],
        "env": [],
        'env -i -u X - A=1 "B=$x" a b': ["a b"],
        "env A=1": [],
        "env -C /x a": ["a"],
        "env -- a": ["a"],
        "sudo a": ["a"],
        "sudo -u x -E A=1 a b": ["a b"],
        "sudo -ux --user=y a": ["a"],
        "doas -u x a": ["a"],
        "nohup nice timeout 5 env sudo a": [
            "nice timeout 5 env sudo a",
            "timeout 5 env sudo a",
            "env sudo a",
            "sudo a",
            "a",
        ],
        "xargs a b": ["a b ?+"],
        "xargs -0 -n 1 -P4 a": ["a ?+"],
        "xargs -I {} a {} b": ["a ? ?"],
        "xargs -I% a x%": ["a ?"],
        "xargs": [],
        "xargs -r": [],
        "xargs -I {}": [],
        "sh -c a": ["a"],
        "bash -lc 'a; b'": ["a", "b"],
        "/bin/sh -ec a x y": ["a"],
        "bash -eu -o pipefail -c a": ["a"],
        "bash -xeuo pipefail -c a": ["a"],
        "bash --norc --noprofile -c a": ["a"],
        "bash -c -- a": ["a"],
        "bash -c -e a": ["a"],
        "bash +e -c a": ["a"],
        "dash -c a": ["a"],
        "ash -c a": ["a"],
        "bash x.sh a": [],
        "bash -e x.sh": [],
        "sh - x.sh": [],
        "eval a": ["a"],
        "eval 'a;' b": ["a", "b"],
        "eval": [],
        "trap 'a; b' EXIT": ["a", "b"],
        "trap -- a EXIT": ["a"],
        "trap - EXIT": [],
        "trap '' INT": [],
        "trap -p": [],
        "trap a": ["a"],
        "trap -l": [],
        "trap": [],
        "find . -name '*.c' -exec a {} \\;": ["a ?"],
        "find . -exec a x{} b \\; -execdir c {} +": ["a ? b", "c ?"],
        "find . -ok a \\; -okdir b \\;": ["a", "b"],
        "find . -exec a + b {} +": ["a + b ?"],
        'find "$x" -name a': [],
        'find . -exec a "$x" {} \\;': ["a ? ?"],
        "find": [],
        "read -r a b": [],
        "unset a": [],
        "mapfile -t a": [],
        "export A=$b B": [],
        "export": [],
        "declare -x A=1": [],
        "declare +x A": [],
        "local a=$b": [],
        "readonly -p": [],
        "printf '%s' $a": [],
        "printf -- a": [],
        "printf": [],
        'test -n "$a"': [],
        '[ "$a" = "$b" ]': [],
        '[ "$a" ]': [],
        "[ a -nt b ]": [],
        "set -euxo pipefail": [],
        "set -e +u -- -H $a": [],
        "set a -H": [],
        "set - -H": [],
        "set": [],
        "set -o": [],
        "shopt -s nullglob": [],
        "hash -r": [],
        "hash a p": [],
        "git -c a=b log": [],
        "python -c 'a'": [],
        "./nohup.sh a": [],
    }.items(),
)
def test_what_a_command_is_told_to_run_is_found(source, expected):
    assert others(source) == expected


@pytest.mark.parametrize(
    "source",
    [
        "$a b",
        "nohup $a",
        "nice -x a",
        "nice -n",
        "nice -n $x a",
        "timeout $x a",
        "timeout 5 $a",
        "timeout -x 5 a",
        "stdbuf --error a",
        "env -S 'a b'",
        "env $a b",
        "env A=1 $b",
        "env A=$b c",
        "env -- $a",
        "nohup A=1 b $c; $d",
        "sudo -i",
        "sudo -s a",
        "sudo --user x a",
        "xargs -i a",
        "xargs -I {} {}",
        "xargs -I {} ./{} a",
        "xargs -Irm rm -rf",
        "xargs -I {} sh -c {}",
        "xargs sh -c",
        "bash",
        "sh -",
        "sh --",
        "bash -s",
        "bash -c",
        "bash -c $a",
        'bash -c "$a"',
        "bash -ic a",
        "bash -O expand_aliases -c a",
        "bash -o history -c a",
        "bash -o histexpand -c a",
        "bash -co pipefail a",
        "bash --rcfile x -c a",
        "bash --init-file x",
        "bash $a",
        "eval $a",
        "trap $a EXIT",
        'trap "$a" EXIT',
        "trap -- $a EXIT",
        "find $a",
        "find . *",
        "find . -exec $a \\;",
        "find . -exec {} \\;",
        "find . -exec a",
        "find . -exec a + b",
        "read 'a[$(b)]'",
        "read $a",
        "unset 'a[b]'",
        "mapfile -C a b",
        "readarray -Ca b",
        "getopts $a b",
        "wait $a",
        "declare -i a=b",
        "declare -n a=b",
        "declare +n a",
        "declare 'a[b]=c'",
        "export $a",
        "export a$b",
        'local "$a"',
        "typeset a-b",
        "printf -v a b",
        "printf -va b",
        "printf $a",
        "test -v a",
        "[ -v a ]",
        "[ -R a ]",
        "[ $a ]",
        "[ a = $b ]",
        '[ "$a" "$b" ]',
        "[ \"$a\" 'b[c]' ]",
        "set -H",
        "set -e -H",
        "set +H",
        "set -o history",
        "set -o histexpand",
        "set -eo $a",
        "set $a",
        "shopt -s expand_aliases",
        "shopt -s extglob",
        "shopt $a",
        "hash -p a b",
        "hash $a",
        *(f"{name} a" for name in ("alias", "zsh", "fish", "busybox", "su", "parallel", "watch")),
        *(f"{name} a" for name in ("let", "enable", "bind", "complete", "fc", "strace", "flock")),
        "/usr/bin/script a",
    ],
)
def test_where_that_can_not_be_told_it_is_said(source):
    assert inner_commands(source).unclear


@pytest.mark.parametrize(
    "source",
    ["nohup a", "timeout 5 a", "env a", "sh -c a", "eval a", "trap a EXIT", "xargs a", "exec a"],
)
def test_what_only_carries_another_command_is_marked(source):
    assert carries(source)
    for place in ("/bin/", "/usr/bin/", "/sbin/", "/usr/sbin/", "/usr/local/bin/"):
        assert carries(place + source)
    for place in ("./", "/tmp/", "/opt/bin/"):
        assert not carries(place + source)


@pytest.mark.parametrize(
    "source",
    [
        "sudo a",
        "doas a",
        "env A=1 a",
        "env -C /x a",
        "env --chdir=/x a",
        "env",
        "find . -exec a \\;",
        "bash x.sh",
        "trap - EXIT",
        "printf a",
        "git status",
    ],
)
def test_what_does_more_than_that_is_not(source):
    assert not carries(source)


def test_the_shell_that_reads_a_source_is_the_one_that_was_named():
    assert others("bash -c '[[ a ]] && b'") == ["b"]
    assert inner_commands("sh -c '[[ a ]] && b'").unclear
    inner = shlex.quote("eval '[[ a ]] && b'")
    assert others(f"bash -c {inner}")[-1] == "b"
    assert inner_commands(f"sh -c {inner}").unclear
    assert inner_commands(f"sh -c {shlex.quote('nohup bash -c b')}").unclear == ""
    trapped = shlex.quote("trap '[[ a ]]' EXIT")
    assert inner_commands(f"sh -c {trapped}").unclear
