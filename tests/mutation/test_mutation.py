"""The mutants are the conditions of a module, and a condition that nothing shows is a survivor."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent


def _module(name):
    spec = importlib.util.spec_from_file_location(f"pegboard_mutation_{name}", HERE / f"{name}.py")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


mutants = _module("mutants")
equivalent = _module("equivalent")


def changes(tmp_path, source):
    file = tmp_path / "module.py"
    file.write_text(source, encoding="utf-8")
    return {(found.before, found.after) for found in mutants.mutants(file)}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("if a: b()", {("a", "True"), ("a", "False"), ("a", "not a")}),
        ("while a: b()", {("a", "True"), ("a", "False"), ("a", "not a")}),
        ("b if a else c", {("a", "True"), ("a", "False"), ("a", "not a")}),
        ("[x for x in y if x]", {("x", "True"), ("x", "False"), ("x", "not x")}),
        ("a = not b", {("not b", "b")}),
        ("a = b and c", {("b and c", "b"), ("b and c", "c")}),
        ("a = b & c", {("b & c", "b"), ("b & c", "c")}),
        ("a = b | c", {("b | c", "b"), ("b | c", "c")}),
        ("a = b - c", {("b - c", "b")}),
        ("a = b is None", {("b is None", "b is not None")}),
        ("a = b in c", {("b in c", "b not in c")}),
        ("a = b < c", {("b < c", "b >= c"), ("b < c", "b <= c")}),
        (
            "a = b < c < d",
            {
                ("b < c < d", "b >= c < d"),
                ("b < c < d", "b <= c < d"),
                ("b < c < d", "b < c >= d"),
                ("b < c < d", "b < c <= d"),
            },
        ),
        (
            "match a:\n    case 1 if b: c()",
            {("b", "True"), ("b", "False"), ("b", "not b")},
        ),
    ],
)
def test_each_condition_is_taken_out_and_turned_round(tmp_path, source, expected):
    assert changes(tmp_path, source) == expected


@pytest.mark.parametrize(
    "source",
    [
        "def f(a: int | None) -> int | str: ...",
        "a: int | None = None",
        "Rule = Callable[[int], int | None]",
        "Source = str | tuple[str, ...] | Verdict | None",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import x",
        "a = b + c",
    ],
)
def test_what_is_no_condition_at_run_time_is_left_alone(tmp_path, source):
    assert changes(tmp_path, source) == set()


def test_a_mutant_says_where_it_is_and_compiles_to_the_changed_code(tmp_path):
    file = tmp_path / "module.py"
    file.write_text("class A:\n    def f(self, x):\n        return x > 1\n", encoding="utf-8")
    turned = next(m for m in mutants.mutants(file) if m.after == "x <= 1")
    assert (turned.place, turned.line) == ("A.f", 3)
    assert turned.key == "module:A.f: x > 1 -> x <= 1"
    names: dict = {}
    exec(turned.compiled(), names)
    assert names["A"]().f(0) is True
    assert file.read_text("utf-8").endswith("x > 1\n")


PACKAGE = """
LIMIT = 3 if True else 4


def held(number, names):
    if number > LIMIT:
        return False
    return "x" in names


def cached(key, known={}):
    if key not in known:
        known[key] = key * 2
    return known[key]
"""
TESTS = """
from {name}.rules import cached, held


def test_held():
    assert held(3, ["x"])
    assert not held(4, ["x"])
    assert not held(1, [])


def test_cached():
    assert cached(2) == 4
    assert cached(2) == 4
"""
DRIVER = """
import sys
from pathlib import Path

sys.path[:0] = [{here!r}, {folder!r}]
from run import Suite, run

suite = Suite(
    package={name!r},
    folder=Path({folder!r}, {name!r}),
    tests=Path({folder!r}, "tests"),
    equivalent={equivalent!r},
)
result = run(suite, jobs=2, loud=False)
print(result.killed)
print(*sorted(m.key for m in result.survivors), sep="\\n")
print("stale", *result.stale)
print("clean", result.clean)
"""


def ran(tmp_path, tests=TESTS, **equivalent):
    name = "mutated_sample"
    package = tmp_path / name
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "rules.py").write_text(PACKAGE, encoding="utf-8")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_rules.py").write_text(tests.format(name=name), encoding="utf-8")
    driver = DRIVER.format(here=str(HERE), folder=str(tmp_path), name=name, equivalent=equivalent)
    done = subprocess.run(
        [sys.executable, "-c", driver], capture_output=True, text=True, timeout=120, check=False
    )
    return done, done.stdout.splitlines()


CACHE = "rules:cached: key not in known -> True"


def test_what_no_test_notices_survives(tmp_path):
    done, lines = ran(tmp_path)
    assert done.returncode == 0, done.stderr
    assert lines[1:] == [CACHE, "stale", "clean False"]
    assert int(lines[0]) >= 9  # those of the module itself are noticed too
    before = (tmp_path / "mutated_sample" / "rules.py").read_text("utf-8")
    assert before == PACKAGE


def test_what_is_known_to_change_nothing_is_allowed_and_what_is_noticed_is_not(tmp_path):
    done, lines = ran(tmp_path, **{CACHE: "it is only quicker", "rules:held: gone": "old"})
    assert done.returncode == 0, done.stderr
    assert lines[1:] == ["", "stale rules:held: gone", "clean False"]


def test_tests_that_fail_with_nothing_changed_are_told(tmp_path):
    done, _ = ran(tmp_path, tests=TESTS + "\n\ndef test_wrong():\n    assert False\n")
    assert done.returncode == 1
    assert "fail with nothing changed" in done.stderr


def test_what_is_said_to_change_nothing_is_little_and_has_a_reason():
    assert len(equivalent.EQUIVALENT) <= 12
    assert all(len(reason) > 20 for reason in equivalent.EQUIVALENT.values())
