"""Every distribution of the workspace says what it must, and all say it alike."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from pegboard.plugins.discovery.first_party import FIRST_PARTY

REPOSITORY = Path(__file__).resolve().parent.parent
FOLDERS = sorted(path.parent for path in REPOSITORY.glob("plugins/*/pyproject.toml"))
LIBRARIES = {"netguard", "provider-http"}
"""What several plugins need and no plugin is."""
PLUGINS = [
    folder for folder in FOLDERS if (folder / "src").is_dir() and folder.name not in LIBRARIES
]
ALL = [REPOSITORY / "core", *FOLDERS]
OPEN_ENDED = {"regex", "typing-extensions"}
"""Versioned by date, or never broken on purpose: an upper bound would only get in the way."""


def project(folder: Path) -> dict[str, Any]:
    return tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["project"]


def named(folder: Path) -> str:
    return folder.name


@pytest.mark.parametrize("folder", ALL, ids=named)
def test_a_package_describes_itself(folder: Path) -> None:
    said = project(folder)
    assert said["name"] == ("pegboard" if folder.name == "core" else f"pegboard-{folder.name}")
    assert said["description"].strip()
    assert (folder / said["readme"]).read_text("utf-8").startswith(f"# {said['name']}\n")
    assert said["license"] == "MIT"
    assert said["requires-python"] == ">=3.11"


@pytest.mark.parametrize("folder", ALL, ids=named)
def test_a_package_carries_the_licence(folder: Path) -> None:
    assert (folder / "LICENSE").read_bytes() == (REPOSITORY / "LICENSE").read_bytes()


@pytest.mark.parametrize("folder", ALL, ids=named)
def test_a_package_asks_for_ranges(folder: Path) -> None:
    for line in project(folder)["dependencies"]:
        name = re.match(r"[\w.-]+", line)
        assert name is not None and ">=" in line, line
        assert "<" in line or name[0] in OPEN_ENDED, line
        if name[0].startswith("pegboard"):
            assert line == f"{name[0]}>=0.1,<0.2"


@pytest.mark.parametrize("folder", PLUGINS, ids=named)
def test_a_plugin_is_found_under_its_own_id(folder: Path) -> None:
    entry = project(folder)["entry-points"]["pegboard.plugins"]
    package = f"pegboard_{folder.name.replace('-', '_')}"
    assert entry == {folder.name: f"{package}.plugin:plugin"}
    assert folder.name in FIRST_PARTY
    manifest = json.loads((folder / "src" / package / "plugin.json").read_text("utf-8"))
    assert (manifest["id"], manifest["entry"]) == (folder.name, entry[folder.name])
    assert (folder / "src" / package / "py.typed").is_file()


def test_the_standard_plugins_are_those_that_make_installs() -> None:
    asked = {
        re.split(r"[<>=]", line)[0]
        for line in project(REPOSITORY / "plugins" / "standard")["dependencies"]
    }
    makefile = (REPOSITORY / "Makefile").read_text("utf-8")
    listed = re.search(r"^STANDARD := ((?:.*\\\n)*.*)$", makefile, re.MULTILINE)
    assert listed is not None
    named = [project(REPOSITORY / name) for name in listed[1].replace("\\", "").split()]
    assert asked | {"pegboard-standard"} <= {said["name"] for said in named}
    # beside them stand the libraries of this repository that they need
    libraries = [said for said in named if said["name"] not in asked | {"pegboard-standard"}]
    assert not any("entry-points" in said for said in libraries)
