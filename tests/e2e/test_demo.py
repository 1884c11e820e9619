"""`make demo`: what it prints about a folder is true."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest


def demo(repository: Path, folder: Path, output: Path) -> subprocess.CompletedProcess[str]:
    ran = subprocess.run(
        [sys.executable, repository / "examples" / "run_demo.py", folder],
        capture_output=True,
        text=True,
        check=False,
    )
    output.write_text(ran.stdout, encoding="utf-8")
    return ran


def check(repository: Path, folder: Path, output: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, repository / "examples" / "check_demo.py", folder, output],
        capture_output=True,
        text=True,
        check=False,
    )


def generated(folder: Path, seed: int) -> Path:
    """Write a folder of random text files."""
    choose = random.Random(seed)
    for number in range(choose.randint(3, 12)):
        place = folder / choose.choice(["", "notes", "src", "a folder"])
        place.mkdir(parents=True, exist_ok=True)
        words = ["alpha", "beta", "gamma", "TODO", "delta"]
        lines = [" ".join(choose.choices(words, k=choose.randint(1, 8))) for _ in range(9)]
        name = f"file{number}{choose.choice(['.md', '.txt', '.py'])}"
        (place / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_demo_tells_the_truth_about_fresh_files(
    repository: Path, tmp_path: Path, seed: int
) -> None:
    folder, output = generated(tmp_path / "input", seed), tmp_path / "output.txt"
    ran = demo(repository, folder, output)
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr.count("✓") >= 3
    checked = check(repository, folder, output)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_the_checker_reads_what_the_tools_read(repository: Path, tmp_path: Path) -> None:
    folder, output = tmp_path / "input", tmp_path / "output.txt"
    folder.mkdir()
    (folder / "wide.txt").write_bytes("hello TODO\nß\n".encode("utf-16"))
    (folder / "old.txt").write_bytes(b"caf\xe9 TODO\r\n")
    (folder / "data.bin").write_bytes(b"\0TODO")
    demo(repository, folder, output)
    checked = check(repository, folder, output)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_the_checker_notices_a_lie(repository: Path, tmp_path: Path) -> None:
    folder, output = generated(tmp_path / "input", 4), tmp_path / "output.txt"
    demo(repository, folder, output)
    victim = next(path for path in sorted(folder.rglob("*")) if path.is_file())
    victim.write_text(victim.read_text("utf-8") + "one more TODO line\n", encoding="utf-8")
    assert check(repository, folder, output).returncode == 1
