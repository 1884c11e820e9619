"""Aliases of tool names: fit for every provider, stable, reversible."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from pegboard.providers.tool_names import ToolNames, alias

FIT = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")


def test_a_name_that_is_fit_stays_as_it_is() -> None:
    assert alias("file_read") == "file_read"
    assert alias("mcp__server__tool-2") == "mcp__server__tool-2"


def test_a_long_name_keeps_its_beginning() -> None:
    name = "mcp__server__" + "x" * 100
    assert alias(name).startswith("mcp__server__xxx")
    assert len(alias(name)) == 64


@given(st.lists(st.text(min_size=1, max_size=100), unique=True, max_size=20))
def test_every_name_has_an_alias_of_its_own_and_comes_back(names: list[str]) -> None:
    aliases = ToolNames(names)
    made = [aliases.alias(name) for name in names]
    assert len(set(made)) == len(names)
    assert all(FIT.fullmatch(short) for short in made)
    assert [aliases.name(short) for short in made] == names


def test_an_alias_does_not_depend_on_what_else_is_declared() -> None:
    assert ToolNames(["a.b", "a:b"]).alias("a.b") == ToolNames(["a.b"]).alias("a.b")


def test_a_name_that_looks_like_the_alias_of_another_is_told_apart() -> None:
    taken = alias("a.b")
    names = ToolNames(["a.b", taken])
    assert {names.name(names.alias(name)) for name in ("a.b", taken)} == {"a.b", taken}


def test_a_name_that_nobody_declared_comes_back_as_it_is() -> None:
    assert ToolNames(["a"]).name("b") == "b"
