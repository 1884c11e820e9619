"""Each filter by itself: what it leaves out, and what it leaves alone."""

from __future__ import annotations

import pytest

from pegboard.contracts.caller import Caller, ToolFilter
from pegboard.contracts.tool import RegisteredTool, ToolSpec
from pegboard.policy.decide import decide
from pegboard.policy.snapshot import OPEN_POLICY

OPERATOR = Caller(trust="operator", origin="person")


def tool(name="t", kind="tool", offered=None, **facts):
    spec = ToolSpec(name=name, effects=frozenset({"read"}), **facts)
    return RegisteredTool(
        spec, "p", kind=kind, first_party=True, name=name if offered is None else offered
    )


def passes(filter, found):
    return decide(OPEN_POLICY, OPERATOR, found, filter=filter).allowed


@pytest.mark.parametrize(
    ("kind", "allowed"), [("all", {"tool", "skill"}), ("tool", {"tool"}), ("skill", {"skill"})]
)
def test_one_kind_or_all_are_kept(kind, allowed):
    found = {name for name in ("tool", "skill") if passes(ToolFilter(kind=kind), tool(kind=name))}
    assert found == allowed


@pytest.mark.parametrize("name", ["t", "offered", "p:t", "alias"])
def test_any_of_its_names_leaves_a_tool_out(name):
    found = tool(offered="offered", aliases=("alias",))
    assert not passes(ToolFilter(excluded_names=frozenset({name, "x"})), found)


def test_the_wire_name_of_a_nameless_tool_leaves_it_out():
    nameless = tool(offered="")
    assert not passes(ToolFilter(excluded_names=frozenset({"p__t"})), nameless)


def test_what_no_list_names_is_left_alone():
    assert passes(ToolFilter(excluded_names=frozenset({"x", "q:t"})), tool())
    assert passes(ToolFilter(excluded_names=frozenset({""})), tool(offered=""))
    assert passes(ToolFilter(excluded_categories=frozenset({"other"})), tool())


def test_an_empty_name_allows_nothing():
    assert not passes(ToolFilter(allowed_tools=frozenset({""})), tool(offered=""))


def test_a_tool_is_allowed_by_the_name_that_it_is_offered_under():
    found = tool(offered="offered")
    assert passes(ToolFilter(allowed_tools=frozenset({"offered"})), found)
    assert not passes(ToolFilter(allowed_tools=frozenset({"t"})), found)
