"""The page of a host that is killed says what happens when one is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_is_what_the_script_sees() -> None:
    ran = subprocess.run(
        [sys.executable, ROOT / "examples" / "kill_and_resume.py", "--check"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
