from __future__ import annotations

import pytest

from pegboard.contracts.provider import ChatRequest, ModelCaps, ProviderError, ToolDeclaration
from pegboard.providers import suited_tools
from pegboard.providers.families import family_caps
from pegboard.providers.model_settings import ModelTable
from pegboard.providers.route import Hop, Route
from pegboard.providers.suited_tools import suited

TOOLS = tuple(ToolDeclaration(name, "", {}) for name in ("apply_patch", "file_edit", "shell"))
PATCH, TEXT = ModelCaps(offered=("apply_patch",)), ModelCaps(offered=("file_edit",))


def names(tools) -> list[str]:
    return [tool.name for tool in tools]


@pytest.mark.parametrize(
    ("model", "tool"),
    [
        ("gpt-5.1-codex", "apply_patch"),
        ("openai/gpt-5-mini", "apply_patch"),
        ("gpt-oss:20b", "apply_patch"),
        ("o4-mini", "apply_patch"),
        ("codex-mini-latest", "apply_patch"),
        ("gpt-4o", "file_edit"),
        ("claude-sonnet-5-5", "file_edit"),
        ("gemini-3.8-flash", "file_edit"),
        ("qwen3:8b", "file_edit"),
        ("of-tomorrow", "file_edit"),
    ],
)
def test_each_family_changes_files_as_it_was_trained_to(model: str, tool: str) -> None:
    assert family_caps(model).offered == (tool,)


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


def test_other_tools_that_do_the_same_are_more_of_the_same_data(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plans = frozenset({"update_plan", "task_create", "task_update"})
    monkeypatch.setattr(suited_tools, "ALTERNATIVES", (*suited_tools.ALTERNATIVES, plans))
    tools = (*TOOLS, *(ToolDeclaration(name, "", {}) for name in sorted(plans)))
    used_to_tasks = ModelCaps(offered=("file_edit", "task_create", "task_update"))
    assert names(suited(tools, used_to_tasks)) == [
        "file_edit", "shell", "task_create", "task_update",
    ]  # fmt: skip
    used_to_plans = ModelCaps(offered=("apply_patch", "update_plan"))
    assert names(suited(tools, used_to_plans)) == ["apply_patch", "shell", "update_plan"]


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
