from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pytest
from pegboard_files.diff import unified_diff


def test_a_change_has_three_lines_around_it_and_right_numbers() -> None:
    before = "".join(f"{number}\n" for number in range(1, 21))
    after = before.replace("10\n", "ten\n")
    assert unified_diff("f", before, after) == (
        "--- f\n+++ f\n@@ -7,7 +7,7 @@\n 7\n 8\n 9\n-10\n+ten\n 11\n 12\n 13\n"
    )


def test_a_new_file_comes_from_nothing() -> None:
    assert unified_diff("f", "", "a\nb") == (
        "--- /dev/null\n+++ f\n@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n"
    )


def test_a_difference_too_large_is_left_out() -> None:
    assert unified_diff("f", "a\n" * 5000, "b\n" * 5000) is None


@pytest.mark.skipif(shutil.which("patch") is None, reason="needs patch")
@pytest.mark.parametrize("seed", range(25))
def test_patch_gets_the_new_file_from_it(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    lines = [rng.choice("abc") + "\n" for _ in range(rng.randrange(1, 60))]
    before = "".join(lines).removesuffix("\n" if rng.random() < 0.3 else "")
    for _ in range(rng.randrange(1, 5)):
        lines[rng.randrange(len(lines))] = rng.choice(["x\n", "y\nz\n", ""])
    after = "".join(lines).removesuffix("\n" if rng.random() < 0.3 else "")
    if before == after or not after:
        return
    diff = unified_diff("f", before, after)
    assert diff is not None
    (tmp_path / "f").write_text(before)
    done = subprocess.run(
        ["patch", "-p0", "f"], input=diff, text=True, cwd=tmp_path, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stdout + diff
    assert (tmp_path / "f").read_text() == after
