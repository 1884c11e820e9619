"""Whatever name a guest tries, the answer does not tell which packages are installed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pegboard import Plugin, ToolContext
from pegboard.testing import HostFactory
from pegboard.testing.host import HostUnderTest

secret = Plugin(summary="What no guest knows of")


@secret.tool(effects={"read"}, audience="owner", aliases=("journal",))
async def diary(ctx: ToolContext) -> str:
    """Read the owner's diary."""
    return "dear diary"


@secret.tool(effects={"exec"})
async def run_program(ctx: ToolContext) -> str:
    """Run a program."""
    return "ran"


@secret.tool(effects={"read"}, control="secrets")
async def show_secret(ctx: ToolContext) -> str:
    """Show a secret."""
    return "hunter2"


@secret.tool(effects={"read"})
async def unlisted(ctx: ToolContext) -> str:
    """Do what nobody opened to guests."""
    return "done"


HIDDEN = ("diary", "journal", "run_program", "show_secret", "unlisted", "secret")
WAYS = ("tool_describe", "tool_help", "tool_call", "")


@st.composite
def names(draw: st.DrawFn) -> str:
    """Return any text, or a hidden name as somebody who feels their way would write it."""
    name = draw(st.sampled_from(HIDDEN) | st.text(max_size=12))
    if draw(st.booleans()) and name:
        place = draw(st.integers(0, len(name)))
        name = name[:place] + draw(st.text(max_size=2)) + name[place + draw(st.integers(0, 2)) :]
    name = draw(st.sampled_from([name, name.upper(), name.replace("_", "-"), f" {name} "]))
    return draw(st.sampled_from(["", "secret:", "secret_", "mcp_"])) + name


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[BlockingPortal, list]]:
    """Two hosts, without and with the package."""
    with ExitStack() as stack:
        portal = stack.enter_context(start_blocking_portal())
        opened = []
        for inline in ({}, {"secret": secret}):
            host = HostFactory(tmp_path_factory.mktemp("host"))
            config = {"policy.guest_tools": ["diary", "run_program", "show_secret"]}
            manager = host(inline=inline, config=config)
            opened.append(stack.enter_context(portal.wrap_async_context_manager(manager)))
        owners = [portal.call(world.call, "diary").text for world in opened]
        assert "dear diary" not in owners[0]
        assert "dear diary" in owners[1]
        yield portal, opened


async def answered(world: HostUnderTest, way: str, name: str) -> str:
    arguments = {} if not way else {"name": name}
    result = await world.call(way or name, as_guest=True, **arguments)
    return repr((result.text, result.error, result.details, result.structured))


@given(name=names(), way=st.sampled_from(WAYS))
@example(name="secret:diary", way="")
@example(name="diry", way="")
@example(name="journal", way="tool_help")
@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_no_name_is_answered_otherwise_where_the_package_is_installed(hosts, name, way):
    portal, (without, beside) = hosts
    assert portal.call(answered, without, way, name) == portal.call(answered, beside, way, name)


@given(query=names() | st.sampled_from(["read diary", "secret", "run a program", "owner"]))
@settings(max_examples=50, deadline=None)
def test_no_search_finds_otherwise_where_the_package_is_installed(hosts, query):
    portal, worlds = hosts

    async def found(world: HostUnderTest) -> str:
        result = await world.call("tool_search", as_guest=True, query=query)
        return repr((result.text, result.error, result.structured))

    one, other = [portal.call(found, world) for world in worlds]
    assert one == other
