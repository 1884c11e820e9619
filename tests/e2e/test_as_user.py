"""The contract of the other sandboxes once more, as an ordinary user: root hides much.

That of bubblewrap and Landlock is beside them.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from counterparts import container_image, ssh_server
from counterparts.ordinary_user import run_as_user, why_not

PLUGINS = Path(__file__).resolve().parents[2] / "plugins"
SLOW = {"sandbox-ssh": ssh_server, "sandbox-docker": container_image}


@pytest.fixture
def folder() -> Iterator[Path]:
    reason = why_not()
    if reason is not None:
        # where all must run, an ordinary user is no reason: then the whole suite runs as one
        assert not os.environ.get("PEGBOARD_CI") or os.getuid() != 0, reason
        pytest.skip(reason)
    # not below pytest's own folder, which nobody else may enter
    made = Path(tempfile.mkdtemp(prefix="pegboard-user-"))
    yield made
    shutil.rmtree(made)


@pytest.mark.parametrize("plugin", ["sandbox-local", "sandbox-ssh", "sandbox-docker"])
def test_the_contract_holds_as_an_ordinary_user(plugin: str, folder: Path) -> None:
    if plugin in SLOW and not os.environ.get("PEGBOARD_CI"):
        pytest.skip(SLOW[plugin].why_not() or "half a minute: only where PEGBOARD_CI is set")
    tests = str(PLUGINS / plugin / "tests/test_contract.py")
    ran = run_as_user(["-m", "pytest", "-q", "-p", "no:cacheprovider", tests], folder)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "skipped" not in ran.stdout, ran.stdout
