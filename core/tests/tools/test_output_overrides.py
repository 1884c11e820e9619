from __future__ import annotations

import pytest

from pegboard import OutputLimits, RegisteredTool, ToolSpec
from pegboard.tools.output_overrides import OutputOverrides
from pegboard.tools.registry import Registry

GREP = ToolSpec(
    name="search", description="x", aliases=("grep",), limits=OutputLimits(30_000, keep="tail")
)


def registry(limits: dict[str, object]) -> Registry:
    made = Registry(None, None, limits=limits)  # type: ignore[arg-type] # nothing is called
    made.register(RegisteredTool(GREP, "files"))
    made.register(RegisteredTool(ToolSpec(name="other", description="y"), "files"))
    return made


@pytest.mark.parametrize(
    ("settings", "limits"),
    [
        ({}, OutputLimits(30_000, keep="tail")),
        ({"search": 900}, OutputLimits(900, keep="tail")),
        ({"grep": 900}, OutputLimits(900, keep="tail")),
        ({"files__search": {"lines": 7}}, OutputLimits(30_000, 7, "tail")),
        ({"search": {"chars": 900, "keep": "both"}}, OutputLimits(900, keep="both")),
        ({"files:search": 500, "grep": 900, "search": 901}, OutputLimits(500, keep="tail")),
        ({"other": 900}, OutputLimits(30_000, keep="tail")),
    ],
)
def test_what_the_operator_says_counts(settings: dict[str, object], limits: OutputLimits) -> None:
    made = registry(settings)
    for name in ("search", "grep", "files:search", "files__search"):
        found = made.find(name)
        assert found is not None
        assert found.spec.limits == limits
    assert made.problems == ()


def test_a_tool_that_is_not_there_is_told_with_the_nearest_name() -> None:
    (problem,) = registry({"serach": 900}).problems
    assert problem.path == "tools.limits.serach"
    assert "did you mean 'search'?" in problem.message
    assert "pegboard config unset tools.limits.serach" in str(problem.fix)


def test_without_overrides_the_tools_are_the_same_objects() -> None:
    tools = (RegisteredTool(GREP, "files"),)
    assert OutputOverrides({}).applied(tools, {}) == tools
