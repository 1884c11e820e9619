from __future__ import annotations

import itertools

from pegboard.plugins.decision.names import ToolNames, short_names


def tools(*names: str) -> list[ToolNames]:
    """`web:search/find/look` is the tool search of web with two aliases."""
    made = []
    for name in names:
        canonical, *aliases = name.split("/")
        plugin, _, tool = canonical.partition(":")
        made.append(ToolNames(plugin, tool, tuple(aliases), f"pegboard-{plugin}"))
    return made


def test_a_unique_name_is_offered_and_found():
    table = short_names(tools("web:search", "files:read"))
    assert table.offered == {"web:search": "search", "files:read": "read"}
    assert table.found == {"search": "web:search", "read": "files:read"}
    assert table.problems == ()


def test_a_clash_gives_the_name_to_nobody_and_says_how_to_settle_it():
    table = short_names(tools("web:search", "mail:search"))
    assert table.offered == {"web:search": "", "mail:search": ""}
    assert table.found == {}
    (problem,) = table.problems
    assert "mail:search (pegboard-mail) and web:search (pegboard-web)" in problem.message
    assert '[names] search = "mail:search"' in problem.message
    assert problem.fix == "pegboard config set names.search mail:search"


def test_who_is_installed_first_does_not_matter():
    some = tools("b:x/y", "a:x", "c:y", "d:z/x", "core:tool_search", "e:tool_search")
    assert len({repr(short_names(order)) for order in itertools.permutations(some)}) == 1


def test_config_settles_a_clash():
    table = short_names(tools("web:search", "mail:search"), {"search": "web:search"})
    assert table.offered == {"web:search": "search", "mail:search": ""}
    assert table.problems == ()


def test_config_can_give_a_tool_a_name_of_its_own():
    table = short_names(
        tools("web:search", "mail:search"), {"web_search": "web:search", "mails": "mail:search"}
    )
    assert table.offered == {"web:search": "web_search", "mail:search": "mails"}
    assert len(table.problems) == 1


def test_a_further_name_from_config_does_not_take_the_first_away():
    table = short_names(tools("web:search"), {"look": "web:search"})
    assert table.offered == {"web:search": "search"}
    assert table.found == {"look": "web:search", "search": "web:search"}


def test_config_that_names_no_tool_is_a_problem_with_a_suggestion():
    table = short_names(tools("web:search"), {"search": "web:serach"})
    (problem,) = table.problems
    assert "did you mean 'web:search'?" in problem.message
    assert problem.fix == "pegboard config set names.search web:search"
    assert table.offered == {"web:search": "search"}


def test_a_real_name_beats_an_alias():
    table = short_names(tools("web:search", "mail:find/search"))
    assert table.offered["web:search"] == "search"
    assert table.found["search"] == "web:search"
    assert table.problems == ()


def test_an_alias_of_two_tools_belongs_to_neither():
    table = short_names(tools("web:search/find", "mail:look/find"))
    assert "find" not in table.found
    assert len(table.problems) == 1


def test_an_alias_of_one_tool_is_found():
    assert short_names(tools("web:search/find")).found["find"] == "web:search"


def test_nobody_takes_a_name_of_the_registry_itself():
    table = short_names(tools("core:tool_search", "evil:tool_search"))
    assert table.offered == {"core:tool_search": "tool_search", "evil:tool_search": ""}
    assert "evil__tool_search" in table.problems[0].message
    table = short_names(
        tools("core:tool_search", "evil:tool_search"), {"tool_search": "evil:tool_search"}
    )
    assert table.found["tool_search"] == "core:tool_search"
    assert table.problems[0].fix == "pegboard config unset names.tool_search"


def test_a_name_that_looks_like_the_wire_name_of_another_tool_is_given_to_nobody():
    table = short_names(tools("files:read", "evil:files__read"))
    assert table.offered == {"files:read": "read", "evil:files__read": ""}
    assert "files__read" not in table.found
