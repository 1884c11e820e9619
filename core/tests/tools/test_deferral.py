from __future__ import annotations

import pytest

from pegboard.contracts.tool import RegisteredTool
from pegboard.tools.core_specs import TOOL_CALL, TOOL_DESCRIBE, TOOL_HELP, TOOL_SEARCH
from pegboard.tools.deferral import Deferral, declaration_of, tokens_of

LONG = "x" * 4_000  # about 1,000 tokens


@pytest.fixture
def many(plain):
    def named(name, plugin, **facts):
        tool = plain(name, plugin, description=LONG, **facts)
        return RegisteredTool(tool.spec, plugin, tool.kind, tool.first_party, {}, name)

    return {
        "core": [
            RegisteredTool(spec, "core", first_party=True, name=spec.name)
            for spec in (TOOL_SEARCH, TOOL_DESCRIBE, TOOL_CALL, TOOL_HELP)
        ],
        "files": [named(f"file_{n}", "files", first_party=True) for n in range(3)],
        "git": [named(f"git_{n}", "git", first_party=True) for n in range(3)],
        "third": [named(f"third_{n}", "acme") for n in range(3)],
        "mcp": [named(f"mcp_{n}", "mcp", kind="mcp", first_party=True) for n in range(3)],
    }


def declared(tools, over, **options):
    offered = [tool for group in tools.values() for tool in group]
    result = Deferral(over_tokens=over).declared(offered, **options)
    names = {tool.name for tool in result.tools}
    shown = {group for group, items in tools.items() if any(t.name in names for t in items)}
    assert result.tokens == sum(tokens_of(tool) for tool in result.tools)
    return shown, result


@pytest.mark.parametrize(
    ("over", "shown"),
    [
        (20_000, {"core", "files", "git", "third", "mcp"}),
        (12_000, {"core", "files", "git", "third"}),
        (8_000, {"core", "files", "git"}),
        (5_000, {"core", "files"}),
        (100, {"core", "files"}),
    ],
)
def test_mcp_tools_are_deferred_first_then_third_parties_then_first_parties(many, over, shown):
    found, result = declared(many, over)
    assert found == shown
    offered = [tool.name for group in many.values() for tool in group]
    assert sorted([*(tool.name for tool in result.tools), *result.deferred]) == sorted(offered)


def test_what_was_found_is_declared(many):
    _, result = declared(many, 100, added=frozenset({"mcp_1", "acme:third_0"}))
    names = {tool.name for tool in result.tools}
    assert {"mcp_1", "third_0"} <= names
    assert "mcp_0" in result.deferred
    assert "mcp_1" not in result.deferred


def test_a_tool_that_is_deferred_by_itself_is_declared_once_it_was_found(plain):
    tool = plain("rare", exposure="deferred")
    chooser = Deferral()
    assert chooser.declared([tool]).tools == ()
    assert chooser.declared([tool]).deferred == ("demo__rare",)
    assert chooser.declared([tool], added={"demo__rare"}).tools == (declaration_of(tool),)


def test_without_search_everything_is_declared_and_nothing_searches(many):
    offered = [tool for group in many.values() for tool in group]
    result = Deferral(over_tokens=100, search=False).declared(offered)
    names = {tool.name for tool in result.tools}
    assert len(names) == 13
    assert "tool_search" not in names
    assert "tool_help" in names
    assert result.deferred == ()


def test_a_declaration_says_what_a_model_needs(many):
    tool = declaration_of(many["core"][0])
    assert tool.name == "tool_search"
    assert tool.parameters["required"] == ["query"]


def test_a_changed_tool_is_measured_again(plain):
    chooser = Deferral()
    small = chooser.declared([plain("t", description="x")]).tokens
    large = chooser.declared([plain("t", description=LONG)]).tokens
    assert large > small + 900


def test_half_a_character_in_one_description_costs_no_request(plain):
    declaration_of(plain("t", description="half \ud83e of it")).description.encode()


def test_tools_that_came_and_went_are_forgotten(plain):
    deferral = Deferral()
    for number in range(3_000):
        deferral.declared([plain(f"t{number}")])
    assert len(deferral._known) < 2_000
