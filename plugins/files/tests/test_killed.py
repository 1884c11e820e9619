"""A process that is killed with -9 in the middle of a patch leaves all files old or all new."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("fcntl")
PROGRAM = Path(__file__).with_name("killed_patch.py")
OLD = {"a": "a\n", "b": "b\n", "sub/d": "d\n", "f": "f\n"}
NEW = {"a": "A\n", "n/c": "C\n", "e/x/new": "new\n", "sub/": ""}


def test_whatever_the_point_all_is_old_or_all_is_new(tmp_path: Path) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PEGBOARD")}
    ran = subprocess.run(
        [sys.executable, str(PROGRAM), str(tmp_path)],
        capture_output=True,
        text=True,
        env=kept,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert found["last"] == NEW
    ends = [NEW if end == NEW else OLD for _, end, _ in found["points"]]
    assert [end for _, end, _ in found["points"]] == ends
    half = [between for between, *_ in found["points"] if between not in (OLD, NEW)]
    assert len(half) > 15  # else nothing was proved
    assert ends == sorted(ends, key=lambda end: end == NEW)  # there is one point of no way back
    assert NEW in ends
    assert {journals for _, _, journals in found["points"]} == {0}
