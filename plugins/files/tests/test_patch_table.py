from __future__ import annotations

import importlib.util
import shutil
import sys
from pathlib import Path

import pytest

_spec = importlib.util.spec_from_file_location(
    "patch_table", Path(__file__).with_name("patch_table.py")
)
assert _spec is not None
assert _spec.loader is not None
patch_table = importlib.util.module_from_spec(_spec)
sys.modules["patch_table"] = patch_table
_spec.loader.exec_module(patch_table)


@pytest.mark.anyio
async def test_every_case_of_the_patch_table_ends_as_it_says(desk) -> None:
    found: dict[str, str] = {}
    for case in patch_table.load():
        for left in desk.folder.iterdir():
            shutil.rmtree(left) if left.is_dir() else left.unlink()
        patch_table.set_up(desk.folder, case["files"])
        before = patch_table.snapshot(desk.folder)
        result = await desk.call("apply_patch", patch=case["patch"])
        if result.error is not None:
            assert result.error.fix, case["name"]
        after = patch_table.snapshot(desk.folder)
        found[case["name"]] = patch_table.outcome(
            before, after, result.error.code if result.error else None
        )
    assert found == {case["name"]: case["ours"] for case in patch_table.load()}


def test_nothing_that_is_refused_changes_a_file() -> None:
    assert not [case for case in patch_table.load() if "yet" in case["ours"]]


def test_the_page_holds_the_table() -> None:
    """`python plugins/files/tests/patch_table.py` writes it."""
    page = patch_table.PAGE.read_text(encoding="utf-8")
    assert page == patch_table.page_with(page, patch_table.load())
