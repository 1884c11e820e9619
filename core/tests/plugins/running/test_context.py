from __future__ import annotations

import stat
import sys
import textwrap
import threading

import anyio
import pytest

from pegboard import Contribution
from pegboard.contracts.context import PluginContext
from pegboard.contracts.errors import BuildError, ConfigError, PluginError, StoreError
from pegboard.contracts.result import ToolResult
from pegboard.contracts.tool import ToolSpec
from pegboard.plugins.decision.state import State
from pegboard.plugins.running.ids import IdMaker
from pegboard.testing.clock import FakeClock

pytestmark = pytest.mark.anyio


async def test_a_context_gives_only_what_is_the_plugins_own(environment):
    environment.add("own", "plugin = Plugin(secrets=['api_key', 'unset'])")
    environment.secrets = {"api_key": "s3cret", "other": "x"}
    async with environment.activator() as activator:
        context: PluginContext = (await activator.activate("own")).context
    assert context.id == "own"
    assert context.config == {}
    assert context.log.name == "pegboard.plugin.own"
    assert context.secret("api_key") == "s3cret"
    with pytest.raises(PluginError, match="the secret other, which its manifest does not list"):
        context.secret("other")
    with pytest.raises(PluginError) as caught:
        context.secret("unset")
    assert caught.value.fix == "pegboard secret set unset"
    folder = environment.paths.data / "plugins" / "own"
    assert not folder.exists()
    assert context.data_dir == folder
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


KEEPER = """
plugin = Plugin()

@plugin.lifespan
async def lifespan(context):
    tables = await context.storage.tables([("CREATE TABLE start(n INTEGER)",)])
    await tables.execute("INSERT INTO start VALUES (1)")
    starts = len(await tables.query("SELECT n FROM start"))
    yield starts
    await context.storage.put("ends", str(starts), True)
"""


async def test_a_plugin_has_its_storage_from_its_start_to_its_end(environment):
    environment.add("keeper", KEEPER)
    for starts in (1, 2):
        async with environment.activator() as activator:
            context = (await activator.activate("keeper")).context
            assert context.state == starts
            ended = [found.key for found in await context.storage.list("ends")]
            assert ended == ["1"][: starts - 1]
        with pytest.raises(StoreError, match="closed"):
            await context.storage.get("ends", "1")


def test_ids_are_unique_and_sort_by_time():
    clock = FakeClock()
    make = IdMaker(clock)
    ids = [make() for _ in range(1000)]
    clock._elapsed += 1
    ids.append(make())
    assert len(set(ids)) == 1001
    assert ids == sorted(ids)
    assert {len(made) for made in ids} == {28}


OFFER = """
plugin = Plugin()
MADE = []

@plugin.service("index")
def index(context):
    MADE.append(context.id)
    return {"from": context.id}
"""
USER = """
plugin = Plugin(needs=Needs(services=("index",)))

@plugin.lifespan
async def lifespan(context):
    yield context.service("index")
"""


async def test_a_service_is_made_once_and_its_plugin_is_active_before_the_one_that_needs_it(
    environment,
):
    environment.add("offerer", OFFER)
    environment.add("user", USER)
    async with environment.activator() as activator:
        user = await activator.activate("user")
        assert user.context.state == {"from": "offerer"}
        assert user.context.service("index") is user.context.state
        assert sys.modules["offerer_pkg.plugin"].MADE == ["offerer"]
        assert [name for name, state in environment.states] == ["offerer", "user"]


async def test_a_plugin_whose_needed_service_fails_is_missing_a_need(environment):
    environment.add("offerer", OFFER)
    environment.rewrite("offerer", "1 / 0")
    environment.add("user", USER)
    async with environment.activator() as activator:
        with pytest.raises(PluginError) as caught:
            await activator.activate("user")
        assert activator.record("user").state is State.MISSING_NEED
    assert "it needs the service index of plugin offerer" in caught.value.message
    assert "ZeroDivisionError" in caught.value.message
    assert caught.value.fix == "pegboard plugins why offerer"


async def test_two_plugins_that_need_each_other_do_not_wait_for_ever(environment):
    code = """
    plugin = Plugin(needs=Needs(services=({needs!r},)))
    plugin.service({offers!r})(lambda context: None)
    """
    environment.add("a", code.format(needs="of-b", offers="of-a"))
    environment.add("b", code.format(needs="of-a", offers="of-b"))
    async with environment.activator() as activator:
        with pytest.raises(PluginError, match="each of them waits for the other"):
            await activator.activate("a")


async def test_a_circle_of_three_that_are_asked_for_at_once_ends_for_each_of_them(environment):
    for name, needs in (("a", "b"), ("b", "c"), ("c", "a")):
        environment.add(
            name,
            f"""
            plugin = Plugin(needs=Needs(services=("of-{needs}",)))
            plugin.service("of-{name}")(lambda context: None)
            """,
        )
    ended = []
    async with environment.activator() as activator, anyio.create_task_group() as group:

        async def ask(name: str) -> None:
            with pytest.raises(PluginError):
                await activator.activate(name)
            ended.append(name)

        with anyio.fail_after(5):
            for name in "abc":
                group.start_soon(ask, name)
            while len(ended) < 3:
                await anyio.sleep(0.01)
        assert {str(activator.record(name).state) for name in "abc"} == {"missing-need"}


async def test_a_plugin_may_need_what_it_offers_itself(environment):
    environment.add("own", OFFER.replace("Plugin()", "Plugin(needs=Needs(services=('index',)))"))
    async with environment.activator() as activator:
        context = (await activator.activate("own")).context
        assert context.service("index") == {"from": "own"}


async def test_a_lifespan_that_asks_for_the_service_of_its_own_plugin_is_told_why_not(environment):
    code = """
    @plugin.lifespan
    async def lifespan(context):
        yield context.service("index")
    """
    environment.add("own", OFFER + textwrap.dedent(code))
    async with environment.activator() as activator:
        with pytest.raises(PluginError, match="asks for its own service index while it is not"):
            await activator.activate("own")


async def test_of_two_that_offer_one_service_the_first_in_order_gives_it(environment):
    for name in ("first", "second"):
        environment.add(name, OFFER)
    environment.add("user", "plugin = Plugin()")
    async with environment.activator() as activator:
        context = (await activator.activate("user")).context
        await activator.activate("second")
        with pytest.raises(PluginError, match="of plugin first is not there"):
            context.service("index")
        await activator.activate("first")
        assert context.service("index") == {"from": "first"}
        environment.config["plugins"]["disabled"] = ["first"]
        await activator.adopt(environment.boot())
        assert context.service("index") == {"from": "second"}


async def test_a_service_that_is_not_there_says_which_plugin_would_bring_it(environment):
    environment.add("offerer", OFFER)
    environment.add("user", "plugin = Plugin()")
    async with environment.activator() as activator:
        context = (await activator.activate("user")).context
        with pytest.raises(PluginError, match="no installed plugin offers the service nothing"):
            context.service("nothing")
        with pytest.raises(PluginError, match="of plugin offerer is not there") as caught:
            context.service("index")
        assert "Needs(services=['index'])" in caught.value.fix
        await activator.activate("offerer")
        assert context.service("index") == {"from": "offerer"}
        environment.config["plugins"]["disabled"] = ["offerer"]
        await activator.adopt(environment.boot())
        with pytest.raises(PluginError):
            context.service("index")


async def test_a_service_that_can_not_be_made_is_named_with_its_plugin(environment):
    environment.add("offerer", OFFER.replace('return {"from": context.id}', "1 / 0"))
    async with environment.activator() as activator:
        context = (await activator.activate("offerer")).context
        with pytest.raises(PluginError, match="plugin offerer can't make its service index: Zero"):
            context.service("index")


class Dynamic:
    def __init__(self, name: str, effects=frozenset({"read"}), **facts) -> None:
        self.spec = ToolSpec(name=name, effects=effects, **facts)

    async def __call__(self, ctx, args):
        return ToolResult("")


FAMILY = """
plugin = Plugin()
plugin.family("wx_", effects=["read", "net_read"])
plugin.family("my_", effects=None, audience="owner")
"""


async def test_a_family_is_swapped_below_its_ceiling(environment):
    environment.add("family", FAMILY)
    async with environment.activator() as activator:
        families = (await activator.activate("family")).context.families
        assert sorted(families) == ["my_", "wx_"]
        await families["wx_"].replace([Dynamic("wx_a"), Dynamic("wx_b")])
        await families["wx_"].replace([Dynamic("wx_c")], group="x")
    assert environment.swaps == [
        ("family", "wx_", "", ["wx_a", "wx_b"]),
        ("family", "wx_", "x", ["wx_c"]),
        ("family", "wx_", "", []),
    ]
    with pytest.raises(PluginError, match="not active any more"):
        await families["wx_"].replace([])


@pytest.mark.parametrize(
    "prefix, tools, words",
    [
        ("wx_", [Dynamic("wy_a")], "its name must begin with 'wx_'"),
        ("wx_", [Dynamic("wx_a", {"read", "exec"})], "beyond the manifest's: exec"),
        ("wx_", [Dynamic("wx_a", None)], "its effects are unknown"),
        ("wx_", [Dynamic("wx_a"), Dynamic("wx_a")], "it is there twice"),
        ("my_", [Dynamic("my_a", None)], "its audience must be owner"),
        ("wx_", [Dynamic("wx_manage", capability="orch:read")], "never delegated"),
        ("wx_", [Dynamic("wx_a", capability="orch:read", control="config")], "control plane"),
    ],
)
async def test_a_tool_beyond_the_ceiling_changes_nothing(environment, prefix, tools, words):
    environment.add("family", FAMILY)
    async with environment.activator() as activator:
        family = (await activator.activate("family")).context.families[prefix]
        with pytest.raises(PluginError, match=words):
            await family.replace(tools)
    assert environment.swaps == []


async def test_a_family_of_the_owner_takes_tools_of_the_owner(environment):
    environment.add("family", FAMILY)
    async with environment.activator() as activator:
        family = (await activator.activate("family")).context.families["my_"]
        await family.replace([Dynamic("my_a", None, audience="owner")])
    assert environment.swaps[0] == ("family", "my_", "", ["my_a"])


async def test_contributions_are_resolved_with_their_factory(environment):
    environment.add(
        "sky",
        """
        plugin = Plugin()
        @plugin.provider("sky", summary="Sky.")
        def make(context, settings):
            return "made"
        """,
    )
    async with environment.activator() as activator:
        found = await activator.resolve("sky", "provider", "sky")
    assert isinstance(found, Contribution)
    assert found.factory(None, None) == "made"


async def test_settings_of_an_instance_are_made_off_the_event_loop(environment):
    code = "plugin = Plugin()\nplugin.contribute('provider', 'sky', print, config='{}')"
    environment.add(
        "sky",
        code.format("sky_pkg.config:Sky"),
        config="""
        import threading
        from pydantic import BaseModel
        THREAD = threading.current_thread()
        class Sky(BaseModel):
            url: str
        """,
    )
    async with environment.activator() as activator:
        found = await activator.resolve("sky", "provider", "sky")
        given = {"url": "x"}
        made = await activator.settings("sky", found.config, given, "providers.sky")
        assert made.url == "x"
        assert sys.modules["sky_pkg.config"].THREAD is not threading.current_thread()
        assert await activator.settings("sky", None, given, "providers.sky") == given
        with pytest.raises(ConfigError, match=r"providers\.sky\.url: field required"):
            await activator.settings("sky", found.config, {}, "providers.sky")
        with pytest.raises(BuildError, match="has no 'Skye'"):
            await activator.settings("sky", "sky_pkg.config:Skye", {}, "providers.sky")


async def test_a_settings_model_that_fails_is_the_plugins_fault(environment):
    environment.add("sky", "plugin = Plugin()", broken="raise SystemExit(3)")
    async with environment.activator() as activator:
        await activator.activate("sky")
        with pytest.raises(PluginError, match=r"plugin sky: its settings .* SystemExit: 3"):
            await activator.settings("sky", "sky_pkg.broken:Settings", {}, "providers.sky")
