"""The reference says all there is to say, and nothing that is no longer so."""

from __future__ import annotations

import dataclasses
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pegboard import sandboxes
from pegboard.config.core_schema import CORE_SCHEMA
from pegboard.contracts import hook_events, hookspecs
from pegboard.contracts.context import PluginContext, ToolContext
from pegboard.contracts.effects import EFFECTS, EXPOSURES, POLICY_CLASSES
from pegboard.contracts.errors import BuildError
from pegboard.contracts.hook_names import HOOK_NAMES
from pegboard.plugins.declared import ToolFacts
from pegboard.policy.attended import ATTENDED_RULES
from pegboard.tools.intents import compile_intent

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


def test_every_keyword_of_a_tool_is_documented() -> None:
    keywords = [field.name for field in dataclasses.fields(ToolFacts)]
    assert [name for name in keywords if f"\n| `{name}` |" not in page("tools.md")] == []


def test_every_word_that_a_tool_may_say_of_itself_is_documented() -> None:
    words = [*EFFECTS, *POLICY_CLASSES, *EXPOSURES, *ATTENDED_RULES]
    assert [word for word in words if f"`{word}`" not in page("tools.md")] == []


def test_every_type_of_an_intent_is_documented() -> None:
    with pytest.raises(BuildError) as caught:
        compile_intent("{x:unknown}")
    types = caught.value.message.partition("types are: ")[2].split(", ")
    assert "path" in types
    assert [name for name in types if f"\n| `{name}` |" not in page("offline.md")] == []


def test_what_sandbox_authors_may_import_is_documented() -> None:
    told = [name for name in sandboxes.__all__ if isinstance(getattr(sandboxes, name), type)]
    assert [name for name in told if f"- `{name}(" not in page("sandboxes.md")] == []


def test_every_setting_has_a_description() -> None:
    def check(schema: dict, where: str) -> None:
        for name, value in schema.get("properties", {}).items():
            assert value.get("description"), f"{where}{name}"
            check(value, f"{where}{name}.")

    check(CORE_SCHEMA, "")


def test_no_link_of_the_docs_leads_nowhere() -> None:
    broken = []
    for source in [DOCS.parent / "README.md", *DOCS.glob("**/*.md")]:
        for target, part in re.findall(r"\]\(([^)#:]+)(?:#([^)]*))?\)", source.read_text("utf-8")):
            place = source.parent / target
            if not place.exists() or (part and part not in headings(place)):
                broken.append(f"{source.name}: {target}#{part}")
    assert broken == []


def headings(place: Path) -> list[str]:
    """Return the headings of a page as a link names them."""
    found = re.findall(r"^#+ (.*)$", place.read_text("utf-8"), re.MULTILINE)
    return [re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in found]


def test_every_page_is_in_the_table_of_contents() -> None:
    contents = (DOCS / "README.md").read_text("utf-8")
    pages = [path.relative_to(DOCS).as_posix() for path in DOCS.glob("*/*.md")]
    assert [path for path in pages if f"({path})" not in contents] == []
