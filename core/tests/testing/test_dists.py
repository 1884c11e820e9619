from __future__ import annotations

import base64
import hashlib
import importlib.metadata
import json
import subprocess
import sys
from pathlib import Path

import pytest

from pegboard.plugins.discovery.manifest import read
from pegboard.plugins.discovery.scan import scan
from pegboard.testing import FAULTS, Fault, make_dist
from pegboard.testing.dists import built, hello_manifest


def test_a_generated_distribution_is_found_as_an_installed_one(tmp_path: Path) -> None:
    dist = make_dist(tmp_path, "pegboard-weather", version="2.1", requires=("anyio",))
    (found,) = scan([str(tmp_path)])
    assert (found.id, found.dist, found.version) == ("weather", "pegboard-weather", "2.1")
    assert (found.value, found.requires) == ("pegboard_weather.plugin:plugin", ("anyio",))
    assert found.location == dist.info
    (other,) = importlib.metadata.distributions(path=[str(tmp_path)])
    assert (other.metadata["Name"], other.version) == (found.dist, found.version)
    assert "generated plugin" in (other.read_text("METADATA") or "")


def test_its_record_lists_its_files_with_their_digests(tmp_path: Path) -> None:
    make_dist(tmp_path, files={"pegboard_sample/data/notes.txt": "one"})
    (dist,) = importlib.metadata.distributions(path=[str(tmp_path)])
    files = {str(file): file for file in dist.files or ()}
    assert "pegboard_sample/data/notes.txt" in files
    for file in files.values():
        if file.hash is not None:
            data = Path(str(file.locate())).read_bytes()
            assert len(data) == file.size
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest())
            assert digest.rstrip(b"=").decode() == file.hash.value


def test_its_code_runs(tmp_path: Path) -> None:
    dist = make_dist(tmp_path, "pegboard-weather")
    command = f"from {dist.package}.plugin import plugin; print(len(plugin.pegboard_tools()))"
    ended = subprocess.run(
        [sys.executable, "-c", command], env={"PYTHONPATH": str(tmp_path)}, capture_output=True
    )
    assert ended.stdout == b"1\n", ended.stderr


def test_the_manifest_of_the_sample_is_what_build_writes(tmp_path: Path) -> None:
    dist = make_dist(tmp_path, "pegboard-weather")
    assert read(scan([str(tmp_path)])[0], [str(tmp_path)]) is None
    built(dist)
    assert json.loads(dist.manifest.read_text()) == hello_manifest("weather", dist.entry)


def test_a_manifest_can_be_any_text(tmp_path: Path) -> None:
    assert make_dist(tmp_path, manifest="{").manifest.read_text() == "{"


def test_faults_have_names_of_their_own() -> None:
    names = [fault.name for fault in FAULTS]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_every_fault_is_found_by_the_scan(fault: Fault, tmp_path: Path) -> None:
    made = fault.make(tmp_path)
    found = scan([str(tmp_path)])
    assert [plugin.dist for plugin in found] == sorted(dist.name for dist in made)
    assert fault.at_boot == "failed" or not any(plugin.problem for plugin in found)
    assert fault.at_boot, "every fault says in which state boot sees it"
