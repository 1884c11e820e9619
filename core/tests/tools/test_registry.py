from __future__ import annotations

import pytest

from pegboard.contracts.caller import NO_FILTER, ToolFilter
from pegboard.contracts.errors import PluginError, UsageError
from pegboard.contracts.tool import Needs, ToolSpec
from pegboard.plugins.decision.state import PluginRecord, State
from pegboard.plugins.declaration import tool
from pegboard.plugins.discovery.manifest import Manifest
from pegboard.plugins.discovery.scan import FoundPlugin
from pegboard.policy.snapshot import OPEN_POLICY, PolicySnapshot
from pegboard.tools.function_tool import FunctionTool
from pegboard.tools.registry import Registry


def record(plugin, *tools, state=State.READY, first_party=False, found=None):
    manifest = Manifest(plugin, tools=tuple(tools))
    found = FoundPlugin(
        plugin, f"pegboard_{plugin}.plugin:plugin", f"pegboard-{plugin}", "1.0", None, ()
    )
    return PluginRecord(found, manifest, state, first_party=first_party)


def statement(name, **facts):
    return ToolSpec(name=name, effects=frozenset({"read"}), **facts).to_dict()


def test_a_tool_is_found_by_every_name_it_has(world, plain):
    world.registry.register(plain("read_it", "my-files", aliases=("cat",)))
    tool = world.registry.find("read_it")
    assert tool is not None
    assert tool.name == "read_it"
    for name in ("my-files:read_it", "my_files__read_it", "cat"):
        assert world.registry.find(name) is tool
    assert world.registry.find("other") is None
    assert world.registry.find("") is None


def test_nobody_gets_a_short_name_that_two_tools_want(world, plain):
    world.registry.register(plain("search", "web"))
    world.registry.register(plain("search", "notes"))
    assert world.registry.find("search") is None
    assert {tool.wire_name for tool in world.registry.list_all()} == {
        "web__search",
        "notes__search",
    }
    (problem,) = world.registry.problems
    assert "web" in problem.message
    assert "notes" in problem.message


def test_config_decides_a_clash(plain):
    registry = Registry(None, None, names={"search": "web:search"})
    registry.register(plain("search", "web"))
    registry.register(plain("search", "notes"))
    assert registry.find("search").plugin == "web"
    assert registry.find("notes__search").plugin == "notes"


def test_a_plugin_can_not_take_the_name_of_a_core_tool(world, plain):
    world.add_core()
    world.registry.register(plain("tool_call", "evil", aliases=("tool_search",)))
    assert world.registry.find("tool_call").plugin == "core"
    assert world.registry.find("tool_search").plugin == "core"


def test_registering_a_name_twice_names_both(world, plain):
    world.registry.register(plain("a"))
    with pytest.raises(PluginError, match="plugin demo and plugin demo both bring the tool demo:a"):
        world.registry.register(plain("a"))
    assert len(world.registry.list_all()) == 1


def test_unregistering_removes_a_tool_and_what_was_imported_for_it(world, plain):
    world.registry.register(plain("a"))
    world.registry.unregister("a")
    assert world.registry.find("a") is None
    with pytest.raises(UsageError, match="no tool 'a'"):
        world.registry.unregister("a")


def test_a_family_is_removed_as_one(world, plain):
    for name in ("x_one", "x_two"):
        world.registry.register(
            plain(name, metadata={"family": "x_", "group": name[2:], "plugin": "demo"})
        )
    world.registry.register(plain("other"))
    assert world.registry.unregister_family(family="x_", group="one") == 1
    assert world.registry.unregister_family(family="x_", plugin="else") == 0
    assert world.registry.unregister_family(family="x_") == 1
    assert [tool.spec.name for tool in world.registry.list_all()] == ["other"]


def test_a_family_is_swapped_as_one_or_not_at_all(world, plain):
    family = {"family": "x_", "plugin": "demo"}
    world.registry.register(plain("taken"))
    world.registry.swap_family(family, [(plain("x_old", metadata=family), None)])
    before = world.registry.list_all()
    with pytest.raises(PluginError):
        world.registry.swap_family(
            family, [(plain("x_new", metadata=family), None), (plain("taken"), None)]
        )
    assert world.registry.list_all() is before
    world.registry.swap_family(family, [(plain("x_new", metadata=family), None)])
    assert [tool.spec.name for tool in world.registry.list_all()] == ["taken", "x_new"]


def test_swapping_a_family_for_itself_is_no_clash(world, plain):
    family = {"family": "x_"}
    for _ in range(2):
        world.registry.swap_family(family, [(plain("x_a", metadata=family), None)])
    assert len(world.registry.list_all()) == 1


def test_the_generation_changes_with_every_change_and_with_nothing_else(world, plain):
    first = world.registry.generation
    world.registry.register(plain("a"))
    second = world.registry.generation
    assert second > first
    world.registry.find("a")
    world.registry.list(NO_FILTER, world.caller, OPEN_POLICY)
    assert world.registry.unregister_family(family="none") == 0
    assert world.registry.generation == second


def test_lists_are_kept_until_something_changes(world, plain, guest):
    world.registry.register(plain("a"))
    mine = world.registry.list(NO_FILTER, world.caller, OPEN_POLICY)
    theirs = world.registry.list(NO_FILTER, guest, OPEN_POLICY)
    for _ in range(3):  # people of different trust who take turns do not push each other out
        assert world.registry.list(NO_FILTER, world.caller, OPEN_POLICY) is mine
        assert world.registry.list(NO_FILTER, guest, OPEN_POLICY) is theirs
    world.registry.register(plain("b"))
    assert world.names() == ["a", "b"]


def test_the_list_is_filtered_for_the_caller(world, plain, guest):
    world.registry.register(plain("look", category="web"))
    world.registry.register(plain("run", effects=("exec",)))
    world.registry.register(plain("gone", exposure="hidden"))
    assert world.names() == ["look", "run"]
    assert world.names(guest) == []
    assert world.names(world.caller.narrow(classes=["read_only"])) == ["look"]
    assert world.names(filter=ToolFilter(excluded_categories=frozenset({"web"}))) == ["run"]
    assert world.names(filter=ToolFilter(include_hidden=True)) == ["look", "run", "gone"]
    assert [tool.spec.name for tool in world.registry.list_all()] == ["look", "run", "gone"]


def test_tools_of_usable_plugins_come_from_their_manifests(world):
    world.registry.load(
        [
            record("files", statement("file_read"), first_party=True),
            record("off", statement("off_tool"), state=State.DISABLED),
        ]
    )
    (tool,) = world.registry.list_all()
    assert (tool.canonical, tool.first_party) == ("files:file_read", True)
    assert world.activated == []


OFF = {
    State.DISABLED: ("plugins.disabled names it", "pegboard plugins enable files"),
    State.FAILED: ("it can't be imported", None),
}


@pytest.mark.anyio
@pytest.mark.parametrize("state", OFF)
@pytest.mark.parametrize("name", ["look", "files:look", "files__look", "see"])
async def test_the_owner_is_told_of_a_plugin_that_is_off_and_nobody_else(world, guest, name, state):
    reason, fix = OFF[state]
    off = record("files", statement("look", aliases=("see",)), state=state)
    off = off._replace(reason=reason, fix=fix)
    world.dispatcher.policy = PolicySnapshot(guest_tools=frozenset({"look"}))  # open to guests
    others = guest, world.caller.narrow(tools=["echo"]), world.caller.narrow(classes=["exec"])
    absent = [await world.call(name, caller=caller) for caller in others]
    world.registry.load([off])
    told = (await world.call(name)).error
    assert told.code == "not_found"
    assert told.message == f"Tool '{name}' not found: its plugin files is {state}: {reason}."
    assert told.fix == (fix or "Run: pegboard plugins why files")
    hidden = [await world.call(name, caller=caller) for caller in others]
    assert [result.to_dict() for result in hidden] == [result.to_dict() for result in absent]
    world.registry.load([off._replace(state=State.READY)])
    assert world.registry.unusable(name) is None


def test_a_rescan_takes_tools_away_and_adds_them(world, plain):
    world.add_core()
    world.registry.load([record("a", statement("one")), record("b", statement("two"))])
    family = {"family": "x_", "plugin": "a"}
    world.registry.swap_family(family, [(plain("x_1", "a", metadata=family), None)])
    world.registry.load([record("b", statement("two"), statement("three"))])
    names = {tool.canonical for tool in world.registry.list_all()}
    assert {name for name in names if not name.startswith("core:")} == {"b:two", "b:three"}
    assert "core:tool_search" in names


def test_tools_of_a_family_survive_a_rescan_while_their_plugin_does(world, plain):
    family = {"family": "x_", "plugin": "a"}
    world.registry.load([record("a", statement("one"))])
    world.registry.swap_family(family, [(plain("x_1", "a", metadata=family), None)])
    world.registry.load([record("a", statement("one"))])
    assert world.registry.find("x_1") is not None


def test_a_statement_that_can_not_be_read_costs_that_tool_only(world):
    world.registry.load(
        [record("a", statement("good"), {"name": "bad", "effects": ["fly"]}, statement("good"))]
    )
    assert [tool.spec.name for tool in world.registry.list_all()] == ["good"]
    unreadable, twice = world.registry.problems
    assert "unknown effect fly" in unreadable.message
    assert "pegboard-a" in unreadable.message
    assert "twice" in twice.message


def test_a_missing_need_hides_one_tool(plain):
    have = set()
    registry = Registry(
        None, None, missing=lambda needs: None if set(needs.secrets) <= have else "no key"
    )
    registry.register(plain("free"))
    needy = plain("needy", needs=Needs(secrets=("api_key",)))
    registry.register(needy)

    def listed():
        from pegboard.contracts.caller import Caller

        caller = Caller(trust="operator")
        return [t.spec.name for t in registry.list(NO_FILTER, caller, OPEN_POLICY)]

    assert listed() == ["free"]
    assert registry.missing(registry.find("needy")) == "no key"
    have.add("api_key")
    registry.refresh()
    assert listed() == ["free", "needy"]


@pytest.mark.anyio
async def test_a_plugin_is_imported_once_for_many_calls(world):
    @world.add
    async def hello() -> str:
        """Say hello."""
        return "hello"

    for _ in range(3):
        assert (await world.call("hello")).output == "hello"
    assert world.activated == ["demo:hello"]


@pytest.mark.anyio
async def test_what_is_neither_a_marked_function_nor_a_tool_is_refused(world, plain):
    world.functions["demo", "odd"] = 42
    world.registry.register(plain("odd"))
    result = await world.call("odd")
    assert result.error.code == "plugin_failed"
    assert "brings a int as tool odd" in result.error.message


@pytest.mark.parametrize(
    "facts",
    [
        {"name": "core:tool_search"},
        {"name": "x>>>\n<<<end"},
        {"name": "_under"},
        {"name": ""},
        {"name": "x" * 65},
        {"name": "fine", "aliases": ("core:tool_call",)},
        {"name": "fine", "description": 5},
        {"name": "fine", "category": None},
        {"name": "fine", "parameters": []},
    ],
)
def test_a_statement_that_would_harm_more_than_its_tool_is_refused(world, plain, facts):
    world.registry.register(plain("good", metadata={"family": "mcp"}))
    bad = plain(facts.pop("name"), "mcp", metadata={"family": "mcp"}, **facts)
    with pytest.raises(PluginError, match="can't be used"):
        world.registry.swap_family({"family": "mcp"}, [(bad, None)])
    assert world.names() == ["good"]


@pytest.mark.anyio
async def test_a_tool_that_changed_while_its_plugin_was_imported_runs_as_it_is_now(plain):
    async def new() -> str:
        return "new"

    async def resolve(plugin, kind, name):
        registry.unregister("work")
        registry.register(plain("work"), FunctionTool(plain("work").spec, new))
        return tool(effects={"read"})(old)

    async def old() -> str:
        """Be old."""
        return "old"

    registry = Registry(resolve, lambda plugin: None)
    registry.register(plain("work"))
    before = await registry.implementation(registry.find("work"))
    after = await registry.implementation(registry.find("work"))
    assert (await before.call(None, {})).output == "old"
    assert (await after.call(None, {})).output == "new"
