"""Folders that the system does not let this user look into are named by what passes over them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

pytestmark = pytest.mark.anyio
WITHOUT = "--bounding-set=-dac_override,-dac_read_search"
"""For setpriv: root who is asked for permissions as everybody else."""


@pytest.fixture
def closed(desk):
    """Make folders that can't be read, and say which they are."""
    desk.put("src/open.py", "VALUE = 1\n")
    desk.put("src/closed/in.py", "VALUE = 2\n")
    desk.put("top/closed/in.py", "VALUE = 3\n")
    folders = [desk.folder / "src/closed", desk.folder / "top/closed"]
    for folder in folders:
        folder.chmod(0)
    if os.access(folders[0], os.R_OK):
        pytest.skip("nothing is closed to this user")
    yield ["src/closed", "top/closed"]
    for folder in folders:
        folder.chmod(0o700)


NOTE = "[2 folders could not be read (permissions): src/closed, top/closed]"


@pytest.mark.parametrize("by", ["rg", "walk"])
async def test_a_search_names_them_with_and_without_ripgrep(desk, closed, by, monkeypatch) -> None:
    if by == "walk":
        monkeypatch.setattr("pegboard_files.search.find_ripgrep", lambda sandbox: None)
    elif shutil.which("rg") is None:
        pytest.skip("no program rg here (ripgrep)")
    result = await desk.ok("content_search", pattern="VALUE")
    assert result.details["chosen_by"] == by
    assert result.text == f"src/open.py:1:VALUE = 1\n{NOTE}"
    assert result.structured["unreadable"] == closed
    result = await desk.ok("content_search", pattern="NONE")
    assert result.text.endswith(NOTE)
    result = await desk.ok("content_search", pattern="VALUE", exclude=["top"])
    assert result.structured["unreadable"] == ["src/closed"]
    result = await desk.ok("content_search", pattern="VALUE", path="src/open.py")
    assert result.structured["unreadable"] == []
    desk.put(".gitignore", "closed/\n")
    result = await desk.ok("content_search", pattern="VALUE")
    assert result.structured["unreadable"] == []


async def test_a_search_for_names_names_them(desk, closed) -> None:
    for pattern in ("**/*.py", "*/*/*.py"):
        result = await desk.ok("glob_search", pattern=pattern)
        assert NOTE in result.text
        assert result.structured["unreadable"] == closed
    result = await desk.ok("glob_search", pattern="*.py", path="src")
    assert result.structured["unreadable"] == []
    result = await desk.ok("read_many_files", paths=["**/*.py"])
    assert NOTE in result.text
    assert (await desk.error("glob_search", pattern="*.py", path="src/closed")).code == "permission"
    assert (await desk.error("content_search", pattern="x", path="top/closed")).code == "permission"


async def test_what_the_sandbox_closes_is_not_named(host) -> None:
    async with host("files", "sandbox-local", record=False) as running:
        folder = running.workspace / ".git/hooks"
        folder.mkdir(parents=True)
        result = await running.call("glob_search", pattern="**/*")
        assert "could not be read" not in result.text


@pytest.mark.skipif(os.geteuid() != 0, reason="the tests above run as an ordinary user already")
def test_the_same_as_one_who_may_not_read_everything() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__]
    try:
        ran = subprocess.run(
            ["setpriv", WITHOUT, *command, "-k", "names_them"],
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError:
        pytest.skip("no program setpriv here (util-linux)")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "3 passed" in ran.stdout or "rg here" in ran.stdout, ran.stdout
