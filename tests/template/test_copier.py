"""The repository's root is a copier template: a project can be made from it and follow it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import copier
import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A tagged git repository with the files that copier uses."""
    root = tmp_path / "repository"
    shutil.copytree(ROOT / "plugin-template", root / "plugin-template")
    shutil.copy(ROOT / "copier.yml", root)
    (root / "core").mkdir()
    (root / "core" / "not-of-the-template.txt").write_text("x")
    git(root, "init", "--quiet", "--initial-branch", "main")
    commit(root, "v0.1.0")
    return root


def git(folder: Path, *command: str) -> str:
    identity = ["-c", "user.name=Test", "-c", "user.email=test@example.invalid"]
    done = subprocess.run(
        ["git", *identity, *command], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout


def commit(folder: Path, tag: str = "") -> None:
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", tag or "changes")
    if tag:
        git(folder, "tag", tag)


def test_a_project_made_from_the_repository_follows_its_changes(
    repository: Path, tmp_path: Path
) -> None:
    project = tmp_path / "project"
    answers = {"name": "weather", "kind": "tool"}
    copier.run_copy(str(repository), project, data=answers, defaults=True, quiet=True)
    assert "_commit: v0.1.0" in (project / ".copier-answers.yml").read_text()
    assert not (project / "core").exists()
    git(project, "init", "--quiet", "--initial-branch", "main")
    tools = project / "src" / "pegboard_weather" / "tools.py"
    tools.write_text(tools.read_text() + "\n\n# my own line\n")
    commit(project)

    readme = repository / "plugin-template" / "template" / "README.md.jinja"
    readme.write_text(readme.read_text() + "\nA line of a newer template.\n")
    commit(repository, "v0.2.0")
    copier.run_update(project, defaults=True, quiet=True, overwrite=True)

    assert "A line of a newer template." in (project / "README.md").read_text()
    assert "# my own line" in tools.read_text()
    assert "_commit: v0.2.0" in (project / ".copier-answers.yml").read_text()
