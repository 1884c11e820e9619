"""The contract, the probes and the rest once more, as an ordinary user: root hides much."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from counterparts.ordinary_user import run_as_user, why_not

from pegboard.testing.pytest_plugin import TOLD

HERE = Path(__file__).parent
NOT_AGAIN = ("test_arguments.py", "test_as_user.py", "test_syscall_filter.py", "test_trial.py")
"""What does not depend on who runs it."""


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


def test_it_holds_as_an_ordinary_user(
    folder: Path, record_property: Callable[[str, object], None]
) -> None:
    tests = [str(path) for path in sorted(HERE.glob("test_*.py")) if path.name not in NOT_AGAIN]
    ran = run_as_user(["-m", "pytest", "-q", "-p", "no:cacheprovider", *tests], folder)
    told = [line for line in ran.stdout.splitlines() if "attacks" in line]
    record_property(TOLD, "\n".join(told))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "skipped" not in ran.stdout, ran.stdout
