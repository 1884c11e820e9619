"""A project is sound from its first minute, whatever it brings and however it is named."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

import pegboard
from pegboard.plugins.building.build_child import build_in_child, find_targets, stale
from pegboard.plugins.decision.kinds import KINDS as CORE_KINDS
from pegboard.scaffold import KINDS, render

each_kind = pytest.mark.parametrize("kind", KINDS)


@each_kind
def test_its_own_tests_pass(projects: Mapping[str, Any], kind: str) -> None:
    project = projects[kind]
    # all laws of a backend hold for the same one in the tests of core; they take long
    some = ["-k", "not TestBackend or erased or expires"] if kind == "backend" else []
    ended = project.run("pytest", "-q", "-p", "no:cacheprovider", *some)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert " passed" in ended.stdout
    for word in ("skipped", "xfailed", "warning"):
        assert word not in ended.stdout, ended.stdout


def test_every_kind_that_core_knows_can_be_made() -> None:
    # a chat command is one line beside a tool of the same plugin, and no project of its own
    assert {*CORE_KINDS, "tool", "hooks"} - {"chat_command"} == set(KINDS)


@each_kind
def test_it_is_in_order_when_it_is_tried(
    projects: Mapping[str, Any], kind: str, tmp_path: Path
) -> None:
    project = projects[kind]
    ended = project.run("pegboard", "plugins", "check", project.name, home=tmp_path)
    assert ended.returncode == 0, ended.stdout + ended.stderr


@each_kind
def test_its_manifest_is_what_build_writes(projects: Mapping[str, Any], kind: str) -> None:
    (target,) = find_targets(projects[kind].folder)
    assert stale(target, build_in_child(target)) == []


@each_kind
def test_build_check_agrees(projects: Mapping[str, Any], kind: str) -> None:
    ended = projects[kind].run("pegboard", "plugins", "build", "--check", ".")
    assert ended.returncode == 0, ended.stdout + ended.stderr


@each_kind
def test_its_wheel_holds_the_manifest_and_the_mark_of_types(
    projects: Mapping[str, Any], kind: str
) -> None:
    project = projects[kind]
    package = project.site / project.package
    for name in ("plugin.json", "py.typed"):
        assert (package / name).is_file()
    assert not list(package.rglob("*.jinja"))


@each_kind
def test_it_is_listed_as_ready(projects: Mapping[str, Any], kind: str, tmp_path: Path) -> None:
    project = projects[kind]
    ended = project.run("pegboard", "plugins", "show", project.name, home=tmp_path)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "ready" in ended.stdout
    assert f"pegboard-{project.name}" in ended.stdout


@pytest.mark.parametrize("name", ["w", "a-plugin-with-a-name-of-forty-characters"])
def test_it_is_formatted_and_without_a_lint_however_long_its_name_is(
    name: str, tmp_path: Path
) -> None:
    assert len(name) in (1, 40)
    for kind in KINDS:
        render(kind, name, tmp_path / kind, {"author": (name * 80)[:76], "summary": "x" * 76})
    for command in (["format", "--check"], ["check"]):
        line = [sys.executable, "-m", "ruff", *command, "--no-cache", "."]
        ended = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True)
        assert ended.returncode == 0, ended.stdout + ended.stderr


def test_they_are_formatted_and_without_a_lint(projects: Mapping[str, Any]) -> None:
    for project in projects.values():
        for command in (["format", "--check"], ["check"]):
            ended = project.run("ruff", *command, "--no-cache", ".")
            assert ended.returncode == 0, f"{project.kind}: {ended.stdout}{ended.stderr}"


def test_their_types_are_right(projects: Mapping[str, Any], tmp_path: Path) -> None:
    roots = [str(project.folder / "src") for project in projects.values()]
    core = str(Path(pegboard.__file__).parents[1])
    env = {"MYPYPATH": ":".join([core, *roots]), "PATH": "/usr/bin:/bin"}
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path)]
    packages = [part for project in projects.values() for part in ("-p", project.package)]
    ended = subprocess.run([*command, *packages], cwd=tmp_path, env=env, capture_output=True)
    assert ended.returncode == 0, ended.stdout.decode()


@each_kind
def test_nothing_of_the_template_or_this_machine_is_left(
    projects: Mapping[str, Any], kind: str
) -> None:
    folder = projects[kind].folder
    for path in projects[kind].written:
        text = path.read_text(encoding="utf-8").replace("${{ matrix.python }}", "")
        for left in ("{%", "{{", str(folder.parent)):
            assert left not in text, path
    answers = yaml.safe_load((folder / ".copier-answers.yml").read_text())
    assert answers["kind"] == kind
    assert "_src_path" not in answers


def test_the_core_that_they_ask_for_is_this_one(projects: Mapping[str, Any]) -> None:
    from packaging.requirements import Requirement

    text = (projects["tool"].folder / "pyproject.toml").read_text()
    line = next(part for part in text.split('"') if part.startswith("pegboard>="))
    assert Requirement(line).specifier.contains(pegboard.__version__)
