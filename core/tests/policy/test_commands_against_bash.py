"""Bash itself is asked: nothing that it runs is missing among the commands that were found."""

from __future__ import annotations

import itertools
import re
import shutil
import subprocess
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, example, given, settings

from pegboard.policy.inner_commands import inner_commands

BASH = shutil.which("bash")
pytestmark = pytest.mark.skipif(BASH is None, reason="there is no bash")
PROGRAMS = ("p0", "p1", "p2")
# one write for each call, since some run at the same time
LOGS = """#!/bin/sh
said="${0##*/}"
for word in "$@"; do said="$said\x1f$word"; done
printf '%s\\036' "$said" >> "$LOG"
"""
LOG_NUMBERS = itertools.count()

names = st.sampled_from(PROGRAMS)
plain = st.sampled_from(["a", "b.c", "-x", "x=1", "{}", "#", "a#b", "[", "]]", "fi", "done", "="])
quoted = st.sampled_from(
    [
        "'a b'",
        '"a b"',
        "a\\ b",
        "'$(p1 no)'",
        '"\\$(p1 no)"',
        "$'a\\tb'",
        "$'\\x70'1",
        '""',
        "''",
        "a'b'\"c\"",
        "'#'",
        "';'",
        "\\;",
        '"`"\\`"`"',
        "'\\'",
    ]
)
unknown = st.sampled_from(
    [
        "$V",
        '"$V"',
        "${V}",
        "${V:-x}",
        "$IFS",
        "p${IFS}1",
        "{a,b}",
        "*",
        "~",
        "$@",
        '"$@"',
        "$((1+2))",
    ]
)


def substituted(commands):
    return st.one_of(
        commands.map(lambda inner: f"$({inner})"),
        commands.map(lambda inner: f'"$({inner})"'),
        commands.map(lambda inner: f"${{V:-$({inner})}}"),
        commands.map(lambda inner: f"<({inner})"),
        commands.filter(lambda inner: "`" not in inner and "\\" not in inner).map(
            lambda inner: f"`{inner}`"
        ),
    )


def simple(words):
    named = st.one_of(
        names,
        names.map(lambda name: f"{name[0]}''{name[1]}"),
        names.map(lambda name: f"\\{name}"),
        names.map(lambda name: f"{name[0]}\\\n{name[1]}"),
        names.map(lambda name: f'"{name}"'),
        st.just("p$V"),
        st.just("${P}"),
    )
    before = st.sampled_from(
        ["", "V=q ", "V=q W=$V ", "! ", "time ", "command ", "env ", "env A=1 ", "nohup ", "exec "]
    ) | st.sampled_from(["timeout 5 ", "nice -n 5 ", "builtin command ", "'time' ", "2>/dev/null "])
    after = st.sampled_from(["", " > out", " 2>&1", " <<< x", " >| $V.out", " < /dev/null"])
    return st.tuples(before, named, st.lists(words, max_size=3), after).map(
        lambda found: found[0] + " ".join([found[1], *found[2]]) + found[3]
    )


def compound(commands):
    pairs = st.tuples(commands, commands)
    return st.one_of(
        pairs.map("; ".join),
        pairs.map("\n".join),
        pairs.map(" && ".join),
        pairs.map(" || ".join),
        pairs.map(" | ".join),
        pairs.map(" & ".join),
        commands.map(lambda one: f"( {one} )"),
        commands.map(lambda one: f"{{ {one}; }}"),
        commands.map(lambda one: f"if true; then {one}; fi"),
        pairs.map(lambda two: f"if {two[0]}; then {two[1]}; else {two[1]}; fi"),
        commands.map(lambda one: f"for i in a b; do {one}; done"),
        commands.map(lambda one: f"for i do {one}; done"),
        pairs.map(lambda two: f"case a in b) {two[0]};; (a|c) {two[1]} ;; esac"),
        commands.map(lambda one: f"while {one}; false; do :; done"),
        commands.map(lambda one: f"f() {{ {one}; }}; f"),
        commands.map(lambda one: f"function g {{ {one}; }}; g"),
        commands.map(lambda one: f"[[ -n $V ]] || {one}"),
        commands.map(lambda one: f"{one} # p1 no"),
        commands.map(lambda one: f"cat <<E >/dev/null\np1 no\nE\n{one}"),
        commands.map(lambda one: f"cat <<'E' >/dev/null; {one}\n$(p1 no)\nE\n:"),
        commands.map(lambda one: f"eval {quote(one)}"),
        commands.map(lambda one: f"bash -c {quote(one)}"),
        commands.map(lambda one: f"sh -c {quote(one)}"),
        commands.map(lambda one: f"trap {quote(one)} EXIT"),
        commands.map(lambda one: f"shopt -s expand_aliases\nalias p0={quote(one)}\np0"),
        commands.map(lambda one: f"V={quote(one)}; eval $V"),
        commands.map(lambda one: f"echo {quote(one)} | bash"),
        commands.map(lambda one: f"echo x | xargs -I{{}} sh -c {quote(one)}"),
        commands.map(lambda one: f"find . -maxdepth 0 -exec bash -c {quote(one)} \\;"),
    )


def quote(source):
    return "'" + source.replace("'", "'\\''") + "'"


base = simple(plain | quoted | unknown)
sources = st.recursive(
    base,
    lambda inner: compound(inner) | simple(plain | quoted | unknown | substituted(inner)),
    max_leaves=5,
)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bash")
    for name in PROGRAMS:
        (folder / name).write_text(LOGS)
        (folder / name).chmod(0o755)
    (folder / "empty").mkdir()
    return folder


def what_ran(place: Path, source: str) -> list[list[str]]:
    log = place / f"log{next(LOG_NUMBERS)}"
    log.touch()
    shutil.rmtree(place / "empty")
    (place / "empty").mkdir()
    subprocess.run(
        [BASH, "-c", source],
        cwd=place / "empty",
        env={"PATH": f"{place}:/usr/bin:/bin", "LOG": str(log), "V": "1", "P": "p2"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=20,
        check=False,
    )
    calls = log.read_bytes().decode().split("\x1e")[:-1]
    return [call.split("\x1f") for call in calls]


def could_be(command, call):
    """Tell whether a call could be one that was found."""
    pattern = ""
    for word in command.words:
        piece = "".join(".*" if part is None else re.escape(part) for part in word.parts)
        if word.bare.startswith("~"):
            piece = ".*"
        pattern += f"\x1f{piece}" if word.single else "(\x1f.*)?"
    return re.fullmatch(pattern, "\x1f" + "\x1f".join(call), re.DOTALL) is not None


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(sources)
@example("p${IFS}0")
@example("p0${IFS}-rf")
@example("$'\\x70\\x30' a")
@example("p\\\n0 a")
@example("V=p1; $V a")
@example("cat <<E\n$(p1)\nE")
@example("cat <<E >/dev/null\na\\\nE\nit's\nE\np1\n: '")
@example("echo $(cat <<E)\np1\nE")
@example("set -o history; set -H\np0\n!!:s/p0/p1/")
@example("a='x[$(p1)]'; ((a))")
@example("a='x[$(p1)]'; echo ${b[a]}")
@example("a='x[$(p1)]'; [[ a -eq 1 ]]")
@example("a='$(p1)'; echo ${a@P}")
@example("test -v 'x[$(p1)]'")
@example("printf -v 'x[$(p1)]' a")
@example("read 'x[$(p1)]' <<< a")
@example("declare -i x='y[$(p1)]'")
@example("declare -n r='y[$(p1)]'; echo $r")
@example("PS4='$(p1)'; set -x; p0")
@example("exec {fd}>out p1")
@example("2>out p1")
@example("sh -c '[[ a || p1 ]]'")
@example("sh -c 'echo $'\"'\"'\\'\"'\"'; p1 #'\"'\"''")
@example("mapfile -C p1 -c 1 a <<< x")
@example('hash -p "$(command -v p1)" ls; ls')
@example("env -S 'p1 a'")
@example("case x in x) p1 ;; esac")
@example("p0 `p1 \\`p2\\``")
@example("f() { p1; }; trap f EXIT")
def test_nothing_that_bash_runs_is_missing(place, source):
    found = inner_commands(source)
    if found.unclear:
        return
    for call in what_ran(place, source):
        assert any(could_be(command, call) for command in found.commands), (source, call)


@pytest.mark.parametrize(
    "source",
    ["p0 'a b'; p1 | p2", 'bash -c "cd / && p0"', "for i in a b; do p1 $i; done", "p0 $(p1)"],
)
def test_bash_is_really_asked(place, source):
    assert what_ran(place, source)
    assert inner_commands(source).unclear == ""
