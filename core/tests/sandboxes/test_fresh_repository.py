"""Repositories as git makes them, and as somebody makes them who wants a program run."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from pegboard.sandboxes.fresh_repository import runs_programs

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="no program git here")


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q", ".")
    return tmp_path / ".git"


@needs_git
def test_what_git_makes_by_itself_is_harmless(repository: Path, tmp_path: Path) -> None:
    assert not runs_programs(repository)
    git(tmp_path, "config", "user.name", "An Author")
    git(tmp_path, "remote", "add", "origin", "https://example.org/a.git")
    git(tmp_path, "remote", "add", "other", "git@example.org:a/b.git")
    git(tmp_path, "config", "branch.main.remote", "origin")
    assert not runs_programs(repository)


@needs_git
def test_a_clone_is_harmless(repository: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", str(tmp_path), "copy")
    assert not runs_programs(tmp_path / "copy/.git")


@needs_git
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("core.fsmonitor", "./evil"),
        ("core.hooksPath", "hooks"),
        ("core.pager", "evil"),
        ("core.sshCommand", "evil"),
        ("core.worktree", "/etc"),
        ("alias.st", "!evil"),
        ("diff.x.command", "evil"),
        ("filter.x.clean", "evil"),
        ("include.path", "../evil"),
        ("credential.helper", "!evil"),
        ("gpg.program", "evil"),
        ("remote.origin.uploadpack", "evil"),
        ("remote.origin.url", "ext::sh -c evil"),
        ("extensions.worktreeConfig", "true"),
        ("init.templateDir", "evil"),
    ],
)
def test_a_setting_that_names_a_program_is_not(repository: Path, key: str, value: str) -> None:
    git(repository.parent, "config", key, value)
    assert runs_programs(repository)


@needs_git
@pytest.mark.parametrize(
    "line",
    [
        "[core] fsmonitor = ./evil",
        "[core]\n\tquotepath = a \\\n fsmonitor = evil",
        "[include]\npath = evil",
        '[includeIf "gitdir:/"]\npath = evil',
        "\x00",
        "no section",
    ],
)
def test_what_can_not_be_read_plainly_is_not(repository: Path, line: str) -> None:
    with (repository / "config").open("a") as config:
        config.write(f"{line}\n")
    assert runs_programs(repository)


@needs_git
def test_hooks_and_other_ways_to_a_config_are_not(repository: Path, tmp_path: Path) -> None:
    for name in ("hooks/pre-commit", "commondir", "config.worktree", "modules/x"):
        place = repository / name
        place.parent.mkdir(exist_ok=True)
        place.write_text("evil")
        assert runs_programs(repository), name
        place.unlink()
        if name.startswith("modules"):
            place.parent.rmdir()
    assert not runs_programs(repository)
    shutil.rmtree(repository / "hooks")
    (repository / "hooks").symlink_to(tmp_path)
    assert runs_programs(repository)


def test_what_is_no_folder_is_not(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("gitdir: evil")
    (tmp_path / "link").symlink_to(tmp_path)
    for name in ("file", "link", "gone"):
        assert runs_programs(tmp_path / name)
