"""The kinds of projects, rendered once and installed by pip from their wheels."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from pegboard.scaffold import KINDS, render

NAMES: Mapping[str, str] = {
    "tool": "w",
    "provider": "parrot",
    "channel": "letter-box",
    "sandbox": "yielding",
    "skill_source": "a-source-with-a-name-of-forty-characters",
    "backend": "kept-elsewhere",
    "command": "what-tools",
    "hooks": "lock-keeper-2",
}
"""From the shortest to the longest name that is possible, with hyphens and digits."""


@dataclass(frozen=True, slots=True)
class Project:
    """A rendered project.

    Args:
        kind: What it brings.
        name: Plugin id.
        folder: Its root.
        site: The folder in which all projects are installed.
        written: The files of the template.
    """

    kind: str
    name: str
    folder: Path
    site: Path
    written: tuple[Path, ...]

    @property
    def package(self) -> str:
        return f"pegboard_{self.name.replace('-', '_')}"

    def run(self, *command: str, home: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run a Python module with the installed projects importable."""
        env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.site),
            "PYTHONPATH": str(self.site),
            "PEGBOARD_HOME": str(home or self.site / "home"),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        return subprocess.run(
            [sys.executable, "-m", *command],
            cwd=self.folder,
            env=env,
            capture_output=True,
            text=True,
            timeout=300,
        )


@pytest.fixture(scope="session")
def projects(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Project]:
    root = tmp_path_factory.mktemp("projects")
    site = root / "site"
    answers = {"author": 'Ada "the first" Lovelace', "summary": r"It's 100% a \ and a \"test\""}
    made = {}
    for kind in KINDS:
        folder = root / kind
        written = render(kind, NAMES[kind], folder, answers)
        made[kind] = Project(kind, NAMES[kind], folder, site, written)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    pip += ["--no-build-isolation", "--disable-pip-version-check", "--target", str(site)]
    subprocess.run([*pip, *(str(item.folder) for item in made.values())], check=True)
    return made
