"""A host that is killed with -9 between the work of a call and the record of its result."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("killed_planner.py")
READ = [
    "Task #1 is on the list: one",
    "Task #2 is on the list: two",
    "1 of 2 done\n[x] #1 one\n[ ] #2 two",
    "Task #1 is off the list.",
    "0 of 1 done\n[ ] #2 two",
]


def run(folder: Path, crash: str = "") -> list[str] | None:
    """Run it to its end, or until it is killed; return what the model read."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PEGBOARD")}
    ran = subprocess.run(
        [sys.executable, str(PROGRAM), str(folder)],
        env={**kept, "PEGBOARD_CRASH": crash} if crash else kept,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if ran.returncode == -signal.SIGKILL:
        return None
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


@pytest.mark.parametrize("number", [2, 4])
def test_a_call_that_is_made_again_does_its_work_once(tmp_path: Path, number: int) -> None:
    assert run(tmp_path, f"record:before:{number}") is None
    assert run(tmp_path) == READ
