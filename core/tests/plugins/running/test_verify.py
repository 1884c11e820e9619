from __future__ import annotations

import types

import pytest

from pegboard import Contribution, Plugin, PluginInfo, hookimpl, tool
from pegboard.contracts.errors import BuildError
from pegboard.contracts.hookspecs import HOOK_NAMES
from pegboard.plugins.building.describe import describe
from pegboard.plugins.building.verify import verified_hooks


def module(**members) -> types.ModuleType:
    made = types.ModuleType("made")
    vars(made).update(members)
    return made


def hooks(function, name: str = "pegboard_event", **options):
    function.__name__ = name
    return module(**{name: hookimpl(function, **options)})


def test_a_plugin_object_implements_the_contribution_hooks_and_its_own():
    plugin = Plugin()

    @plugin.hook
    async def pegboard_tool_guard(event):
        return None

    found = verified_hooks("x", plugin)
    assert set(found) <= set(HOOK_NAMES)
    assert found["pegboard_tool_guard"] is pegboard_tool_guard
    assert found["pegboard_tools"]() == ()


def test_a_hook_that_does_not_exist_is_an_error_with_a_suggestion():
    with pytest.raises(BuildError, match="no hook pegboard_evnt; did you mean 'pegboard_event'"):
        verified_hooks("x", hooks(lambda event: None, "pegboard_evnt"))
    plugin = Plugin()

    @plugin.hook
    def pegboard_tool_gard(event):
        pass

    with pytest.raises(BuildError, match="did you mean 'pegboard_tool_guard'"):
        describe("x", plugin)


def test_a_hook_that_may_be_unknown_is_left_out():
    found = verified_hooks("x", hooks(lambda event: None, "pegboard_later", optionalhook=True))
    assert found == {}


def keyword_only(*, event):
    pass


def too_many(event, more):
    pass


def none():
    pass


def needs_more(event, *, more):
    pass


def many(*events):
    pass


def other(message):
    pass


def generator(event):
    yield


async def async_generator(event):
    yield


@pytest.mark.parametrize(
    "function", [keyword_only, too_many, none, needs_more, many, other, generator, async_generator]
)
def test_a_hook_takes_exactly_one_event(function):
    with pytest.raises(BuildError) as caught:
        verified_hooks("x", hooks(function))
    assert "event" in f"{caught.value.message} {caught.value.fix}"


@pytest.mark.parametrize("function", [lambda event: None, lambda event=None: None])
def test_an_event_may_have_a_default(function):
    assert verified_hooks("x", hooks(function))


@pytest.mark.parametrize("option", ["tryfirst", "trylast"])
def test_order_within_a_hook_is_refused(option):
    with pytest.raises(BuildError, match="not supported") as caught:
        verified_hooks("x", hooks(lambda event: None, **{option: True}))
    assert "Plugin(before=" in caught.value.fix


@pytest.mark.parametrize("option", ["wrapper", "hookwrapper"])
def test_wrappers_are_refused(option):
    def wrapper(event):
        yield

    with pytest.raises(BuildError, match="wrappers"):
        verified_hooks("x", hooks(wrapper, **{option: True}))


def test_two_implementations_of_one_hook_are_refused():
    first = hookimpl(lambda event: None, specname="pegboard_event")
    second = hookimpl(lambda event: None, specname="pegboard_event")
    with pytest.raises(BuildError, match="implemented twice"):
        verified_hooks("x", module(first=first, second=second))


def test_a_contribution_hook_lists_and_does_not_wait():
    async def waits():
        return []

    with pytest.raises(BuildError, match="write `def`"):
        verified_hooks("x", hooks(waits, "pegboard_tools"))
    with pytest.raises(BuildError, match="returned NoneType, not a list"):
        describe("x", hooks(lambda: None, "pegboard_tools"))


@tool
def greet() -> str:
    """Greet."""
    return "hello"


def test_a_module_with_bare_hooks_says_what_it_brings():
    made = module(
        pegboard_tools=hookimpl(named("pegboard_tools", lambda: [greet])),
        pegboard_event=hookimpl(named("pegboard_event", lambda event: None)),
        pegboard_plugin=PluginInfo(secrets=("key",)),
    )
    found = describe("x", made)
    assert list(found.tools) == ["greet"]
    assert found.hook_events == {"pegboard_event": ()}
    assert found.secrets == ("key",)


def named(name, function):
    function.__name__ = name
    return function


def test_what_is_no_plugin_says_what_it_must_be():
    with pytest.raises(BuildError, match="the entry point names a dict"):
        describe("x", {})
    made = module(other=Plugin())
    with pytest.raises(BuildError, match="implements no hook") as caught:
        describe("x", made)
    assert caught.value.fix == 'point the entry point at "made:other"'


def test_contributions_are_checked():
    for items, words in [
        ([greet, greet], "tool greet is there twice"),
        ([print], "<built-in function print> is no tool"),
    ]:
        plugin = Plugin()
        plugin.add_tools(*items)
        with pytest.raises(BuildError, match=words):
            describe("x", plugin)
    plugin = Plugin()
    plugin.contribute("provider", "p", print)
    plugin.contribute("provider", "p", print)
    with pytest.raises(BuildError, match="contribution provider p is there twice"):
        describe("x", plugin)
    wrong = Contribution(kind="channel", name="c", factory=print)
    with pytest.raises(BuildError, match="further kinds come from pegboard_contributions"):
        describe("x", hooks(lambda: [wrong], "pegboard_providers"))
    with pytest.raises(BuildError, match="channel c can't come from pegboard_contributions"):
        describe("x", hooks(lambda: [wrong], "pegboard_contributions"))


def test_event_types_are_checked():
    plugin = Plugin()

    @plugin.hook(events=["tool_caled"])
    def pegboard_event(event):
        pass

    with pytest.raises(BuildError, match="no event type 'tool_caled'; did you mean 'tool_called'"):
        describe("x", plugin)
    plugin = Plugin()

    @plugin.hook(events=["tool_called"])
    def pegboard_tool_guard(event):
        pass

    with pytest.raises(BuildError, match="hook pegboard_tool_guard takes no `events`"):
        describe("x", plugin)


def test_members_are_checked():
    async def generator(context):
        yield

    async def plain(context):
        pass

    def sync(context):
        pass

    for register, words in [
        (lambda plugin: plugin.lifespan(plain), "the lifespan must be an async generator"),
        (lambda plugin: plugin.background("b")(sync), "background service b must be async"),
        (lambda plugin: plugin.service("s")(plain), "service s must be made by a `def`"),
    ]:
        plugin = Plugin()
        register(plugin)
        with pytest.raises(BuildError, match=words):
            describe("x", plugin)
    plugin = Plugin()
    plugin.family("mcp_", effects=None)
    plugin.family("mcp_docs_", effects=None)
    with pytest.raises(BuildError, match="families mcp_ and mcp_docs_ overlap"):
        describe("x", plugin)
    plugin = Plugin()
    plugin.background("b")(plain)
    plugin.background("b")(plain)
    with pytest.raises(BuildError, match="background service b is there twice"):
        describe("x", plugin)
