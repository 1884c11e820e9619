"""The reference says all there is to say, and nothing that is no longer so."""

from __future__ import annotations

import dataclasses
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pegboard.config.core_schema import CORE_SCHEMA
from pegboard.contracts import hook_events, hookspecs
from pegboard.contracts.context import PluginContext, ToolContext
from pegboard.contracts.hook_names import HOOK_NAMES

DOCS = Path(__file__).resolve().parents[2] / "docs"


def page(name: str) -> str:
    return (DOCS / "reference" / name).read_text("utf-8")


def test_generated_pages_are_current() -> None:
    ran = subprocess.run(
        [sys.executable, DOCS / "generate.py", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("hook", HOOK_NAMES)
def test_every_hook_is_documented_with_more_than_its_name(hook: str) -> None:
    section = page("hooks.md").partition(f"### {hook}")[2].partition("\n### ")[0]
    assert len(section.split()) > 10


def test_every_specification_is_a_known_hook() -> None:
    specified = {name for name in vars(hookspecs) if name.startswith("pegboard_")}
    assert specified == set(HOOK_NAMES)


def test_every_event_is_documented() -> None:
    events = [
        name
        for name, item in vars(hook_events).items()
        if isinstance(item, type) and item.__module__ == hook_events.__name__
    ]
    assert [name for name in events if f"### {name}\n" not in page("hooks.md")] == []


def test_the_tool_context_has_ten_members_and_all_are_documented() -> None:
    members = [field.name for field in dataclasses.fields(ToolContext)]
    assert len(members) == 10
    assert [name for name in members if f"- `{name}:" not in page("context.md")] == []


def test_every_member_of_the_plugin_context_is_documented() -> None:
    members = [name for name in dir(PluginContext) if not name.startswith("_")]
    members += PluginContext.__annotations__
    assert [name for name in members if not re.search(rf"`{name}\b", page("context.md"))] == []


def test_every_setting_has_a_description() -> None:
    def check(schema: dict, where: str) -> None:
        for name, value in schema.get("properties", {}).items():
            assert value.get("description"), f"{where}{name}"
            check(value, f"{where}{name}.")

    check(CORE_SCHEMA, "")


def test_no_link_of_the_docs_leads_nowhere() -> None:
    broken = []
    for source in [DOCS.parent / "README.md", *DOCS.glob("**/*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", source.read_text("utf-8")):
            if not (source.parent / target).exists():
                broken.append(f"{source.name}: {target}")
    assert broken == []
