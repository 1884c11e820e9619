"""No link of the README, the changelog or a page leads nowhere; no page or plugin is left out."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
PAGES = sorted(
    [
        REPOSITORY / "README.md",
        REPOSITORY / "CHANGELOG.md",
        REPOSITORY / "core" / "README.md",
        *REPOSITORY.glob("docs/**/*.md"),
        *REPOSITORY.glob("plugins/*/README.md"),
    ]
)
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


def prose(page: Path) -> str:
    return FENCED.sub("", page.read_text("utf-8"))


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    found = set()
    for heading in HEADING.findall(prose(page)):
        words = re.sub(r"[^\w\- ]", "", LINK.sub("", heading).lower().strip())
        found.add(words.replace(" ", "-"))
    return found


def dead(page: Path) -> Iterator[str]:
    for link in LINK.findall(prose(page)):
        if re.match(r"[a-z]+:", link):
            continue
        place, _, anchor = link.partition("#")
        target = (page.parent / place).resolve() if place else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            yield link


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(REPOSITORY).as_posix())
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    assert list(dead(page)) == []


def test_the_index_names_every_page() -> None:
    docs = REPOSITORY / "docs"
    index = LINK.findall((docs / "README.md").read_text("utf-8"))
    pages = {page.relative_to(docs).as_posix() for page in docs.glob("*/*.md")}
    assert pages - set(index) == set()


def test_the_readme_names_every_plugin() -> None:
    named = LINK.findall((REPOSITORY / "README.md").read_text("utf-8"))
    plugins = {f"plugins/{path.parent.name}/README.md" for path in _projects()}
    assert plugins - set(named) == set()


def test_the_readmes_say_what_is_standard() -> None:
    text = (REPOSITORY / "README.md").read_text("utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| [`pegboard-")]
    first, sandboxes_and_providers = text.index("**In `"), text.index("**Sandboxes**")
    said = {
        re.findall(r"`(pegboard-[\w-]+)`", row)[0]
        for row in rows
        if first < text.index(row) < sandboxes_and_providers or row.endswith("| yes |")
    }
    project = tomllib.loads((REPOSITORY / "plugins/standard/pyproject.toml").read_text("utf-8"))
    needed = {re.split("[><=]", line)[0] for line in project["project"]["dependencies"]}
    assert said == needed - {"pegboard"}


def _projects() -> list[Path]:
    return sorted(REPOSITORY.glob("plugins/*/pyproject.toml"))
