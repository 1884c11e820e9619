"""How much of each tool's output a model reads, and which end is kept."""

from __future__ import annotations

import json
from pathlib import Path

import pegboard_files
import pytest

pytestmark = pytest.mark.anyio
PLUGINS = ("files", "sandbox-local")
TAIL = {
    "content_search": 30_000,
    "glob_search": 20_000,
    "file_edit": 10_000,
    "apply_patch": 10_000,
    "notebook_edit": 10_000,
    "file_write": 1_000,
}


def test_what_finds_and_changes_keeps_its_end_and_what_shows_keeps_both() -> None:
    manifest = json.loads((Path(pegboard_files.__file__).parent / "plugin.json").read_text())
    both = {"keep": "both"}  # what is not stated is that
    limits = {tool["name"]: tool.get("limits") or both for tool in manifest["tools"]}
    tails = {name: found["chars"] for name, found in limits.items() if found["keep"] == "tail"}
    assert tails == TAIL
    assert {found["keep"] for name, found in limits.items() if name not in TAIL} == {"both"}


async def test_the_end_of_a_long_search_is_what_is_read(host) -> None:
    async with host(*PLUGINS, record=False) as running:
        for number in range(400):
            (running.workspace / f"{number:04}-{'n' * 60}").write_text("found " + "x" * 150)
        for name, given, chars in (
            ("content_search", {"pattern": "found", "limit": 400}, 30_000),
            ("glob_search", {"pattern": "*", "limit": 400}, 20_000),
        ):
            result = await running.call(name, **given)
            assert len(result.text) <= chars
            assert len(result.text) > chars - 1_000
            assert "left out" in result.text[:300]
            assert "0399-" in result.text.splitlines()[-1]


async def test_the_operator_decides_otherwise(host) -> None:
    config = {"tools.limits": {"grep": 700, "file_write": {"chars": 300, "keep": "head"}}}
    async with host(*PLUGINS, record=False, config=config) as running:
        (running.workspace / "f").write_text("found\n" * 200)
        assert len((await running.call("content_search", pattern="found")).text) <= 700
        result = await running.call("file_write", path="d/" * 100 + "f" * 200, content="")
        assert result.error is None
        assert len(result.text) <= 300
