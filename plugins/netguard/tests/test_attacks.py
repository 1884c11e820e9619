"""Every known way around an address guard, against servers that answer at every address."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

LAB = Path(__file__).with_name("attack_lab.py")


def in_own_network(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["unshare", "--user", "--map-root-user", "--net", *command],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        env={**os.environ, "PYTHONWARNINGS": "default"},
    )


def why_not() -> str:
    if shutil.which("unshare") is None or shutil.which("ip") is None:
        return "needs the programs unshare and ip"
    tried = in_own_network("ip", "link", "set", "lo", "up")
    return tried.stderr.strip()


@pytest.mark.skipif(bool(reason := why_not()), reason=f"no network of its own: {reason}")
def test_no_bad_url_gets_through_and_every_good_one_does() -> None:
    ran = in_own_network(sys.executable, str(LAB))
    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout.splitlines()[-1])
    assert (told["bad"], told["good"]) == (85, 7)
    assert (told["leaks"], told["refused"]) == ([], [])
    assert told["unguarded"] > 50  # the lab's servers do answer whoever does not look
