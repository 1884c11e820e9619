"""A function is called as its manifest says, or its author is told that the two differ."""

from __future__ import annotations

import pytest

from pegboard.contracts.errors import PluginError
from pegboard.contracts.tool import RegisteredTool
from pegboard.plugins.building.tool_schema import build_spec
from pegboard.plugins.declaration import TOOL_MARK, tool
from pegboard.tools.implementation import as_tool
from pegboard.tools.threads import Threads


@tool(effects={"read"})
async def count(ctx, path: str, limit: int = 3) -> str:
    """Count what is in a file."""
    return f"{path} {limit}"


@tool(effects={"read"})
async def needs_more(ctx, path: str, kind: str, limit: int = 3) -> str:
    """Count what is in a file."""
    return f"{path} {kind} {limit}"


@tool(effects={"read"})
async def takes_less(ctx, path: str) -> str:
    """Count what is in a file."""
    return path


@tool(effects={"read"})
async def offers_more(ctx, path: str, limit: int = 3, deep: bool = False) -> str:
    """Count what is in a file."""
    return f"{path} {limit} {deep}"


BUILT = RegisteredTool(build_spec(count, getattr(count, TOOL_MARK)), "demo")


@pytest.mark.parametrize("function", [count, offers_more])
def test_what_can_be_called_as_the_manifest_says_is_taken(function):
    assert as_tool(BUILT, function, Threads(1)).spec is BUILT.spec


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (needs_more, "the code needs kind, which its plugin.json lacks"),
        (takes_less, "its plugin.json states limit, which the code does not take"),
    ],
)
def test_parameters_changed_since_the_manifest_was_built_are_named(function, said):
    with pytest.raises(PluginError, match=said) as caught:
        as_tool(BUILT, function, Threads(1))
    assert caught.value.fix == "pegboard plugins build demo"
