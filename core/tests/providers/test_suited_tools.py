from __future__ import annotations

import pytest

from pegboard.contracts.provider import ChatRequest, ModelCaps, ProviderError, ToolDeclaration
from pegboard.providers.families import family_caps
from pegboard.providers.model_settings import ModelTable
from pegboard.providers.route import Hop, Route
from pegboard.providers.suited_tools import ALTERNATIVES, TASKS, corrected, suited

TOOLS = tuple(ToolDeclaration(name, "", {}) for name in ("apply_patch", "file_edit", "shell"))
PATCH, TEXT = ModelCaps(offered=("apply_patch",)), ModelCaps(offered=("file_edit",))


def names(tools) -> list[str]:
    return [tool.name for tool in tools]


@pytest.mark.parametrize(
    ("model", "edits", "plans"),
    [
        ("gpt-5.1-codex", "apply_patch", ("update_plan",)),
        ("openai/gpt-5-mini", "apply_patch", ("update_plan",)),
        ("gpt-oss:20b", "apply_patch", ("update_plan",)),
        ("o4-mini", "apply_patch", ("update_plan",)),
        ("codex-mini-latest", "apply_patch", ("update_plan",)),
        ("gpt-4o", "file_edit", ("update_plan",)),
        ("claude-sonnet-5-5", "file_edit", TASKS),
        ("anthropic/claude-opus-4-1", "file_edit", TASKS),
        ("gemini-3.8-flash", "file_edit", ("update_plan",)),
        ("qwen3:8b", "file_edit", ("update_plan",)),
        ("of-tomorrow", "file_edit", ("update_plan",)),
    ],
)
def test_each_family_works_as_it_was_trained_to(
    model: str, edits: str, plans: tuple[str, ...]
) -> None:
    assert family_caps(model).offered == (edits, *plans)


def test_no_tool_belongs_to_two_ways_of_doing_something() -> None:
    named = [name for ways in ALTERNATIVES for way in ways for name in way]
    assert len(named) == len(set(named))


def test_of_two_tools_that_change_files_one_is_declared() -> None:
    assert names(suited(TOOLS, PATCH)) == ["apply_patch", "shell"]
    assert names(suited(TOOLS, TEXT)) == ["file_edit", "shell"]
    assert names(suited(TOOLS, ModelCaps())) == ["apply_patch", "file_edit", "shell"]


@pytest.mark.parametrize("missing", ["apply_patch", "file_edit"])
def test_one_that_is_there_alone_is_declared_to_every_model(missing: str) -> None:
    tools = [tool for tool in TOOLS if tool.name != missing]
    for caps in (PATCH, TEXT):
        assert names(suited(tools, caps)) == names(tools)


def test_what_is_withheld_is_not_declared_and_stands_for_nothing() -> None:
    assert names(suited(TOOLS, ModelCaps(withheld=("shell", "nowhere")))) == names(TOOLS)[:2]
    without = ModelCaps(offered=("apply_patch",), withheld=("apply_patch",))
    assert names(suited(TOOLS, without)) == ["file_edit", "shell"]


PLANS = tuple(ToolDeclaration(name, "", {}) for name in ("update_plan", *TASKS))


@pytest.mark.parametrize(
    ("offered", "left"),
    [
        (("apply_patch", "update_plan"), ["apply_patch", "shell", "update_plan"]),
        (("file_edit", *TASKS), ["file_edit", "shell", *TASKS]),
        (("TaskCreate",), ["apply_patch", "file_edit", "shell", *TASKS]),
        (
            ("update_plan", "TaskCreate"),
            ["apply_patch", "file_edit", "shell", "update_plan", *TASKS],
        ),
        ((), ["apply_patch", "file_edit", "shell", "update_plan", *TASKS]),
    ],
)
def test_one_tool_stands_for_the_way_that_it_belongs_to(
    offered: tuple[str, ...], left: list[str]
) -> None:
    assert names(suited((*TOOLS, *PLANS), ModelCaps(offered=offered))) == left


def test_where_a_way_is_missing_the_other_one_is_declared() -> None:
    tools = [tool for tool in PLANS if tool.name != "update_plan"]
    assert names(suited(tools, ModelCaps(offered=("apply_patch", "update_plan")))) == [*TASKS]


def test_what_the_operator_says_is_about_what_it_names() -> None:
    usual = ("file_edit", *TASKS)
    assert corrected(["apply_patch"], usual) == ("apply_patch", *TASKS)
    assert corrected(["update_plan"], usual) == ("update_plan", "file_edit")
    assert corrected(["update_plan", "apply_patch"], usual) == ("update_plan", "apply_patch")
    assert corrected(["mine"], usual) == ("mine", *usual)
    assert corrected([], usual) == ()


def test_the_operator_knows_better() -> None:
    said = {"home/qwen": {"offered": ["apply_patch"]}, "qwen": {"offered": [], "withheld": ["a"]}}
    table = ModelTable(said)
    home, away = table.caps("home", "qwen", TEXT), table.caps("away", "qwen", TEXT)
    assert (home.offered, home.withheld) == (("apply_patch",), ("a",))
    assert (away.offered, away.withheld) == ((), ("a",))
    assert table.caps("away", "llama", TEXT).offered == TEXT.offered


@pytest.mark.anyio
async def test_who_stands_in_is_declared_its_own(raw, answer, clock) -> None:
    one = raw([ProviderError("no", kind="auth")], id="one", caps=PATCH)
    two = raw(answer("Hi"), id="two", caps=TEXT)
    route = Route([Hop(name="one", provider=one), Hop(name="two", provider=two)], clock=clock)
    async for _ in route.session().stream(ChatRequest(tools=TOOLS)):
        pass
    assert names(one.requests[0].tools) == ["apply_patch", "shell"]
    assert names(two.requests[0].tools) == ["file_edit", "shell"]
